#!/usr/bin/env bash
# Runs zoo.py with the binary of this build and the models of the checkout.
set -euo pipefail

exec python3 "$BUILD_WORKSPACE_DIRECTORY/conformance/executorch/zoo.py" \
  --belay "$PWD/tools/belay/belay" "$@"
