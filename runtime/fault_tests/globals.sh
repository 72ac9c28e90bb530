#!/usr/bin/env bash
# globals.sh BINARY ALLOWED: fails if the binary contains a writable object of Belay or Highway that ALLOWED does not
# name, or if ALLOWED names one that the binary does not contain.
set -euo pipefail

binary="$1" allowed="$2"
objdump="$(command -v llvm-objdump-19 || command -v llvm-objdump || command -v objdump)" || {
  echo "globals.sh: no objdump" >&2
  exit 1
}

symbols="$("$objdump" --syms --demangle "$binary")"
if grep -Eq '__(asan|tsan|msan)_init' <<<"$symbols"; then
  echo "skipped: sanitizers have their own objects"
  exit 0
fi

# "section name", one per line. Constants with relocations (.data.rel.ro) are read-only when main() begins.
objects="$(awk '{ for (i = 1; i <= NF; ++i) if ($i ~ /^\.(data|bss|tdata|tbss)(\.|$)/ && $i !~ /^\.data\.rel\.ro/) {
           section = $i
           line = $0
           sub(/^.*\.(data|bss|tdata|tbss)[^ \t]*[ \t]+[0-9a-f]+[ \t]+(\.hidden[ \t]+)?/, "", line)
           if (line ~ /belay|hwy::/) print section, line
           break
         } }' <<<"$symbols" | sort -u)"

found=0
status=0
while IFS= read -r object; do
  [[ -n "$object" ]] || continue
  found=$((found + 1))
  name="${object#* }"
  ok=0
  while IFS= read -r line; do
    [[ -z "$line" || "$line" == \#* ]] && continue
    pattern="${line%% -- *}"
    if [[ "$name" =~ ^(guard variable for )?$pattern ]]; then
      ok=1
      break
    fi
  done <"$allowed"
  if ((!ok)); then
    echo "a writable object that is not in $allowed: $object"
    status=1
  fi
done <<<"$objects"

while IFS= read -r line; do
  [[ -z "$line" || "$line" == \#* ]] && continue
  pattern="${line%% -- *}"
  [[ "$line" == *" -- "?* ]] || { echo "no reason: $line"; status=1; }
  awk '{ sub(/^[^ ]+ /, ""); print }' <<<"$objects" | grep -Eq "^(guard variable for )?$pattern" ||
    { echo "allowed but absent: $pattern"; status=1; }
done <"$allowed"

((found > 0)) || { echo "no symbols in $binary"; status=1; }
((status)) || echo "$found writable objects, all allowed"
exit "$status"
