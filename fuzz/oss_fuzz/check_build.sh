#!/usr/bin/env bash
# check_build.sh [SECONDS [TARGET…]]: runs build.sh in OSS-Fuzz's environment with this machine's compiler, and then each target on its
# seeds and for SECONDS seconds (5 by default). Fails if a target does not build, crashes, or executes nothing.
#
# Needs zip and unzip, or python3 instead. BAZEL, BAZEL_STARTUP and BAZEL_FLAGS are passed to build.sh.
set -euo pipefail

seconds=${1:-5}
shift || true
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src" "$work/out" "$work/bin"
ln -s "$root" "$work/src/belay"
if ! command -v zip >/dev/null; then
  # As `zip -q -r - .` does.
  cat >"$work/bin/zip" <<'PY'
#!/usr/bin/env python3
import os, sys, zipfile
with zipfile.ZipFile(sys.stdout.buffer, "w") as out:
    for name in sorted(os.listdir(".")):
        out.write(name)
PY
  chmod +x "$work/bin/zip"
  PATH=$work/bin:$PATH
fi

# Flags of base-builder for libFuzzer and AddressSanitizer, with this machine's C++ library.
export SRC=$work/src OUT=$work/out CC=clang-19 CXX=clang++-19 FUZZING_ENGINE=libfuzzer SANITIZER=address
export CFLAGS="-O1 -fno-omit-frame-pointer -gline-tables-only -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION -fsanitize=address \
-fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link"
export CXXFLAGS=$CFLAGS LIB_FUZZING_ENGINE=-fsanitize=fuzzer
export FUZZ_TARGETS="$*" BAZEL=${BAZEL:-$root/tools/bazel}
export BAZEL_FLAGS="${BAZEL_FLAGS:-} --experimental_convenience_symlinks=ignore"
bash "$root/fuzz/oss_fuzz/build.sh"

failed=0
for fuzzer in "$OUT"/*_fuzzer; do
  name=$(basename "$fuzzer")
  mkdir -p "$work/corpus/$name"
  python3 -m zipfile -e "$OUT/${name}_seed_corpus.zip" "$work/corpus/$name"
  dictionary=()
  if [[ -e $OUT/$name.dict ]]; then dictionary=("-dict=$OUT/$name.dict"); fi
  if "$fuzzer" "-max_total_time=$seconds" -rss_limit_mb=2560 -timeout=25 -print_final_stats=1 "-artifact_prefix=$work/" "${dictionary[@]}" \
    "$work/corpus/$name" >"$work/log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log") executions"
  else
    echo "$name: FAILED"
    tail -n 40 "$work/log"
    failed=1
  fi
done
exit "$failed"
