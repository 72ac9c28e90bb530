#!/usr/bin/env bash
# scenarios.sh ROOT: every test and every case that exir/backend/SCENARIOS.md names exists.
set -euo pipefail

cd "$1"
table=exir/backend/SCENARIOS.md
known=$(mktemp)
trap 'rm -f "$known"' EXIT
# "Suite.Name" of all tests, also with a line break after the comma.
find exir backends conformance executorch runtime tools -name '*_test.cc' -print0 | xargs -0 cat | tr '\n' ' ' |
  grep -oE 'TEST(_F|_P)?\( *[A-Za-z0-9_]+, *[A-Za-z0-9_]+ *\)' |
  sed -E 's/.*\( *([A-Za-z0-9_]+), *([A-Za-z0-9_]+) *\)/\1.\2/' | sort -u > "$known"
named=0
missing=0
while read -r name; do
  named=$((named + 1))
  case $name in
    case:*) [[ -d conformance/lowering/cases/${name#case:} ]] && continue ;;
    *) grep -qxF "$name" "$known" && continue ;;
  esac
  echo "$table names $name, which does not exist: write the test, or update its name"
  missing=$((missing + 1))
done < <(grep -oE '`(case:[a-z0-9_]+|[A-Z][A-Za-z0-9]*\.[A-Za-z0-9_]+)`' "$table" | tr -d '`' | sort -u)
if ((named == 0)); then
  echo "$table names no tests"
  exit 1
fi
echo "$named tests and cases"
((missing == 0))
