#!/bin/bash
# command_test.sh BELAY MODELS MODEL.pt2 ZOO: Belay's own commands with an out-of-tree backend.
set -euo pipefail
belay=$1 models=$2 model=$3 zoo=$4
program="$TEST_TMPDIR/model.belay"

"$belay" lower --backend npu "$model" -o "$program" | tee "$TEST_TMPDIR/lower.txt"
"$belay" inspect "$program" >"$TEST_TMPDIR/inspect.txt"
grep -q 'delegate npu' "$TEST_TMPDIR/inspect.txt"
"$belay" verify "$model" "$program" --backend npu | grep -q '^equal:'

"$models" --zoo="$zoo" --only=resnet_tiny --backend=npu | tee "$TEST_TMPDIR/models.txt"
grep -Eq '^backend npu: accepted [1-9][0-9]* nodes$' "$TEST_TMPDIR/models.txt"
