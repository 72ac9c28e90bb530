#!/usr/bin/env bash
# package_test.sh PACKAGE DIRECTORY ARCHIVE IMAGES LABELS EXPECTED: builds the examples only with the package.
set -euo pipefail
package=$1 example=$2 archive=$PWD/$3 inputs=("$PWD/$4" "$PWD/$5") expected=$6
root="$TEST_TMPDIR/belay"
mkdir -p "$root"
tar -C "$root" -xzf "$package"

# check DIRECTORY: lowers and classifies with the programs in it.
check() {
  local output
  "$1/lower" "$archive" "$1/digits.belay"
  output=$("$1/classify" "$1/digits.belay" "${inputs[@]}")
  [[ $output == "$expected" ]] || { echo "$1: expected '$expected', got '$output'" >&2; exit 1; }
  echo "$1: $output"
  rm "$1/lower" "$1/classify"
}

# A bare Debian with Bazel has no c++, only clang.
CXX=$(command -v c++ || command -v clang++-19)
export CXX
export PKG_CONFIG_PATH="$root/lib/pkgconfig"
mkdir "$TEST_TMPDIR/plain"
for name in classify:belay lower:belay-compiler; do
  read -ra flags <<<"$(pkg-config --cflags --libs "${name#*:}")"
  "$CXX" -std=c++20 -Wall -Werror -o "$TEST_TMPDIR/plain/${name%:*}" "$example/${name%:*}.cc" "${flags[@]}"
done
check "$TEST_TMPDIR/plain"

cmake -S "$example" -B "$TEST_TMPDIR/cmake" -DCMAKE_PREFIX_PATH="$root" >"$TEST_TMPDIR/cmake.log"
cmake --build "$TEST_TMPDIR/cmake" >>"$TEST_TMPDIR/cmake.log" || { cat "$TEST_TMPDIR/cmake.log" >&2; exit 1; }

# An application with chosen kernels gives the same answers, and is smaller than one with all of them.
"$root/bin/belay" lower "$archive" --backend none -o "$TEST_TMPDIR/plain.belay" 2>/dev/null
output=$("$TEST_TMPDIR/cmake/selected" "$TEST_TMPDIR/plain.belay" "${inputs[@]}")
[[ $output == "$expected" ]] || { echo "selected: expected '$expected', got '$output'" >&2; exit 1; }
strip "$TEST_TMPDIR/cmake/selected" "$TEST_TMPDIR/cmake/classify"
selected=$(stat -c %s "$TEST_TMPDIR/cmake/selected") all=$(stat -c %s "$TEST_TMPDIR/cmake/classify")
echo "selected: $output; $selected bytes, with all kernels and backends $all"
((100 * selected < 57 * all)) || { echo "expected at most 57 percent" >&2; exit 1; }
check "$TEST_TMPDIR/cmake"

# An unknown component names the known ones.
mkdir "$TEST_TMPDIR/unknown"
cat >"$TEST_TMPDIR/unknown/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(unknown CXX)
find_package(belay REQUIRED COMPONENTS gpu)
END
if cmake -S "$TEST_TMPDIR/unknown" -B "$TEST_TMPDIR/unknown/build" -DCMAKE_PREFIX_PATH="$root" >"$TEST_TMPDIR/cmake.log" 2>&1; then
  echo "expected an error for an unknown component" >&2
  exit 1
fi
tr -s ' \n' ' ' <"$TEST_TMPDIR/cmake.log" | grep -q "unknown components gpu; the package has: runtime, llm, compiler" ||
  { cat "$TEST_TMPDIR/cmake.log" >&2; exit 1; }
