#!/usr/bin/env bash
# Tests the workspace downstream/ of this test's checkout, with a separate output base.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/downstream"
../../tools/bazel --output_base="${TEST_TMPDIR:?}/bazel" test --experimental_convenience_symlinks=ignore //...
