#!/usr/bin/env bash
# Runs Bazel 7 on this checkout, in a root with Debian forky: modules come from third_party/bazel_registry, whose
# sources are that suite's packages.
#   bazel7.sh ROOT build //...    creates ROOT on the first call (about 2 GB; as root; mmdebstrap)
# In ROOT, the checkout is /belay, and caches are kept. Bazel runs in the current folder of the checkout, or at its
# top. Mounts end with the call.
set -euo pipefail

fail() {
  echo "bazel7.sh: $*" >&2
  exit 1
}

(($# >= 2)) || fail "expected ROOT and a command of Bazel"
[[ $(id -u) == 0 ]] || fail "chroot requires root"
checkout=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
root=$(readlink -m "$1")
shift

readonly packages=(bash ca-certificates procps file git python3 python3-venv dpkg-dev
  bazel-bootstrap bazel-features bazel-platforms bazel-rules-cc bazel-rules-java bazel-rules-license bazel-rules-proto
  bazel-rules-python bazel-skylib
  clang-21 lld-21 llvm-21 libclang-rt-21-dev
  libabsl-dev libprotobuf-dev protobuf-compiler libgtest-dev libgmock-dev libbenchmark-dev libsimdjson-dev libcli11-dev
  nlohmann-json3-dev zlib1g-dev libsodium-dev libssl-dev flatbuffers-compiler libflatbuffers-dev libutf8proc-dev libpcre2-dev libdeflate-dev cmake pkgconf)
# From Debian 12: newer XNNPACK has other operator names and arguments.
readonly old_packages=(libxnnpack-dev libxnnpack0 libpthreadpool-dev libpthreadpool0)

# The rest runs in its own mount namespace.
if [[ ${BAZEL7_MOUNTS:-} != 1 ]]; then
  BAZEL7_MOUNTS=1 exec unshare --mount --propagation private "${BASH_SOURCE[0]}" "$root" "$@"
fi

if [[ ! -e $root/installed ]]; then
  command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing: apt-get install mmdebstrap"
  mmdebstrap --variant=minbase --mode=root --aptopt='Acquire::Check-Valid-Until "false"' forky "$root" ||
    fail "cannot create $root"
  mount -t proc proc "$root/proc"
  echo "deb http://deb.debian.org/debian bookworm main" >"$root/etc/apt/sources.list.d/bookworm.list"
  printf 'Package: %s\nPin: release n=bookworm\nPin-Priority: %s\n\n' '*' -1 "${old_packages[*]}" 1001 \
    >"$root/etc/apt/preferences.d/bookworm"
  chroot "$root" apt-get -q update
  DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -q -y install --no-install-recommends \
    "${packages[@]}" "${old_packages[@]}"
  # Names without a version, as .bazelrc writes them for Debian 12.
  ln -s /usr/bin/ld.lld-21 "$root/usr/local/bin/ld.lld"
  mkdir -p "$root/belay"
  touch "$root/installed"
else
  mount -t proc proc "$root/proc"
fi
"$checkout/tools/fetch_highway.sh" "$root/distdir" >/dev/null
mount --bind "$checkout" "$root/belay"
directory=/belay
[[ $PWD != "$checkout"/* ]] || directory=/belay/${PWD#"$checkout"/}

args=()
while (($#)) && [[ $1 == -* ]]; do # Startup options.
  args+=("$1")
  shift
done
command=$1
shift
args+=("$command")
case $command in
  build | test | run | coverage | cquery | aquery | query | fetch | mod | sync)
    # Debian's Bazel writes "{}" as a lock file, and then refuses it.
    args+=(--registry=file:///belay/third_party/bazel_registry --distdir=/distdir --lockfile_mode=off)
    ;;&
  build | test | run | coverage | cquery | aquery)
    # The suite's compiler. Highway's own targets, less those that third_party/highway leaves out.
    args+=(--repo_env=CC=clang-21 "--copt=-DHWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3)" --copt=-DHWY_WANT_AVX3_DL
      --disk_cache=/disk_cache --symlink_prefix=/)
    ;;
esac
exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 \
  sh -c 'cd "$1" && shift && exec /usr/bin/bazel "$@"' sh "$directory" "${args[@]}" "$@"
