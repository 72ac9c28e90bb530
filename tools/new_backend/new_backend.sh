#!/usr/bin/env bash
# new_backend.sh NAME FOLDER: creates a backend from Belay's skeleton backends/null. Called in the root of a workspace that
# has Belay as @belay; creates FOLDER in it, with the backend, its test, and commands that include it.
set -euo pipefail
belay=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
[[ $# == 2 ]] || { echo "usage: new_backend.sh NAME FOLDER" >&2; exit 2; }
name=$1 folder=${2%/}
[[ $name =~ ^[a-z][a-z0-9_]*$ ]] || { echo "expected a NAME of lower-case letters, digits and _, got '$name'" >&2; exit 2; }
[[ $folder =~ ^[A-Za-z0-9_][A-Za-z0-9_/-]*$ ]] || { echo "expected a FOLDER in this workspace, got '$folder'" >&2; exit 2; }
[[ ! -e $folder ]] || { echo "$folder exists already" >&2; exit 1; }

# my_npu: MyNpu in names of classes, MY_NPU in header guards.
camel=$(sed -E 's/(^|_)([a-z0-9])/\U\2/g' <<<"$name")
upper=${name^^}
guard=$(tr 'a-z/-' 'A-Z__' <<<"$folder")

mkdir -p "$folder/corpus"
cp "$belay"/backends/null/corpus/* "$folder/corpus"
chmod u+w "$folder"/corpus/*
for file in "$belay"/backends/null/*.{cc,h} "$belay/backends/null/STATUS.md"; do
  base=${file##*/}
  sed -E -e "s#backends/null\b#$folder#g" -e "s/BELAY_BACKENDS_NULL_NULL_/${guard}_${upper}_/g" \
    -e "s/\bnull(_|\b)/$name\1/g" -e "s/Null([A-Z])/$camel\1/g" "$file" >"$folder/${base/null/$name}"
done
sed -E -e 's#"//:__subpackages__"#"//visibility:public"#' -e 's#"//(bazel|tools|backends|exir|fuzz|runtime)([/:])#"@belay//\1\2#g' \
  -e '/^    backend = "null",$/a\    backends = ":backends",' "$belay/backends/null/BUILD.bazel" |
  sed -E -e "s/\bnull(_|\b)/$name\1/g" \
    -e '/^load\("@belay.*defs.bzl"/s/\("@belay.*/("@belay\/\/bazel:defs.bzl", "belay_backend_set", "belay_backend_status", "belay_blob_fuzzer", "belay_command")/' \
    >"$folder/BUILD.bazel"
cat >>"$folder/BUILD.bazel" <<END

# The belay command, and the harnesses that compare with PyTorch, which include $name.

belay_backend_set(
    name = "backends",
    backends = {"": "$name"},
)

[belay_command(
    name = tool,
    backends = ":backends",
    tool = tool,
) for tool in [
    "belay",
    "lowering",
    "models",
    "ops",
]]
END
echo "created $folder. Next: UnsupportedReason in ${name}_partitioner.cc, Preprocess in ${name}_backend.cc, Init and Execute in ${name}_runtime.cc."
