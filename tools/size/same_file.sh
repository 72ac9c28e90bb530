#!/usr/bin/env bash
# same_file.sh KEPT MADE: the file in the source tree equals the build's output.
diff -u "$1" "$2" || { echo "copy $2 to $1" >&2; exit 1; }
