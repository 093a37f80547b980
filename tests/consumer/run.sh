#!/usr/bin/env bash
# Installs the SDK of a build tree into a scratch folder and builds a consumer project from it. Usage: run.sh BUILD_DIR
set -euo pipefail
build=$1
source=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --component sdk --prefix "$work/prefix" >/dev/null
if grep -rlE '#include [<"](google/protobuf|grpc|Eigen|bandana/v1)' "$work/prefix/include"; then
  echo "public headers must not show proto, gRPC or Eigen types" >&2
  exit 1
fi
# Forms that a paper prints, and that nobody proved, stay in the tools.
functions() { find "$@" -name '*.a' -exec nm -C --defined-only {} + | sed -n 's/^[0-9a-f]* T //p' | sort -u; }
functions "$build/tools/published" >"$work/published"
functions "$work/prefix" >"$work/installed"
test -s "$work/published"
test -s "$work/installed"
if grep -Fxf "$work/published" "$work/installed"; then
  echo "an installed library holds a published form" >&2
  exit 1
fi
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build"
"$work/build/consumer"
