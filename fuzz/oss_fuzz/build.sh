#!/usr/bin/env bash
# Builds all fuzz targets for OSS-Fuzz: with the flags in CFLAGS and CXXFLAGS and the engine in LIB_FUZZING_ENGINE, from
# $SRC/belay into $OUT, with the seed corpus and the dictionary of each.
#
# FUZZ_TARGETS: names of targets to build (default: all). BAZEL: the command, "bazel" by default. BAZEL_STARTUP, BAZEL_FLAGS: its options.
set -euo pipefail

cd "$SRC/belay"
read -ra startup <<<"${BAZEL_STARTUP:-}"
read -ra more <<<"${BAZEL_FLAGS:-}"

flags=(
  --compilation_mode=fastbuild
  --define=fuzzing_engine=command_line
  --define=highway_targets=avx2
  --dynamic_mode=off
  --strip=never
  --repo_env="CC=${CC:-clang}"
  --verbose_failures
  --copt=-DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION=1
)
for flag in ${CFLAGS:-}; do flags+=("--conlyopt=$flag"); done
for flag in ${CXXFLAGS:-}; do
  flags+=("--cxxopt=$flag")
  # The sanitizers' runtime must be linked as well, and the standard library used for compilation.
  case $flag in
    -fsanitize=fuzzer-no-link) ;;
    -fsanitize=* | -stdlib=* | -fprofile-instr-generate | -fcoverage-mapping) flags+=("--linkopt=$flag") ;;
  esac
done
if [[ " ${CXXFLAGS:-} " == *undefined* ]]; then flags+=(--linkopt=-fsanitize-link-c++-runtime); fi
for flag in ${LIB_FUZZING_ENGINE:?}; do flags+=("--linkopt=$flag"); done

# "<fuzzer> <corpus> <dictionary>" of every target.
mapfile -t facts < <("${BAZEL:-bazel}" "${startup[@]}" query 'filter("_facts$", //fuzz/targets:all)' 2>/dev/null | sort)
targets=() chosen=()
for fact in "${facts[@]}"; do
  name=${fact##*:}
  name=${name%_facts}
  if [[ -n ${FUZZ_TARGETS:-} && " $FUZZ_TARGETS " != *" $name "* ]]; then continue; fi
  chosen+=("$name")
  targets+=("//fuzz/targets:${name}_fuzzer" "$fact")
done
((${#chosen[@]} > 0)) || { echo "build.sh: no targets" >&2; exit 1; }

"${BAZEL:-bazel}" "${startup[@]}" build "${flags[@]}" "${more[@]}" "${targets[@]}"
bin=$("${BAZEL:-bazel}" "${startup[@]}" info "${flags[@]}" "${more[@]}" bazel-bin 2>/dev/null)

for name in "${chosen[@]}"; do
  read -r fuzzer corpus dictionary <"$bin/fuzz/targets/$name.facts"
  install -m 755 "$bin/fuzz/targets/$fuzzer" "$OUT/$fuzzer"
  (cd "fuzz/corpus/$corpus" && zip -q -r - .) >"$OUT/${fuzzer}_seed_corpus.zip"
  {
    echo "[libfuzzer]"
    echo "max_len = 65536"
  } >"$OUT/$fuzzer.options"
  if [[ $dictionary != - ]]; then install -m 644 "fuzz/dict/$dictionary.dict" "$OUT/$fuzzer.dict"; fi
done
echo "build.sh: ${#chosen[@]} targets"
