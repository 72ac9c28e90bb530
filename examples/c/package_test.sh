#!/usr/bin/env bash
# package_test.sh PACKAGE DIRECTORY PROGRAM IMAGES LABELS EXPECTED: builds the example only with the package.
set -euo pipefail
package=$1 example=$2 inputs=("$PWD/$3" "$PWD/$4" "$PWD/$5") expected=$6
root="$TEST_TMPDIR/belay"
mkdir -p "$root"
tar -C "$root" -xzf "$package"

check() {
  local output
  output=$("$@" "${inputs[@]}")
  [[ $output == "$expected" ]] || { echo "$*: expected '$expected', got '$output'" >&2; exit 1; }
  echo "$1: $output"
}

# A bare Debian with Bazel has no cc, only clang.
CC=$(command -v cc || command -v clang-19)
export CC
export PKG_CONFIG_PATH="$root/lib/pkgconfig"
read -ra flags <<<"$(pkg-config --cflags --libs belay)"
"$CC" -Wall -Werror -o "$TEST_TMPDIR/classify_cc" "$example/classify.c" "${flags[@]}"
check "$TEST_TMPDIR/classify_cc"

cmake -S "$example" -B "$TEST_TMPDIR/cmake" -DCMAKE_PREFIX_PATH="$root" >"$TEST_TMPDIR/cmake.log"
cmake --build "$TEST_TMPDIR/cmake" >>"$TEST_TMPDIR/cmake.log" || { cat "$TEST_TMPDIR/cmake.log" >&2; exit 1; }
check "$TEST_TMPDIR/cmake/classify"

"$root/bin/belay" run --help >/dev/null
