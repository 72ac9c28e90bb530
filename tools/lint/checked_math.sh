#!/usr/bin/env bash
# checked_math.sh ROOT: arithmetic on numbers from files must use
# runtime/core/checked_math.h. checked_math_allow.txt lists exceptions with reasons.
set -euo pipefail

lint=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cd "$1"
allow=tools/lint/checked_math_allow.txt
[[ -e $allow ]] || allow=/dev/null

# The loader and its validators, and the readers of archives, pickles, arrays, blobs and foreign programs.
patterns=(
  'runtime/program/*.cc' 'runtime/program/*.h' runtime/core/npy.cc runtime/executor/{slot_table,method_inputs}.cc
  exir/import/{byte_budget,container,payloads,pickle,tensor_payload,torch_save,zip_reader}.cc
  exir/gguf/gguf_file.cc
  'backends/*/*_blob.cc' 'backends/*/*_runtime.cc' 'backends/*/*_reader.cc' 'executorch/reader/*.cc' 'executorch/reader/*.h'
)
files=()
for pattern in "${patterns[@]}"; do
  while read -r file; do
    case $file in
      *_test.cc | *_bench.cc) ;;
      */limits.h) ;; # constants
      *) files+=("$file") ;;
    esac
  done < <(compgen -G "$pattern" || true)
done
if ((${#files[@]} == 0)); then
  echo "no readers below $1"
  exit 1
fi
awk -f "$lint/checked_math.awk" ALLOW=1 "$allow" ALLOW=0 "${files[@]}"
