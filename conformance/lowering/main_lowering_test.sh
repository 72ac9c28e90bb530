#!/usr/bin/env bash
# main_lowering_test.sh LOWERING CASES: checks the output and exit status of the harness with a backend.
set -uo pipefail

harness=$1 cases=$2
source conformance/expect_harness.sh

linear=(--cases="$cases" --only=all_nodes_linear)
expect 0 '1 passed, 0 failed, 0 skipped' "${linear[@]}" --backend=demo
expect 0 'backend demo: accepted 1 nodes' "${linear[@]}" --backend=demo
expect 0 'backend null: accepted 0 nodes' "${linear[@]}" --backend=null
expect 1 'FAIL backend demo: accepted 0 nodes; use --allow_undelegated to permit this' --cases="$cases" --only=topk_tuple_escapes --backend=demo
expect 0 'backend demo: accepted 0 nodes' --cases="$cases" --only=topk_tuple_escapes --backend=demo --allow_undelegated
expect 0 'skipped backend_fails: it has no methods, or expects an error' --cases="$cases" --only=backend_fails --backend=demo --allow_undelegated
expect 0 '0 passed, 0 failed, 1 skipped' --cases="$cases" --only=backend_fails --backend=demo --allow_undelegated
expect 2 "--backend: unknown backend 'npu'" "${linear[@]}" --backend=npu

exit $((failures > 0))
