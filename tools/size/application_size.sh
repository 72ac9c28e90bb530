#!/usr/bin/env bash
# application_size.sh ALL APPLICATION PERCENT PROGRAM INPUT EXPECTED: prints the size of an application linked with
# belay_runtime, by section and by owner, next to ALL, the same with everything. Fails if its stripped size is above PERCENT of
# ALL, if it contains Protocol Buffers, or if PROGRAM with INPUT does not give the results of ALL, in EXPECTED lines.
set -euo pipefail
all=$1 application=$2 percent=$3 program=$4 input=$5 expected=$6

tool() { [[ -x /usr/bin/llvm-$1-19 ]] && echo "/usr/bin/llvm-$1-19" || echo "$1"; }
nm=$(tool nm) strip=$(tool strip) size=$(tool size)

stripped() { "$strip" -o "$TEST_TMPDIR/stripped" "$1" && stat -c %s "$TEST_TMPDIR/stripped"; }
sections() { "$size" -A "$1" | awk '$1 ~ /^\.[a-z]/ && $2 ~ /^[0-9]+$/ && $2 > 4096 { print $1, $2 }'; }

printf '%-20s %10s %10s\n' "" all this
join -a 1 -e 0 -o 0,1.2,2.2 <(sections "$all" | sort) <(sections "$application" | sort) | xargs printf '%-20s %10d %10d\n'
bytes_all=$(stripped "$all") bytes=$(stripped "$application")
printf '%-20s %10d %10d\n' "the file, stripped" "$bytes_all" "$bytes"

"$nm" --print-size --radix=d -C --defined-only "$application" | awk '
  $3 !~ /^[tTwWrRdDvV]$/ { next }
  {
    size = $2 + 0
    name = $0
    sub(/^[0-9]+ [0-9]+ [a-zA-Z] /, "", name)
    if (name ~ /google::protobuf|belay::schema/) owner = "Protocol Buffers"
    else if (name ~ /N_[A-Z0-9_]+::/) owner = "Belay, Highway code"
    else if (name ~ /belay::/) owner = "Belay, the rest"
    else if (name ~ /absl::/) owner = "Abseil"
    else owner = "others"
    total[owner] += size
    print size, owner ": " name > "/dev/stderr"
  }
  END { for (owner in total) printf "%-20s %21d\n", owner, total[owner] }' \
  2> >(sort -nr | head -n "${SIZE_TOP:-0}" | cut -c1-140)

failed=0
complain() { echo "$*" >&2; failed=1; }
((bytes * 100 <= bytes_all * percent)) || complain "above $percent % of ALL: see tools/size/README.md"
protobuf=$("$nm" -C "$application" | grep -c 'google::protobuf') || true
((protobuf == 0)) || complain "Protocol Buffers is in it"
"$all" "$program" "$input" >"$TEST_TMPDIR/want"
"$application" "$program" "$input" >"$TEST_TMPDIR/got"
cmp "$TEST_TMPDIR/want" "$TEST_TMPDIR/got" || complain "the results differ"
[[ $(wc -l <"$TEST_TMPDIR/got") == "$expected" ]] || complain "expected $expected lines of results"
exit $failed
