#!/usr/bin/env bash
# bench_test.sh BELAY MODEL: the tests of bench_test.py, with this command on this model of the zoo.
set -euo pipefail

export BELAY="$PWD/$1" MODEL="$PWD/$2"
cd "${BASH_SOURCE[0]%/*}"
exec python3 -B -m unittest -v bench_test
