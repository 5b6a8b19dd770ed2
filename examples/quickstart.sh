#!/bin/sh
# From a fresh Debian 12 to a verified all-reduce over 8 ranks: sh examples/quickstart.sh
# Needs root or sudo if packages are missing. Uses the GPUs if there are any, emulated ranks on the CPU if not.
# Builds in $COLL_BUILD_DIR, by default build/.
set -eu
cd "$(dirname "$0")/.."
build=${COLL_BUILD_DIR:-build}
step() { printf '\n== %s\n' "$1"; }

step "Install what is missing, and build"
sh test/install.sh
first=
[ -f "$build/CMakeCache.txt" ] || first=-DCOLL_PRECOMPILE=ON # for who builds once
cmake -S . -B "$build" -G Ninja $first
cmake --build "$build" --target coll
coll="$build/bin/coll"

step "What this machine has"
"$coll" info

step "Prove every all-reduce of the standard library: $coll check allreduce"
"$coll" check allreduce

step "The CUDA text of one: $coll emit allreduce --algo oneshot.ll -n 8"
"$coll" emit allreduce --algo oneshot.ll -n 8

step "Run it: $coll run allreduce --algo oneshot.ll -n 8"
"$coll" run allreduce --algo oneshot.ll -n 8
