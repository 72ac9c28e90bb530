#!/usr/bin/env bash
# language.sh ROOT: see language.py.
set -euo pipefail
exec python3 "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/language.py" "$1"
