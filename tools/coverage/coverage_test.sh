#!/usr/bin/env bash
# coverage_test.sh: the tests of coverage_test.py, in the runfiles.
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}"
exec python3 -B -m unittest coverage_test
