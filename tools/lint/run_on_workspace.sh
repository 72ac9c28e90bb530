#!/usr/bin/env bash
# run_on_workspace.sh NAME: runs NAME.sh on the checkout of this file, also if it is a link.
set -euo pipefail

lint=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=${lint%/tools/lint}
[[ -e $root/WORKSPACE ]] || { echo "$root is not the workspace: this test cannot run in a sandbox"; exit 1; }
exec "$lint/$1.sh" "$root"
