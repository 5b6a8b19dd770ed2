#!/bin/sh
# Installs what Coll is built and tested with on Debian 12 and its relatives, and nothing where all of it is there.
# The one place that knows the list; test/run.sh and examples/quickstart.sh call it, the former with more to install.
# Needs root or sudo if it installs.
set -eu

# A file that each package brings tells whether it is there, wherever it came from; gcc's own search knows the libraries.
missing=
need() { # need PACKAGE COMMAND...
  package=$1
  shift
  "$@" >/dev/null 2>&1 || missing="$missing $package"
}
header() { echo "#include <$1>" | g++ -x c++ -E - -o /dev/null; }
library() { found=$(g++ -print-file-name="$1") && [ "$found" != "$1" ]; }
file() { ls $1; }

need g++ command -v g++
need cmake command -v cmake
need ninja-build command -v ninja
need python3 command -v python3
need diffutils command -v diff
need llvm-14-dev file '/usr/lib/llvm-*/lib/libLLVMSupport.a'
need zlib1g-dev header zlib.h
need llvm-14-tools file '/usr/lib/llvm-*/build/utils/lit/lit.py'
need antlr4 command -v antlr4
need libantlr4-runtime-dev library libantlr4-runtime.a
need libboost-context-dev header boost/context/fiber.hpp
need libgtest-dev header gtest/gtest.h
for command in "$@"; do need "$command" command -v "$command"; done # packages named as their command
[ -n "$missing" ] || exit 0
# Not needed, but each makes building again quicker.
need ccache command -v ccache
need lld command -v ld.lld

if ! command -v apt-get >/dev/null 2>&1; then
  echo "install these or what your system calls them, then try again:$missing" >&2
  exit 3
fi
if [ "$(id -u)" = 0 ]; then
  root=
elif command -v sudo >/dev/null 2>&1; then
  root=sudo
else
  echo "these packages are missing, and installing them needs root or sudo:$missing" >&2
  exit 3
fi
echo "installing:$missing"
$root apt-get update -qq
# shellcheck disable=SC2086
$root env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends $missing </dev/null >/dev/null
