#!/usr/bin/env bash
# coverage.sh [PREFIX…]: what lines of these sources (by default all readers of files and texts, and what loads programs) the corpora
# and the files of fuzz/negative reach, by clang's source-based coverage. Prints the share per file, per prefix, and of all of them.
#
# BAZEL_STARTUP and BAZEL_FLAGS are more options of Bazel. TARGETS: the names of fuzz targets, if not all shall be built; those that
# link kernels take long. CORPUS: a folder with more inputs, one folder in it per target. LINES=file: also prints the lines of this
# source that nothing reached.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
read -ra startup <<<"${BAZEL_STARTUP:-}"
read -ra more <<<"${BAZEL_FLAGS:-}"
prefixes=("$@")
((${#prefixes[@]})) || prefixes=(runtime/program/ runtime/executor/method runtime/executor/slot_table runtime/core/npy exir/import/ exir/ir/text_lexer
  exir/ir/text_parser exir/ir/text_graph_parser exir/ir/text_value_parser exir/op/schema exir/op/sym_)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=(--copt=-fprofile-instr-generate --copt=-fcoverage-mapping --copt=-fcoverage-compilation-dir=/proc/self/cwd
  --linkopt=-fprofile-instr-generate --copt=-O0 --define=highway_targets=avx2
  --experimental_convenience_symlinks=ignore "${more[@]}")
mapfile -t tests < <(tools/bazel "${startup[@]}" query 'kind(cc_test, //fuzz/targets:all)' 2>/dev/null)
if [[ -n ${TARGETS:-} ]]; then
  tests=()
  for target in $TARGETS; do tests+=("//fuzz/targets:${target}_replay_test"); done
fi
facts=("${tests[@]/%_replay_test/_facts}")
tools/bazel "${startup[@]}" build "${flags[@]}" "${tests[@]}" "${facts[@]}" >&2
bin=$(tools/bazel "${startup[@]}" info "${flags[@]}" bazel-bin 2>/dev/null)

objects=()
for test in "${tests[@]}"; do
  name=${test##*:}
  target=${name%_replay_test}
  read -r _ corpus _ < <(cat "$bin/fuzz/targets/$target.facts" 2>/dev/null || echo "- $target -")
  inputs=("fuzz/corpus/$corpus")
  case $target in
    program_file) inputs+=(fuzz/negative/corpus/*.belay) ;;
    pt2_zip)
      mapfile -t small < <(find conformance/models/zoo -name model.pt2 -size -64k)
      inputs+=(exir/import/testdata/*.pt2 fuzz/negative/corpus/*.pt2 "${small[@]}")
      ;;
    torch_save) inputs+=(fuzz/negative/corpus/*.pt) ;;
    npy) inputs+=(fuzz/negative/corpus/*.npy) ;;
    text_form) inputs+=(fuzz/negative/corpus/*.txt) ;;
  esac
  if [[ -n ${CORPUS:-} && -d $CORPUS/$target ]]; then inputs+=("$CORPUS/$target"); fi
  LLVM_PROFILE_FILE=$work/$target.profraw "$bin/fuzz/targets/$name" "${inputs[@]}" >/dev/null ||
    echo "coverage.sh: $name failed" >&2
  objects+=(-object "$bin/fuzz/targets/$name")
done
llvm-profdata-19 merge -sparse -o "$work/all.profdata" "$work"/*.profraw

# Sources are named relative to the workspace; headers and tests do not count.
llvm-cov-19 export -format=lcov -instr-profile="$work/all.profdata" "${objects[@]:1}" 2>/dev/null >"$work/lcov"
awk -v prefixes="${prefixes[*]}" -v wanted="${LINES:-}" '
  BEGIN { n = split(prefixes, prefix, " ") }
  /^SF:/ {
    file = substr($0, 4)
    sub(/^\/proc\/self\/cwd\//, "", file)
    counted = 0
    for (i = 1; i <= n && !counted; ++i) if (index(file, prefix[i]) == 1 && file !~ /_(test|bench)\.cc$/ && file !~ /\/testing\//) counted = i
  }
  counted && /^DA:/ {
    split(substr($0, 4), line, ",")
    ++lines[file]
    ++of_prefix[counted]
    if (line[2] > 0) { ++hit[file]; ++hit_of_prefix[counted] }
    else if (file == wanted) missed[++m] = line[1]
  }
  END {
    for (file in lines) printf "%6.1f %%  %5d of %5d  %s\n", 100 * hit[file] / lines[file], hit[file], lines[file], file | "sort -k 6"
    close("sort -k 6")
    for (i = 1; i <= n; ++i) {
      if (of_prefix[i]) printf "%6.1f %%  %5d of %5d  %s…\n", 100 * hit_of_prefix[i] / of_prefix[i], hit_of_prefix[i], of_prefix[i], prefix[i]
    }
    for (file in lines) { all += lines[file]; reached += hit[file] }
    printf "%6.1f %%  %5d of %5d  all\n", all ? 100 * reached / all : 0, reached, all
    for (i = 1; i <= m; ++i) printf "%s:%d\n", wanted, missed[i]
  }' "$work/lcov"
