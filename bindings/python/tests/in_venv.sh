#!/usr/bin/env bash
# in_venv.sh WHEEL SCRIPT ARGUMENT…: installs the wheel in a fresh environment without network, and runs the script there.
# --test_env=BELAY_PYTHON=<interpreter> uses that interpreter with its packages, such as torch and NumPy.
set -euo pipefail
wheel=$PWD/$1 script=$2
shift 2
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 HOME=$TEST_TMPDIR
if [[ -n ${BELAY_PYTHON:-} ]]; then
  "$BELAY_PYTHON" -m pip install --quiet --no-index --no-deps --target "$TEST_TMPDIR/site" "$wheel"
  PYTHONPATH="$TEST_TMPDIR/site" PATH="$TEST_TMPDIR/site/bin:$PATH" exec "$BELAY_PYTHON" "$script" "$@"
fi
/usr/bin/python3 -m venv "$TEST_TMPDIR/venv"
"$TEST_TMPDIR/venv/bin/pip" install --quiet --no-index "$wheel"
PATH="$TEST_TMPDIR/venv/bin:$PATH" exec python "$script" "$@"
