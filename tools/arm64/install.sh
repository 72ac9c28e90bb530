#!/usr/bin/env bash
# install.sh DIR: unpacks the development files of Debian's arm64 packages to DIR/root. They are only
# downloaded and unpacked: the host's packages and dpkg architectures are unchanged.
set -euo pipefail

readonly dir=$1
readonly PACKAGES=(
  libabsl-dev libc6-dev libgmock-dev libgtest-dev libbenchmark-dev libcli11-dev libflatbuffers-dev libprotobuf-dev
  libpthreadpool-dev libsimdjson-dev libsodium-dev libssl-dev libstdc++-12-dev libxnnpack-dev nlohmann-json3-dev
  libutf8proc-dev libpcre2-dev zlib1g-dev
)

rm -rf "$dir.new"
mkdir -p "$dir.new"/{state/lists/partial,cache/archives/partial,root}
: >"$dir.new/state/status"
cat >"$dir.new/apt.conf" <<EOF
APT::Architecture "arm64";
APT::Architectures "arm64";
APT::Sandbox::User "";
Dir::State "$dir.new/state";
Dir::State::status "$dir.new/state/status";
Dir::Cache "$dir.new/cache";
EOF
apt-get -c "$dir.new/apt.conf" -q update
apt-get -c "$dir.new/apt.conf" -q -y --no-install-recommends --download-only install "${PACKAGES[@]}"
for package in "$dir.new"/cache/archives/*.deb; do
  dpkg-deb -x "$package" "$dir.new/root"
done
# Redirects absolute links to this root.
while IFS= read -r -d '' link; do
  target=$(readlink "$link")
  [[ $target != /* ]] || ln -sfnr "$dir.new/root$target" "$link"
done < <(find "$dir.new/root" -type l -print0)
rm -rf "$dir.new/cache" "$dir.new/state" "$dir"
mv "$dir.new" "$dir"
