#!/usr/bin/env bash
# Follows a vendor's steps, on the checkout of this test: a workspace that declares Belay as in
# examples/out_of_tree_backend/README.md, a backend that new_backend.sh creates in it, and each command of README.md.
set -euo pipefail
belay=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
vendor=${TEST_TMPDIR:?}/vendor
folder=backends/my_npu
mkdir "$vendor"
ln -s "$belay" "$TEST_TMPDIR/belay"
cd "$vendor"

fail() { echo "$*" >&2; exit 1; }
bazel() {
  local command=$1
  shift
  ../belay/tools/bazel --output_base="$TEST_TMPDIR/bazel" "$command" --experimental_convenience_symlinks=ignore "$@"
}
trap '../belay/tools/bazel --output_base="$TEST_TMPDIR/bazel" shutdown' EXIT

cat >WORKSPACE <<'END'
local_repository(name = "belay", path = "../belay")
load("@belay//third_party:repositories.bzl", "belay_dependencies")
belay_dependencies(root = "../belay/")
END
echo 'import %workspace%/../belay/.bazelrc' >.bazelrc
while read -r line; do
  grep -qF "$line" "$belay"/examples/out_of_tree_backend/README.md || fail "its README does not say '$line'"
done < <(cat WORKSPACE .bazelrc)

../belay/tools/new_backend/new_backend.sh my_npu "$folder"
cp -r backends "$TEST_TMPDIR/made"
# The expected behavior of the targets is defined once. The workspace contains only this.
cat >BUILD.bazel <<'END'
load("@belay//tools/new_backend:tests.bzl", "new_backend_test")

new_backend_test(
    name = "new_backend_test",
    folder = "//backends/my_npu",
)
END
bazel test //...

# Called from the vendor's workspace.
bazel run //backends/my_npu:belay -- lower --backend my_npu "$belay/conformance/models/zoo/mlp/model.pt2" -o "$PWD/model.belay" \
  --report "$PWD/report.json"
[[ -s model.belay ]] || fail "expected a program"
grep -q '"op":"edge.aten.addmm.default","reason":"operator aten.addmm.default is not supported"' report.json || fail "$(cat report.json)"
zoo=$PWD/../belay/conformance
expect_nothing_taken() {
  local target=$1
  shift
  if bazel run "//backends/my_npu:$target" -- "$@" --backend=my_npu >"$target.txt" 2>&1; then fail "$target: expected it to fail: my_npu takes nothing"; fi
  grep -q '^FAIL backend my_npu: accepted 0 nodes' "$target.txt" || fail "$(tail -n 40 "$target.txt")"
}
expect_nothing_taken ops --cases="$zoo/opcases" --only='^aten.relu.default '
expect_nothing_taken models --zoo="$zoo/models/zoo" --only=resnet_tiny
expect_nothing_taken lowering --cases="$zoo/lowering" --only=all_nodes_linear

# Writes the page in the source tree, which was current.
sed -i '/^my_npu takes/s/ 0 / 1 /' "$folder/STATUS.md"
bazel run //backends/my_npu:status
diff -r "$TEST_TMPDIR/made" backends || fail "expected nothing to change but the page, and that back"

# libFuzzer continues from the seeds, with sanitizers.
mkdir work
bazel run --config=fuzz //backends/my_npu:blob_fuzzer -- -runs=20000 "$PWD/work" "$PWD/$folder/corpus" >fuzz.txt 2>&1 ||
  fail "$(tail -n 40 fuzz.txt)"
grep -Eq '^Done [0-9]+ runs' fuzz.txt || fail "$(tail -n 40 fuzz.txt)"
