#!/usr/bin/env bash
# fetch_highway.sh DIR: downloads Highway 1.2.0's source archive to DIR, where `bazel --distdir=DIR` finds it by its
# checksum. Debian 13's source package has the identical upstream archive, so the distribution's mirror is
# sufficient (Debian 12's own Highway is 1.0.3, which lacks what we use); GitHub is the fallback.
set -euo pipefail

readonly SHA256=7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343
readonly ARCHIVE=1.2.0.tar.gz

verified() { [[ -f $1 ]] && echo "$SHA256  $1" | sha256sum --check --status; }

mkdir -p "$1"
dir=$(cd "$1" && pwd)
verified "$dir/$ARCHIVE" && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

from_debian() (
  cd "$work"
  mkdir -p lists/partial cache/archives/partial
  site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sort -u | grep -v security | head -n 1)
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb-src [signed-by=$keyring] ${site:-http://deb.debian.org/debian} trixie main" >sources.list
  apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o "APT::Sandbox::User=$(id -un)")
  "${apt[@]}" update
  "${apt[@]}" source --download-only highway=1.2.0-2
  mv highway_1.2.0.orig.tar.gz "$ARCHIVE"
)

from_github() {
  local url=https://github.com/google/highway/archive/refs/tags/$ARCHIVE
  if command -v curl >/dev/null; then
    curl -fsSL --retry 3 -o "$work/$ARCHIVE" "$url"
  else
    wget -q -O "$work/$ARCHIVE" "$url"
  fi
}

for source in from_debian from_github; do
  echo "trying $source"
  "$source" || continue
  if verified "$work/$ARCHIVE"; then
    cp "$work/$ARCHIVE" "$dir/.$ARCHIVE.$$" # Appear whole or not at all.
    mv "$dir/.$ARCHIVE.$$" "$dir/$ARCHIVE"
    exit 0
  fi
  echo "$source: wrong checksum"
done
exit 1
