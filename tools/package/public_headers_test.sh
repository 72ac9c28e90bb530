#!/usr/bin/env bash
# public_headers_test.sh LIBRARIES PAGE HEADERS COPY: the package has the libraries that the page lists, and their headers compile.
set -euo pipefail
libraries=$1 page=$2 headers=$3 copy=$4
status=0

# Rows of the page for applications and backends that are no library: wheels, tarballs, commands, aliases, parts of rules.
others='^//(bazel|bindings/python|conformance|runtime/c|tools)[:/]|^//(backends|runtime/kernels):(family_|selectable_)'
listed=$(sed '/^## Tests of backends/,$d' "$page" | sed -nE 's/^\| `(\/\/[^`]+)`.*/\1/p' | grep -vE "$others" | sort)
if ! difference=$(diff <(echo "$listed") <(sort "$libraries")); then
  echo "libraries of the page (<) and of the package (>) differ:" >&2
  echo "$difference" >&2
  status=1
fi

# All headers compile, in any program.
CXX=$(command -v c++ || command -v clang++-19)
mapfile -t all < <(cd "$headers" && find -L . -name '*.h' | sort)
echo "${#all[@]} headers"
((${#all[@]} > 50)) || { echo "expected more headers" >&2; status=1; }
source="$TEST_TMPDIR/all.cc"
for header in "${all[@]}"; do echo "#include \"${header#./}\""; done >"$source"
"$CXX" -std=c++20 -fsyntax-only -Wall -Werror -I "$headers" "$source" || status=1

# A root that no library has.
echo -n >"$TEST_TMPDIR/candidates"
if python3 "$copy" "$TEST_TMPDIR/out" "$TEST_TMPDIR/candidates" runtime/none.h 2>"$TEST_TMPDIR/error"; then
  echo "expected an error for a header that no library has" >&2
  status=1
fi
grep -q "missing: \['runtime/none.h'\]" "$TEST_TMPDIR/error" || { cat "$TEST_TMPDIR/error" >&2; status=1; }
exit "$status"
