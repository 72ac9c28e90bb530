#!/usr/bin/env bash
# package_test.sh PACKAGE DIRECTORY PROGRAM IMAGES LABELS EXPECTED: the example, built with nothing but the package.
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

# A bare Debian with Bazel has no cc, but the clang that it builds with.
CC=$(command -v cc || command -v clang-19)
export CC
export PKG_CONFIG_PATH="$root/lib/pkgconfig"
read -ra flags <<<"$(pkg-config --cflags --libs belay)"
"$CC" -Wall -Werror -o "$TEST_TMPDIR/classify_cc" "$example/classify.c" "${flags[@]}" -Wl,-rpath,"$root/lib"
check "$TEST_TMPDIR/classify_cc"

cmake -S "$example" -B "$TEST_TMPDIR/cmake" -DCMAKE_PREFIX_PATH="$root" >"$TEST_TMPDIR/cmake.log"
cmake --build "$TEST_TMPDIR/cmake" >>"$TEST_TMPDIR/cmake.log" || { cat "$TEST_TMPDIR/cmake.log" >&2; exit 1; }
check "$TEST_TMPDIR/cmake/classify"
check "$TEST_TMPDIR/cmake/classify_static"

check python3 "$example/classify.py" "$root/lib/libbelay.so"

"$root/bin/belay" run --help >/dev/null
# Nothing but what belay.h declares is visible.
foreign=$(nm -D --defined-only "$root/lib/libbelay.so" | awk '{ print $3 }' | grep -v '^belay_' || true)
[[ -z $foreign ]] || { echo "libbelay.so shows $foreign" >&2; exit 1; }
missing=$(grep -o 'BELAY_API .*' "$root/include/belay.h" | grep -o 'belay_[a-z_]*(' | tr -d '(' | sort -u |
  comm -23 - <(nm -D --defined-only "$root/lib/libbelay.so" | awk '{ print $3 }' | sort -u))
[[ -z $missing ]] || { echo "libbelay.so lacks $missing" >&2; exit 1; }
