#!/usr/bin/env bash
# Checks that the scripts parse, and that every target's dictionary exists and has the engines' format.
set -euo pipefail
fail() {
  echo "files_test: $*" >&2
  exit 1
}

cd fuzz
for script in oss_fuzz/build.sh oss_fuzz/check_build.sh; do bash -n "$script" || fail "$script"; done
grep -q '^COPY build.sh \$SRC/$' oss_fuzz/Dockerfile || fail "the Dockerfile does not copy build.sh"
for key in homepage language primary_contact main_repo fuzzing_engines sanitizers; do
  grep -q "^$key:" oss_fuzz/project.yaml || fail "project.yaml has no $key"
done
count=0
for facts in targets/*.facts; do
  read -r fuzzer corpus dictionary <"$facts"
  [[ $fuzzer == "$(basename "$facts" .facts)_fuzzer" && -n $corpus ]] || fail "$facts: $fuzzer $corpus"
  [[ $dictionary == - || -e dict/$dictionary.dict ]] || fail "$facts: no dictionary $dictionary"
  count=$((count + 1))
done
((count >= 17)) || fail "$count targets"
for dictionary in dict/*.dict; do
  if grep -vnE '^(#.*|"([^"\\]|\\["\\]|\\x[0-9a-f]{2})+")$' "$dictionary"; then fail "$dictionary"; fi
done
echo "$count targets"
