#!/usr/bin/env bash
# run_on_workspace.sh NAME: runs NAME.sh on the checkout that this file is part of, from wherever it is linked to.
set -euo pipefail

lint=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=${lint%/tools/lint}
[[ -e $root/WORKSPACE ]] || { echo "$root is not the workspace: this test cannot run in a sandbox"; exit 1; }
exec "$lint/$1.sh" "$root"
