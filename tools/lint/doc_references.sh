#!/usr/bin/env bash
# doc_references.sh ROOT: every page that code, BUILD files, scripts and pages name (FILE.md) exists, so does every rule
# of it that is cited (FILE.md §2.9, rows 8, 10, §6 items 6–8), and every source file that comments and pages name by its
# path. How rules are marked: docs/README.md.
set -euo pipefail
export LC_ALL=C

lint=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cd "$1"
# Third-party data is skipped.
prune=(\( -name .git -o -path './bazel-*' -o -path ./conformance/lowering/cases -o -path ./fuzz/corpus \) -prune -o -type f)
mapfile -t files < <(
  find . "${prune[@]}" \( -name '*.h' -o -name '*.cc' -o -name '*.inc' -o -name '*.proto' -o -name '*.bazel' -o -name '*.bzl' \
    -o -name '*.sh' -o -name '*.awk' -o -name '*.md' \) -printf '%P\n' | sort
)
mapfile -t pages < <(printf '%s\n' "${files[@]}" | grep '\.md$')
if ((${#pages[@]} == 0)); then
  echo "no pages below $1"
  exit 1
fi
awk -f "$lint/doc_references.awk" MODE=names <(printf '%s\n' "${files[@]}") MODE=pages "${pages[@]}" MODE=citations "${files[@]}"
