#!/usr/bin/env bash
# core_size.sh BINARY [BUDGET]: prints the code size of the core runtime by owner. Fails if Belay's own code is above
# BUDGET bytes, or if it contains Protocol Buffers: the runtime reads metadata itself (runtime/program/wire_reader.h).
set -euo pipefail

nm=/usr/bin/llvm-nm-19
[[ -x $nm ]] || nm=nm
"$nm" --print-size --radix=d -C --defined-only "$1" | awk -v budget="${2:-0}" '
  $3 !~ /^[tTwW]$/ { next }
  {
    size = $2 + 0
    name = $0
    sub(/^[0-9]+ [0-9]+ [a-zA-Z] /, "", name)
    if (name ~ /google::protobuf|belay::schema/) owner = "Protocol Buffers"
    else if (name ~ /belay::/) owner = "Belay"
    else if (name ~ /absl::/) owner = "Abseil"
    else owner = "others"
    total[owner] += size
    if (owner == "Belay") print size, name > "/dev/stderr"
  }
  END {
    own = total["Belay"]
    for (owner in total) printf "%9d %s\n", total[owner], owner
    printf "%9d Belay; the budget is %d\n", own, budget
    if (own == 0) { print "no code found"; exit 1 }
    if (total["Protocol Buffers"] > 0) { print "Protocol Buffers is in it"; exit 1 }
    if (budget > 0 && own > budget) { print "above the budget: see tools/size/README.md"; exit 1 }
  }' 2> >(sort -nr | head -n "${CORE_SIZE_TOP:-0}" | cut -c1-140)
