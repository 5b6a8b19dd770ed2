#!/bin/sh
# Builds Coll and runs its tests, on a fresh Debian 12 too: sh test/run.sh
# Needs no CUDA and no GPU, and says what it leaves out without them. Builds in $COLL_BUILD_DIR, by default build/.
set -eu
cd "$(dirname "$0")/.."
build=${COLL_BUILD_DIR:-build}

sh test/install.sh
cmake -S . -B "$build" -G Ninja
cmake --build "$build"

# What there is on this machine, and the tests left out for what there is not.
"$build/bin/coll" info
cmake --build "$build" --target left-out
exec ctest --test-dir "$build" --output-on-failure
