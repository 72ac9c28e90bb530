#!/usr/bin/env bash
# output_groups_test.sh REPORT PAGE: the other outputs of a belay_program.
set -euo pipefail
grep -q '"delegated_flops"' "$1" || { echo "$1: expected a report" >&2; exit 1; }
grep -qi '<html' "$2" || { echo "$2: expected a page" >&2; exit 1; }
