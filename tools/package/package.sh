#!/usr/bin/env bash
# package.sh OUT: the tarball of the files in the environment, named as in BUILD.bazel. The same inputs give the same bytes.
set -euo pipefail
out=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/include" "$root/lib/cmake/belay" "$root/lib/pkgconfig"
install -m 644 "$header" "$root/include/belay.h"
install -m 644 "$compiler_header" "$root/include/belay_compiler.h"
install -m 644 "$llm_header" "$root/include/belay_llm.h"
cp -rL "$headers" "$root/include/belay"
install -m 644 "$runtime" "$root/lib/libbelay.a"
install -m 644 "$llm" "$root/lib/libbelay_llm.a"
install -m 644 "$compiler" "$root/lib/libbelay_compiler.a"
install -m 644 "$shared" "$root/lib/libbelay.so.1"
install -m 644 "$runtime_shared" "$root/lib/libbelay_runtime.so.1"
ln -s libbelay.so.1 "$root/lib/libbelay.so"
ln -s libbelay_runtime.so.1 "$root/lib/libbelay_runtime.so"
install -D -m 755 "$command" "$root/bin/belay"

# The C++ library: the C compiler does not link it by default.
flags() {
  echo "$(cat "$1") -lstdc++ -lm"
}
runtime=$(flags "$runtime_flags") llm=$(flags "$llm_flags") compiler=$(flags "$compiler_flags")
families=$(sed -nE 's/^#ifdef BELAY_KERNELS_(.*)/\L\1/p' "$headers/runtime/kernels/selected_kernels.h" | sort -u | tr '\n' ' ')
sed "s|@FAMILIES@|${families% }|; s|@RUNTIME@|${runtime// /;}|; s|@LLM@|${llm// /;}|; s|@COMPILER@|${compiler// /;}|" "$cmake" \
  >"$root/lib/cmake/belay/belay-config.cmake"

# pkgconfig NAME DESCRIPTION FLAGS ARCHIVE…
pkgconfig() {
  local name=$1 description=$2 flags=$3 archives=""
  shift 3
  for archive in "$@"; do archives+="\${libdir}/$archive "; done
  sed "s|@NAME@|$name|; s|@DESCRIPTION@|$description|; s|@LIBS@|$archives$flags|" "$pkgconfig" >"$root/lib/pkgconfig/$name.pc"
}
pkgconfig belay "Runs program files that belay lowered from PyTorch" "$runtime" libbelay.a
pkgconfig belay-llm "Generates text with language models" "$llm" libbelay_llm.a libbelay.a
pkgconfig belay-compiler "Lowers PyTorch programs" "$compiler" libbelay_compiler.a libbelay_llm.a libbelay.a

find "$root" -type d -exec chmod 755 {} +
find "$root/include" -type f -exec chmod 644 {} +
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$root" -cf - . | gzip -n >"$out"
