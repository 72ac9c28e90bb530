#!/usr/bin/env bash
# main_ops_test.sh OPS CASES: checks the output and exit status of the harness with a backend.
set -uo pipefail

harness=$1 cases=$2
source conformance/expect_harness.sh

relu=(--cases="$cases" --only='^aten.relu.default f32_')
expect 0 'backend demo: accepted ' "${relu[@]}" --backend=demo
expect 0 ' passed, 0 failed, 0 skipped' "${relu[@]}" --backend=demo
expect 0 'backend xnnpack: accepted ' --cases="$cases" --only='^aten.relu.default f32_[a-r]' --backend=xnnpack
expect 0 'backend null: accepted 0 nodes' "${relu[@]}" --backend=null
# The demo backend does not support sort.
sort=(--cases="$cases" --only='^aten.sort.default ')
expect 1 'FAIL backend demo: accepted 0 nodes; use --allow_undelegated to permit this' "${sort[@]}" --backend=demo
expect 1 '0 passed, 0 failed, 0 skipped' "${sort[@]}" --backend=demo
expect 0 'backend demo: accepted 0 nodes' "${sort[@]}" --backend=demo --allow_undelegated
expect 1 'FAIL backend demo: accepted 0 nodes' "${sort[@]}" --backend=null,demo
expect 2 "--backend: unknown backend 'npu'" "${relu[@]}" --backend=npu

exit $((failures > 0))
