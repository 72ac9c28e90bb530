#!/bin/bash
# The example on a real program: nodes are delegated to the npu, and the result equals that without the npu.
set -euo pipefail
output=$("$1" "$2")
echo "$output"
grep -q '^npu .* nodes in .* calls$' <<< "$output"
grep -q '^outputs are equal' <<< "$output"
