#!/usr/bin/env bash
# mutants_test.sh: the tests of mutants_test.py, on the lists of the checkout.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
exec python3 -B -m unittest mutants_test
