#!/usr/bin/env bash
# Builds //examples/remote:programs and runs conformance of models remotely from two checkouts, which only share the
# server, and prints where actions were executed. The second must get everything from the cache, with the same bytes.
#   two_checkouts.sh DIRECTORY    creates the checkouts and output bases in DIRECTORY, of the current commit
# It starts the server with an empty cache, and stops it.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
(($# == 1)) || { echo "usage: two_checkouts.sh DIRECTORY" >&2; exit 2; }
mkdir -p "$1"
directory=$(readlink -f "$1")
readonly targets=(//examples/remote:programs //conformance/models:zoo_test //conformance/models:zoo_cpu_test)
readonly flags=(--jobs="${BELAY_REMOTE_JOBS:-2}" --color=no --curses=no --symlink_prefix=/)

"$here/remote.sh" clean
executor=$("$here/remote.sh" start)
trap '"$here/remote.sh" stop' EXIT

# Counts the processes of Bazel's execution log by mnemonic and runner.
count() {
  python3 - "$1" <<'END'
import collections, json, sys

text, at, counts = open(sys.argv[1]).read(), 0, collections.Counter()
while text[at:].strip():
    entry, at = json.JSONDecoder().raw_decode(text, at)
    at += len(text[at:]) - len(text[at:].lstrip())
    counts[entry["mnemonic"], entry["runner"]] += 1
for (mnemonic, runner), count in sorted(counts.items()):
    print(f"  {count:4} {mnemonic}: {runner}")
END
}

for checkout in first second; do
  [[ -e $directory/$checkout ]] || git -C "$here" worktree add --quiet --detach "$directory/$checkout" HEAD
  cd "$directory/$checkout"
  bazel=(tools/bazel --output_base="$directory/$checkout.bazel")
  # Binaries are compiled locally, or come from the disk cache, which Bazel 4 can't use along with an executor.
  "${bazel[@]}" build "${flags[@]}" //tools/belay //conformance/models:zoo_test //conformance/models:zoo_cpu_test \
    >"$directory/$checkout.build.log" 2>&1
  "${bazel[@]}" test "${flags[@]}" --disk_cache= "$executor" --strategy=BelayLower=remote --strategy=TestRunner=remote \
    --execution_log_json_file="$directory/$checkout.json" "${targets[@]}" >"$directory/$checkout.log" 2>&1
  echo "$checkout checkout:"
  count "$directory/$checkout.json"
  echo "  worker, both: $("$here/remote.sh" status)"
  (cd -P "$("${bazel[@]}" info bazel-bin 2>/dev/null)/examples/remote" && sha256sum ./*.belay) >"$directory/$checkout.sha256"
  "${bazel[@]}" shutdown
done
diff "$directory"/{first,second}.sha256
echo "$(wc -l <"$directory/first.sha256") program files, the same in both checkouts"
