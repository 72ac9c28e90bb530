#!/usr/bin/env bash
# package.sh OUT HEADER COMPILER_HEADER ARCHIVE FLAGS COMMAND CMAKE PKGCONFIG SHARED RUNTIME: the tarball. The same inputs give the same bytes.
set -euo pipefail
out=$1 header=$2 compiler_header=$3 archive=$4 flags=$(cat "$5") command=$6 cmake=$7 pkgconfig=$8 shared=$9 runtime=${10}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
install -D -m 644 "$header" "$root/include/belay.h"
install -D -m 644 "$compiler_header" "$root/include/belay_compiler.h"
install -D -m 644 "$archive" "$root/lib/libbelay.a"
install -D -m 644 "$shared" "$root/lib/libbelay.so.1"
install -D -m 644 "$runtime" "$root/lib/libbelay_runtime.so.1"
ln -s libbelay.so.1 "$root/lib/libbelay.so"
ln -s libbelay_runtime.so.1 "$root/lib/libbelay_runtime.so"
install -D -m 755 "$command" "$root/bin/belay"
mkdir -p "$root/lib/cmake/Belay" "$root/lib/pkgconfig"
# The C++ library: the C compiler does not link it by default.
sed "s|@STATIC_FLAGS@|${flags// /;};stdc++;m|" "$cmake" >"$root/lib/cmake/Belay/BelayConfig.cmake"
sed "s|@STATIC_FLAGS@|$flags -lstdc++ -lm|" "$pkgconfig" >"$root/lib/pkgconfig/belay.pc"
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$root" -cf - . | gzip -n >"$out"
