#!/usr/bin/env bash
# Formats every C++ file of the checkout in place.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/tools/lint/format.sh" "$root" --fix
