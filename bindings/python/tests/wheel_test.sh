#!/usr/bin/env bash
# wheel_test.sh BUILD_WHEEL WHEEL RUNTIME_WHEEL LIBRARY RUNTIME_LIBRARY: symbols, sizes, and the same bytes for the same inputs.
set -euo pipefail
build=$1 wheel=$2 runtime_wheel=$3 library=$4 runtime_library=$5
status=0
fail() {
  echo "$*" >&2
  status=1
}

# size FILE MOST
size() {
  local bytes
  bytes=$(stat -L -c %s "$1")
  echo "$(basename "$1"): $bytes bytes"
  ((bytes <= $2)) || fail "$1: expected at most $2 bytes, got $bytes"
}
size "$wheel" 8388608
size "$runtime_wheel" 4194304

for file in "$library" "$runtime_library"; do
  exported=$(nm -D --defined-only "$file" | awk '{print $NF}')
  others=$(grep -v '^belay_' <<<"$exported" || true)
  [[ -z $others ]] || fail "$file exports symbols that are not of the C interface: $others"
  grep -q '^belay_method_call$' <<<"$exported" || fail "$file does not export belay_method_call"
  # Weak symbols need no definition.
  undefined=$(nm -D --undefined-only "$file" | awk '$1 == "U" {print $2}' | grep -E '^belay_|absl|protobuf|^_ZNSt|^_ZSt' || true)
  [[ -z $undefined ]] || fail "$file needs symbols of libraries that are part of it: $undefined"
done
grep -q ' belay_lower$' <<<"$(nm -D --defined-only "$library")" || fail "$library does not export belay_lower"
if grep -q ' belay_lower$' <<<"$(nm -D --defined-only "$runtime_library")"; then fail "$runtime_library exports belay_lower"; fi

# The name must have the tag of the symbols, and two builds are equal.
for name in first second; do
  mkdir -p "$TEST_TMPDIR/$name"
  python3 "$build" --output "$TEST_TMPDIR/$name/x.whl" --name x --version 1 --library "$runtime_library" "$build" \
    >/dev/null 2>"$TEST_TMPDIR/error" && fail "expected an error for a wrong name"
  expected=$(sed -n 's/.*the name \(.*\.whl\),.*/\1/p' "$TEST_TMPDIR/error")
  [[ $expected == x-1-py3-none-manylinux_2_* ]] || fail "expected the right name in the error, got: $(cat "$TEST_TMPDIR/error")"
  python3 "$build" --output "$TEST_TMPDIR/$name/$expected" --name x --version 1 --library "$runtime_library" "$build"
done
cmp "$TEST_TMPDIR/first/$expected" "$TEST_TMPDIR/second/$expected" || fail "two builds differ"
if python3 "$build" --output y.whl --name y --version 1 --library "$build" "$build" 2>"$TEST_TMPDIR/error"; then
  fail "expected an error for a library that is not an ELF file"
fi
grep -q "expected a 64-bit little-endian ELF file" "$TEST_TMPDIR/error" || fail "$(cat "$TEST_TMPDIR/error")"
exit "$status"
