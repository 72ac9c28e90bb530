#!/usr/bin/env bash
# naming.sh ROOT: no file, folder or target is called util, helper or misc (such names are meaningless), and every
# T[O]DO names its owner.
set -euo pipefail

cd "$1"
status=0
prune=(\( -name .git -o -path './bazel-*' \) -prune -o)

count=$(find . "${prune[@]}" -type f -print | wc -l)
if ((count == 0)); then
  echo "no files below $1"
  exit 1
fi

vague='(^|[/_.-])(utils?|helpers?|misc)([_./-]|$)'
if find . "${prune[@]}" -path './*' -print | grep -E "$vague"; then
  echo "^ files or folders with a meaningless name: name them after their purpose"
  status=1
fi

build=(-type f \( -name BUILD.bazel -o -name BUILD -o -name '*.BUILD' -o -name '*.bzl' \))
if find . "${prune[@]}" "${build[@]}" -print0 |
  xargs -0 -r grep -nE 'name = "([^"]*[/_.-])?(utils?|helpers?|misc)([_./-][^"]*)?"' /dev/null; then
  echo "^ targets with a meaningless name: name them after their purpose"
  status=1
fi

sources=(-type f \( -name '*.h' -o -name '*.cc' -o -name '*.inc' -o -name '*.proto' -o -name '*.sh' -o -name '*.bzl'
  -o -name '*.bazel' -o -name '*.awk' \))
if find . "${prune[@]}" "${sources[@]}" -print0 | xargs -0 -r grep -nE '\bT[O]DO\b($|[^(]|\($|\(\))' /dev/null; then
  echo "^ write T[O]DO(owner): what"
  status=1
fi

if ((status == 0)); then echo "$count files"; fi
exit "$status"
