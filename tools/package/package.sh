#!/usr/bin/env bash
# package.sh OUT HEADER ARCHIVE FLAGS COMMAND CMAKE PKGCONFIG SHARED: the tarball. The same inputs give the same bytes.
set -euo pipefail
out=$1 header=$2 archive=$3 flags=$(cat "$4") command=$5 cmake=$6 pkgconfig=$7 shared=$8
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
install -D -m 644 "$header" "$root/include/belay.h"
install -D -m 644 "$archive" "$root/lib/libbelay.a"
install -D -m 644 "$shared" "$root/lib/libbelay.so.1"
ln -s libbelay.so.1 "$root/lib/libbelay.so"
install -D -m 755 "$command" "$root/bin/belay"
mkdir -p "$root/lib/cmake/Belay" "$root/lib/pkgconfig"
# The C++ library: the C compiler does not link it by default.
sed "s|@STATIC_FLAGS@|${flags// /;};stdc++;m|" "$cmake" >"$root/lib/cmake/Belay/BelayConfig.cmake"
sed "s|@STATIC_FLAGS@|$flags -lstdc++ -lm|" "$pkgconfig" >"$root/lib/pkgconfig/belay.pc"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$root" -cf - . | gzip -n >"$out"
