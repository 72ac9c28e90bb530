#!/usr/bin/env bash
# format.sh ROOT [--fix]: checks (or with --fix formats) every C++ file below ROOT by .clang-format.
set -euo pipefail

cd "$1"
mapfile -d '' files < <(find . \( -name .git -o -path './bazel-*' \) -prune -o -type f \( -name '*.h' -o -name '*.cc' \) -print0)
if ((${#files[@]} == 0)); then
  echo "no C++ files below $1"
  exit 1
fi
run() { printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 16 clang-format-19 --style=file "$@"; }

if [[ ${2:-} == --fix ]]; then
  run -i
elif ! complaints=$(run --dry-run -Werror 2>&1); then
  grep -oE '^\./[^ :]+:[0-9]+' <<<"$complaints" | sort -u -t: -k1,1 || echo "$complaints"
  echo "^ files that are not formatted, and the first difference in each; tools/format.sh formats them"
  exit 1
fi
echo "${#files[@]} files"
