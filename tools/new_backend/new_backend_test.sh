#!/usr/bin/env bash
# new_backend_test.sh SCRIPT MODEL.pt2 CASES BINARY…: tests the backend that new_backend.sh created in a separate workspace. It
# builds, its tests pass, the commands include it, its refusals are in the report, and each harness reports that it supports no node.
# CASES is a file in conformance/opcases; BINARY are the backend's targets.
set -euo pipefail
script=$PWD/$1 model=$2 cases=$3
shift 3
declare -A binary
for path in "$@"; do binary[${path##*/}]=$path; done

fail() { echo "$*" >&2; exit 1; }

folder=${binary[status_test]%/*} # where files are that its tests have
page=$folder/STATUS.md
"${binary[my_npu_test]}" --gtest_brief=1
"${binary[blob_replay_test]}" "$folder/corpus" >"$TEST_TMPDIR/replay.txt" || fail "$(cat "$TEST_TMPDIR/replay.txt")"
grep -q '^2 files$' "$TEST_TMPDIR/replay.txt" || fail "expected its seeds to be replayed"

# Its page lists the supported operators, and is checked.
status() { "${binary[status]}" --backend=my_npu --cases="$cases" --command='bazel run //backends/my_npu:status' "$@"; }
grep -q '^my_npu supports calls of 0 of [1-9][0-9]* operators\.$' "$page" || fail "$(head -12 "$page")"
sed '/^my_npu supports/s/ 0 / 1 /' "$page" >"$TEST_TMPDIR/STATUS.md"
if status --check="$TEST_TMPDIR/STATUS.md" 2>"$TEST_TMPDIR/status.txt"; then fail "expected a page that is not current"; fi
grep -q 'is      my_npu supports calls of 1' "$TEST_TMPDIR/status.txt" || fail "$(cat "$TEST_TMPDIR/status.txt")"
grep -q '^Run bazel run //backends/my_npu:status$' "$TEST_TMPDIR/status.txt" || fail "$(cat "$TEST_TMPDIR/status.txt")"
status --write="$TEST_TMPDIR/STATUS.md"
diff "$page" "$TEST_TMPDIR/STATUS.md" || fail "expected the page to be written"

# A reason for each node.
report=$TEST_TMPDIR/report.json
"${binary[belay]}" lower --backend my_npu "$model" -o "$TEST_TMPDIR/model.belay" --report "$report" >"$TEST_TMPDIR/lower.txt"
grep -q 'kernels: 33 of 33 nodes' "$TEST_TMPDIR/lower.txt" || fail "$(cat "$TEST_TMPDIR/lower.txt")"
refused=$(grep -cE '"op":"edge\.([^"]+)","reason":"operator \1 is not supported"' "$report") || true
[[ $refused == 33 ]] || fail "expected the reasons of 33 nodes in the report, got $refused: $(cat "$report")"

# Each harness runs, prints the number of delegated nodes, and passes.
opcases=${cases%/*}
lowering=${opcases%/*}/lowering/cases zoo=${opcases%/*}/models/zoo
expect_nothing_taken() {
  local tool=$1
  shift
  if "${binary[$tool]}" "$@" --backend=my_npu >"$TEST_TMPDIR/$tool.txt" 2>&1; then fail "$tool: expected it to fail: my_npu takes nothing"; fi
  grep -q '^FAIL backend my_npu: accepted 0 nodes' "$TEST_TMPDIR/$tool.txt" || fail "$tool: $(cat "$TEST_TMPDIR/$tool.txt")"
  grep -Eq '^[0-9]+ passed, 0 failed' "$TEST_TMPDIR/$tool.txt" || fail "$tool: $(tail "$TEST_TMPDIR/$tool.txt")"
  "${binary[$tool]}" "$@" --backend=my_npu --allow_undelegated >"$TEST_TMPDIR/$tool.txt" || fail "$tool: $(tail "$TEST_TMPDIR/$tool.txt")"
}
expect_nothing_taken models --zoo="$zoo" --only=resnet_tiny
expect_nothing_taken ops --cases="$opcases" --only='^aten.relu.default '
expect_nothing_taken lowering --cases="$lowering" --only=all_nodes_linear

# Errors of the script.
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
expect_refusal "taken exists already" npu taken
