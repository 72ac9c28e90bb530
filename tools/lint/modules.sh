#!/usr/bin/env bash
# modules.sh ROOT: every module that MODULE.bazel or a module of third_party/bazel_registry names is in that registry, with the
# version that is named; and local sources exist.
set -euo pipefail

cd "$1"
registry=third_party/bazel_registry
[[ -f MODULE.bazel && -f $registry/bazel_registry.json ]] || { echo "MODULE.bazel or $registry is missing"; exit 1; }
status=0

named=$(find MODULE.bazel "$registry" -name MODULE.bazel -exec sed -nE 's/^bazel_dep\(name = "([^"]+)", version = "([^"]+)".*/\1 \2/p' {} + | sort -u)
while read -r name version; do
  for file in MODULE.bazel source.json; do
    [[ -f $registry/modules/$name/$version/$file ]] && continue
    echo "$registry/modules/$name/$version/$file is missing: a bazel_dep names this version; add it (third_party/README.md), or name one that is there"
    status=1
  done
done <<<"$named"

for source in "$registry"/modules/*/*/source.json; do
  path=$(sed -nE 's/.*"path": "([^"]+)".*/\1/p' "$source")
  if [[ -n $path && $path != /* && ! -d third_party/$path ]]; then
    echo "$source: third_party/$path is missing: the path is that of a folder in third_party"
    status=1
  fi
done
if ((status == 0)); then echo "$(wc -l <<<"$named") versions of modules"; fi
exit "$status"
