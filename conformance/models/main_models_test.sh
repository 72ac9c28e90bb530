#!/usr/bin/env bash
# main_models_test.sh MODELS ZOO: checks output and exit status of the harness if models are skipped, or nothing is delegated.
set -uo pipefail

harness=$1 zoo=$2
source conformance/expect_harness.sh

# A model without a recorded first result: comparing it is not supported.
incomplete=$TEST_TMPDIR/incomplete
mkdir -p "$incomplete"
cp -rL "$zoo/mlp" "$incomplete/"
chmod -R u+w "$incomplete"
sed -i 's/, "file": "output_0.npy"//' "$incomplete/mlp/manifest.json"
reason='a result of kind tensor has no file'
model=(--only=mlp --archives=model.pt2)
expect 1 "SKIP mlp/model.pt2: UNIMPLEMENTED: case 0: output 0: $reason" --zoo="$incomplete" "${model[@]}"
expect 1 '0 passed, 0 failed, 1 skipped, 1 of them unsupported' --zoo="$incomplete" "${model[@]}"
expect 0 "$reason" --zoo="$incomplete" "${model[@]}" --allow_unsupported
echo 'mlp/model.pt2 its result was not recorded' >"$TEST_TMPDIR/known.txt"
expect 0 'SKIP mlp/model.pt2: its result was not recorded (' --zoo="$incomplete" "${model[@]}" \
  --known_failures="$TEST_TMPDIR/known.txt"
expect 1 'FAIL mlp/model.pt2: passes now' --zoo="$zoo" "${model[@]}" --known_failures="$TEST_TMPDIR/known.txt"

expect 0 '1 passed, 0 failed, 0 skipped' --zoo="$zoo" "${model[@]}"
expect 0 'backend null: accepted 0 nodes' --zoo="$zoo" "${model[@]}" --backend=null
expect 0 'backend demo: accepted 6 nodes' --zoo="$zoo" "${model[@]}" --backend=demo
# A backend whose id differs from the folder's name.
expect 0 'backend xnnpack: accepted 9 nodes' --zoo="$zoo" "${model[@]}" --backend=xnnpack
expect 2 "--backend: unknown backend 'npu'" --zoo="$zoo" "${model[@]}" --backend=npu
# A model without operators that the demo backend supports.
nothing=(--zoo="$zoo" --only=sort_gather_scatter --archives=model.pt2 --backend=demo)
expect 1 'FAIL backend demo: accepted 0 nodes' "${nothing[@]}"
expect 0 'backend demo: accepted 0 nodes' "${nothing[@]}" --allow_undelegated

# Programs of another build: compares bytes and results.
programs=$TEST_TMPDIR/programs
mkdir "$programs"
written=(--zoo="$zoo" --only=mlp --programs="$programs")
expect 0 '2 passed, 0 failed, 0 skipped' --zoo="$zoo" --only=mlp --write_programs="$programs"
expect 0 '2 passed, 0 failed, 0 skipped' "${written[@]}"
expect 1 "FAIL mlp/model.pt2: FAILED_PRECONDITION: expected the bytes of $programs/mlp.belay" "${written[@]}" --backend=demo
size=$(stat -c %s "$programs/mlp.belay")
printf x >>"$programs/mlp.belay"
expect 1 "mlp.belay, $((size + 1)) of them; lowering gives $size, other from $size on" "${written[@]}"
rm "$programs/mlp.training.belay"
expect 1 'FAIL mlp/training.pt2: NOT_FOUND' "${written[@]}"

expect 1 '--backend (backends to delegate to' --help # Abseil's status for help.

exit $((failures > 0))
