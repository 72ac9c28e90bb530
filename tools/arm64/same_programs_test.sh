#!/usr/bin/env bash
# Program files are the same on every machine, and run on each: those that this one and arm64 make of the zoo's archives, with kernels
# alone and with backends, in the checkout that this test was started from.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
readonly output_base=${TEST_TMPDIR:?}/bazel
trap 'tools/bazel --output_base="$output_base" shutdown' EXIT

# models MACHINE FLAG DIRECTORY: its harness over the zoo, for each backend, with --FLAG=DIRECTORY/BACKEND.
models() {
  local machine=$1 flag=$2 directory=$3 backend
  local flags=(--experimental_convenience_symlinks=ignore)
  [[ $machine != arm64 ]] || flags+=(--config=arm64 --run_under=//tools/arm64:run)
  for backend in "" cpu demo; do
    mkdir -p "$directory/$backend"
    tools/bazel --output_base="$output_base" run "${flags[@]}" //conformance/models -- --zoo="$PWD/conformance/models/zoo" \
      ${backend:+"--backend=$backend"} "--$flag=$directory/$backend"
  done
}

models here write_programs "$TEST_TMPDIR/here"
models arm64 write_programs "$TEST_TMPDIR/arm64"
# Each makes what the other made, and computes with it.
models arm64 programs "$TEST_TMPDIR/here"
models here programs "$TEST_TMPDIR/arm64"
