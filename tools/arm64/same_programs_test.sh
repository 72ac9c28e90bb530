#!/usr/bin/env bash
# Program files are equal on all machines, and run on each: lowers the zoo's archives on this machine and on arm64, with kernels
# only and with backends, in the checkout of this test.
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
# Each compares its files with those of the other, and executes them.
models arm64 programs "$TEST_TMPDIR/here"
models here programs "$TEST_TMPDIR/arm64"
