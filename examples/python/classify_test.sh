#!/usr/bin/env bash
# classify_test.sh DIRECTORY LIBRARY PROGRAM IMAGES LABELS: tests the example and its errors.
set -euo pipefail
directory=$1 library=$PWD/$2 program=$3 images=$4 labels=$5
export PYTHONDONTWRITEBYTECODE=1

run() { python3 "$directory/classify.py" "$@" 2>&1; }

# expect TEXT COMMAND…: the command fails and prints TEXT.
expect_failure() {
  local text=$1 output
  shift
  if output=$("$@"); then echo "$*: expected a failure, got '$output'" >&2; exit 1; fi
  [[ $output == *"$text"* ]] || { echo "$*: expected '$text', got '$output'" >&2; exit 1; }
}

output=$(run "$library" "$program" "$images" "$labels")
[[ $output == "358 of 360 images are classified as labeled" ]] || { echo "$output" >&2; exit 1; }

expect_failure "DATA_LOSS" run "$library" "$images" "$images" "$labels"
expect_failure "NOT_FOUND" run "$library" no_such_program.belay "$images" "$labels"
expect_failure "expected elements of 'f'" run "$library" "$program" "$labels" "$labels"

# calls PYTHON: with the library as `lib` and the method as `method`.
calls() {
  PYTHONPATH=$directory python3 - "$library" "$program" <<<"
import sys
import belay
lib = belay.Library(sys.argv[1])
method = lib.load(sys.argv[2])
$1" 2>&1
}
expect_failure "INVALID_ARGUMENT: input 0" calls "method(belay.Tensor('q', [1, 1, 8, 8], range(64)))"
expect_failure "expected 1 tensors, got 0" calls "method()"
expect_failure "expected 64 elements" calls "belay.Tensor('f', [1, 1, 8, 8], range(63))"
expect_failure "NOT_FOUND" calls "lib.load(sys.argv[2], 'backward')"
calls "
[one] = method(belay.Tensor('f', [1, 1, 8, 8], range(64)))
assert one.sizes == [1, 10] and len(one.elements) == 10
"
