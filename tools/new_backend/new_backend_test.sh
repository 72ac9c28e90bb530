#!/usr/bin/env bash
# new_backend_test.sh SCRIPT TEST BELAY MODELS MODEL.pt2 ZOO: the backend that new_backend.sh made in a workspace of its own. It
# builds, its own test passes, the commands know it, and the harness notices that it takes nothing.
set -euo pipefail
script=$PWD/$1 test=$2 belay=$3 models=$4 model=$5 zoo=$6

fail() { echo "$*" >&2; exit 1; }

"$test" --gtest_brief=1
"$belay" lower --backend my_npu "$model" -o "$TEST_TMPDIR/model.belay" --report "$TEST_TMPDIR/report.json" >"$TEST_TMPDIR/lower.txt"
grep -q 'is not supported' "$TEST_TMPDIR/report.json" || fail "expected its refusals in the report"
if "$models" --zoo="$zoo" --only=resnet_tiny --backend=my_npu >"$TEST_TMPDIR/models.txt"; then
  fail "expected the harness to fail: my_npu takes nothing"
fi
grep -q '^FAIL backend my_npu: took 0 nodes' "$TEST_TMPDIR/models.txt" || fail "$(cat "$TEST_TMPDIR/models.txt")"

# What the script refuses.
mkdir "$TEST_TMPDIR/workspace" && cd "$TEST_TMPDIR/workspace"
expect_refusal() {
  local text=$1 output
  shift
  if output=$("$script" "$@" 2>&1); then fail "$*: expected a refusal"; fi
  [[ $output == *"$text"* ]] || fail "$*: expected '$text', got '$output'"
}
expect_refusal "usage:" my_npu
expect_refusal "got 'MyNpu'" MyNpu npu
expect_refusal "got '../npu'" npu ../npu
mkdir taken
expect_refusal "taken is already there" npu taken
