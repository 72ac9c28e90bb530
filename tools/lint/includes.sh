#!/usr/bin/env bash
# includes.sh ROOT: see includes.py.
set -euo pipefail
exec python3 "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/includes.py" "$1"
