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
# An application ranks and never learns, so its package looks for no library of learners.
package=$(dirname "$(find "$work/prefix" -name bandana-config.cmake)")
test -s "$package/bandana-targets.cmake"
if grep -niE 'eigen|blas|lapack' "$package"/*.cmake; then
  echo "the installed package must not ask for Eigen, OpenBLAS or LAPACKE" >&2
  exit 1
fi
build_project() {
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON >/dev/null
  cmake --build "$2"
}
build_project "$source" "$work/build"
"$work/build/consumer"
build_project "$source/../../examples/quickstart" "$work/quickstart"
readelf -d "$work/quickstart/quickstart" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
echo "quickstart: $(wc -l <"$work/needed") libraries needed, $(stat -c %s "$work/quickstart/quickstart") bytes"
if grep -iE 'blas|lapack' "$work/needed"; then
  echo "the quickstart must not load OpenBLAS or LAPACKE" >&2
  exit 1
fi
