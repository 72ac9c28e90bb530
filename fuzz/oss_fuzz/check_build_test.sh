#!/usr/bin/env bash
# Runs check_build.sh on the checkout in which this test was started, with a separate output base.
set -euo pipefail
root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
BAZEL_STARTUP="--output_base=${TEST_TMPDIR:?}/bazel" "$root/fuzz/oss_fuzz/check_build.sh" 5
