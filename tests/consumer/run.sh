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
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build"
"$work/build/consumer"
