#!/bin/sh
# The library and the native replay for another processor, and schedules under its emulator: other_processor.sh SOURCE_TREE
# GENERATED_HEADERS FOLDER SCHEDULE_MAKER N SEED SOURCE... Ends with 77 (skipped) where g++-aarch64-linux-gnu or qemu-user is missing.
set -eu
tree=$1 generated=$2 folder=$3 maker=$4 n=$5 seed=$6
shift 6
command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null || {
  echo "skipped: g++-aarch64-linux-gnu and qemu-user are not installed"
  exit 77
}
compiler="$(command -v ccache || true) aarch64-linux-gnu-g++ -std=c++20 -O1 -DNDEBUG -fno-exceptions -fno-rtti -ffp-contract=off -fPIC
  -isystem $tree/client/core/stand_in -I$tree -I$tree/client/include -I$tree/client/abi/include -I$generated"
mkdir -p "$folder"
cd "$folder"
rm -f ./*.o
export compiler tree
printf '%s\n' "$@" | xargs -P "$(nproc)" -I SOURCE sh -c '$compiler -c "$tree/$1" -o "$(echo "$1" | tr / _).o"' - SOURCE
for test in replay schedule_host; do
  $compiler -fexceptions -c "$tree/tests/conformance/$test.cc" -o "$test.test.o"
done
aarch64-linux-gnu-g++ -o replay ./*.o
"$maker" "$n" "$seed" >schedules.jsonl
qemu-aarch64 -L /usr/aarch64-linux-gnu ./replay schedules.jsonl
