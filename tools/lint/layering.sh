#!/usr/bin/env bash
# layering.sh ROOT: every label in a BUILD or .bzl file points to a package that layers.txt allows.
set -euo pipefail

lint=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cd "$1"
mapfile -d '' files < <(
  find . \( -name .git -o -path './bazel-*' -o -path ./third_party -o -path ./examples/downstream \) -prune \
    -o -type f \( -name BUILD.bazel -o -name BUILD -o -name "*.bzl" \) -print0 | sort -z
)
if ((${#files[@]} == 0)); then
  echo "no BUILD or .bzl files below $1"
  exit 1
fi
awk -f "$lint/layering.awk" "$lint/layers.txt" "${files[@]}"
