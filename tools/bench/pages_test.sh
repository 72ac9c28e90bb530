#!/usr/bin/env bash
# pages_test.sh SCRIPT FOLDER: the pages of the folder are those of its data files.
set -euo pipefail

exec python3 -B "$1" --check "$2"
