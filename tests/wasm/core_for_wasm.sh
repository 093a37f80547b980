#!/bin/sh
# The device's core as WebAssembly: each source compiles without exceptions, RTTI and threads, and together they need nothing but a C library.
# core_for_wasm.sh SOURCE_TREE SOURCE...; writes core.wasm into the current folder.
set -eu
tree=$1
shift
headers=/usr/include/wasm32-wasi
library=/usr/lib/wasm32-wasi
compiler="clang++-14 --target=wasm32-wasi -std=c++20 -Os -fno-exceptions -fno-rtti -ffp-contract=off -Wall -Wextra -Werror -Wno-sign-compare
  -Wno-missing-field-initializers -isystem $headers/c++/v1 -isystem $headers -isystem $tree/client/core/stand_in -I$tree -I$tree/client/include"
# As many at once as there are processors.
export compiler tree
printf '%s\n' "$@" | xargs -P "$(nproc)" -I SOURCE sh -c '$compiler -c "$tree/$1" -o "$(echo "$1" | tr / _).o"' - SOURCE
objects=$(printf '%s\n' "$@" | tr / _ | sed 's/$/.o/')
wasm-ld-14 --no-entry --no-gc-sections --strip-all --whole-archive $objects --no-whole-archive -L$library -lc++ -lc++abi -lc \
  "$(clang-14 -print-resource-dir)/lib/wasi/libclang_rt.builtins-wasm32.a" -o core.wasm
echo "core.wasm: $(wc -c < core.wasm) bytes, $(gzip -9 < core.wasm | wc -c) gzipped"
