#!/usr/bin/env bash
# package.sh OUT HEADER COMPILER_HEADER LLM_HEADER ARCHIVE FLAGS COMMAND CMAKE PKGCONFIG SHARED RUNTIME: the tarball. The same inputs give the same bytes.
set -euo pipefail
out=$1 header=$2 compiler_header=$3 llm_header=$4 archive=$5 flags=$(cat "$6") command=$7 cmake=$8 pkgconfig=$9 shared=${10} runtime=${11}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
install -D -m 644 "$header" "$root/include/belay.h"
install -D -m 644 "$compiler_header" "$root/include/belay_compiler.h"
install -D -m 644 "$llm_header" "$root/include/belay_llm.h"
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
