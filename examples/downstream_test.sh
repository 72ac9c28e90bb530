#!/usr/bin/env bash
# Tests the workspace downstream/ of the checkout that this test was started from, with an output base of its own.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/downstream"
../../tools/bazel --output_base="${TEST_TMPDIR:?}/bazel" test --experimental_convenience_symlinks=ignore //...
