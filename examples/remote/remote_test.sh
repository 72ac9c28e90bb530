#!/usr/bin/env bash
# remote_test.sh BELAY ARCHIVE DIRECTORY: checks that need no server. The scripts of DIRECTORY parse, and lowering
# in two directories with an empty environment writes the same bytes, which contain neither path.
set -euo pipefail

belay=$(readlink -f "$1")
bash -n "$3/remote.sh"
bash -n "$3/two_checkouts.sh"
python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$3/worker.py"

for directory in "$TEST_TMPDIR"/first "$TEST_TMPDIR"/second/and_deeper; do
  mkdir -p "$directory"
  cp "$2" "$directory/model.pt2"
  (cd "$directory" && env -i "$belay" lower model.pt2 -o model.belay)
done
cmp "$TEST_TMPDIR"/first/model.belay "$TEST_TMPDIR"/second/and_deeper/model.belay
if grep -q -F "$TEST_TMPDIR" "$TEST_TMPDIR/first/model.belay"; then
  echo "the program file names the directory that it was made in"
  exit 1
fi
