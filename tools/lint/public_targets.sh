#!/usr/bin/env bash
# public_targets.sh ROOT: targets are private to this repository unless docs/public_targets.md lists them: exactly those
# say visibility = ["//visibility:public"], and no package is public as a whole. third_party/ is skipped.
set -euo pipefail

cd "$1"
page=docs/public_targets.md
[[ -f $page ]] || { echo "$page is missing: it lists the public targets"; exit 1; }
status=0

builds=$(find . \( -name .git -o -path './bazel-*' -o -path ./third_party -o -path ./examples/downstream \) -prune -o \
  -name BUILD.bazel -print | sort)
public=$(for build in $builds; do
  package=${build#./}
  package=${package%BUILD.bazel}
  package=${package%/}
  awk -v package="//$package" '
    /^[a-z_]+\(/ { rule = $0; sub(/\(.*/, "", rule); name = "" }
    /^[a-z_]+\(name = "/ { name = $0; sub(/^[a-z_]+\(name = "/, "", name); sub(/".*/, "", name) }
    /^    name = "/ { name = $0; sub(/^    name = "/, "", name); sub(/".*/, "", name) }
    /visibility = \["\/\/visibility:public"\]/ {
      if (rule == "package") print "PACKAGE " package
      else print package ":" name
    }' "$build"
done | sort)

if grep '^PACKAGE ' <<<"$public" | sed 's/^PACKAGE //'; then
  echo '^ packages that are public as a whole: write default_visibility = ["//:__subpackages__"]'
  status=1
fi
listed=$(sed -nE 's/^\| `(\/\/[^`]+)`.*/\1/p' "$page" | sort)
if ! difference=$(diff <(echo "$listed") <(grep -v '^PACKAGE ' <<<"$public")); then
  echo "$difference" | sed -nE "s|^< (.+)|\1: is in $page, and not public|p; s|^> (.+)|\1: is public, and not in $page|p"
  echo "^ rows of the page and targets with visibility = [\"//visibility:public\"] go together: add or delete one of them"
  status=1
fi
if ((status == 0)); then echo "$(wc -l <<<"$listed") public targets"; fi
exit "$status"
