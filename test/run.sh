#!/bin/sh
# Builds Coll and runs its tests, on a fresh Debian 12 too: sh test/run.sh [--full]
# Needs no CUDA and no GPU, and says what it leaves out without them. --full runs what CI has no time for as well.
# Builds in $COLL_BUILD_DIR, by default build/.
set -eu
case "${1-}" in
  "") ;;
  --full) export COLL_TEST_FULL=1 ;;
  *) echo "usage: sh test/run.sh [--full]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
build=${COLL_BUILD_DIR:-build}

sh test/install.sh spin # a second opinion on what the checker says
first=
[ -f "$build/CMakeCache.txt" ] || first=-DCOLL_PRECOMPILE=ON # for who builds once
cmake -S . -B "$build" -G Ninja $first
cmake --build "$build"

# What there is on this machine, and the tests left out for what there is not.
"$build/bin/coll" info
cmake --build "$build" --target left-out
exec ctest --test-dir "$build" --output-on-failure
