#!/usr/bin/env bash
# measurements_test.sh SCRIPT DOCS: the page is that of its data files; changed pages and malformed files are errors.
set -euo pipefail

script=$1 docs=$2
python3 -B "$script" --check "$docs"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
expect_error() { # expect_error MESSAGE
  local message
  if message=$(python3 -B "$script" --check "$scratch" 2>&1) || [[ $message != *"$1"* ]]; then
    echo "expected an error with '$1', got: $message"
    exit 1
  fi
}
expect_error "expected a folder with measurements/*.tsv"
mkdir "$scratch/measurements"
printf '# Times\n# Of a test.\ntest\tms\na\t\n' >"$scratch/measurements/times.tsv"
expect_error "expected the page of the data files"
python3 -B "$script" "$scratch"
python3 -B "$script" --check "$scratch"
grep -qx '| a | – |' "$scratch/measurements.md"
echo >>"$scratch/measurements.md"
expect_error "expected the page of the data files"
printf 'b\n' >>"$scratch/measurements/times.tsv"
expect_error "times.tsv:5: expected 2 cells, got 1"
printf 'test\tms\na\t1\n' >"$scratch/measurements/times.tsv"
expect_error "expected lines with # that begin with the heading"
