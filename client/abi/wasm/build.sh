#!/bin/sh
# The device's core as a WebAssembly module: build.sh SOURCE_TREE GENERATED_HEADERS MODULE SOURCE...
# By clang-14, lld-14 and wasi-libc, without exceptions, RTTI and threads. Objects lie beside the module. A call is mostly
# smaller than what it would put in its place, so little is inlined. The features of WebAssembly that are asked for are
# in Chrome 75, Firefox 79, Safari 15 and Node 12.5.
set -eu
tree=$1 generated=$2 module=$3
shift 3
headers=/usr/include/wasm32-wasi
library=/usr/lib/wasm32-wasi
compiler="$(command -v ccache || true) clang++-14 --target=wasm32-wasi -std=c++20 -Oz -flto -fno-exceptions -fno-rtti -fno-threadsafe-statics
  -mllvm -inline-threshold=-10 -mbulk-memory -mnontrapping-fptoint -msign-ext -ffp-contract=off -fvisibility=hidden -DNDEBUG -DBANDANA_KERNELS_LANES=2 -Wall -Wextra -Werror -Wno-sign-compare -Wno-missing-field-initializers
  -isystem $headers/c++/v1 -isystem $headers -isystem $tree/client/core/stand_in -I$tree -I$tree/client/include -I$generated"
mkdir -p "$module.objects"
cd "$module.objects"
rm -f ./*.o
# As many at once as there are processors.
export compiler tree
printf '%s\n' "$@" | xargs -P "$(nproc)" -I SOURCE sh -c '$compiler -c "$tree/$1" -o "$(echo "$1" | tr / _).o"' - SOURCE
# The functions of bandana.h that pages need.
exports=$(sed -n 's/^function //p' "$tree/client/abi/abi.txt" |
  grep -vx 'bandana_\(device_new\|read_ledger\|read_streams\|seal_name\|row_digest\)' | sed 's/^/--export=/')
# shellcheck disable=SC2086
wasm-ld-14 --no-entry --gc-sections --strip-all -O3 --lto-O2 -mllvm -enable-merge-functions \
  -mllvm -inline-threshold=-10 $exports --export=_initialize \
  --export=bandana_module_device --export=bandana_allocate --export=bandana_deallocate \
  ./*.o $library/crt1-reactor.o -L$library -lc++ -lc++abi -lc \
  "$(clang-14 -print-resource-dir)/lib/wasi/libclang_rt.builtins-wasm32.a" -o linked.wasm
wasm-opt --flatten --rereloop -Oz --converge --low-memory-unused --always-inline-max-function-size=4 \
  --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int --strip-producers --strip-target-features linked.wasm -o "$module"
rm linked.wasm
