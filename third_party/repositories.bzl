"""The external repositories of Belay under Bazel 4, for this workspace and for those that depend on it."""

load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")
load("//tools/arm64:toolchain.bzl", "arm64_toolchain")

# Repository name -> folder of third_party/. Labels inside are those of the Bazel Central Registry.
_VENDORED = {
    "cli11": "cli11",
    "com_github_google_benchmark": "google_benchmark",
    "com_google_absl": "abseil-cpp",
    "com_google_googletest": "googletest",
    "com_google_protobuf": "protobuf",
    "flatbuffers": "flatbuffers",
    "libsodium": "libsodium",
    "nlohmann_json": "nlohmann_json",
    "openssl": "openssl",
    "pcre2": "pcre2",
    "position_independent": "position_independent/debian",
    "remote_coverage_tools": "remote_coverage_tools",
    "rules_cc": "rules_cc",
    "rules_license": "rules_license",
    "simdjson": "simdjson",
    "utf8proc": "utf8proc",
    "xnnpack": "xnnpack",
    "zlib": "zlib",
}

# Dependencies of Bazel 4 itself, as installed by Debian's packages.
_DEBIAN = {
    "platforms": "/usr/share/bazel/platforms",
    "rules_java": "/usr/share/bazel/rules/java",
    "rules_proto": "/usr/share/bazel/rules/proto",
}

def belay_dependencies(root = ""):
    """Declares every repository that Belay's targets refer to.

    Args:
      root: path of Belay's checkout, ending in "/", absolute or relative to the calling workspace;
        empty when Belay is the calling workspace.
    """
    for name, folder in _VENDORED.items():
        native.local_repository(name = name, path = root + "third_party/" + folder)
    for name, path in _DEBIAN.items():
        native.local_repository(name = name, path = path)

    arm64_toolchain(name = "belay_arm64")

    # tools/fetch_highway.sh stores the archive in the --distdir folder, where Bazel finds it by its checksum.
    http_archive(
        name = "highway",
        build_file = "@belay//third_party/highway:highway.BUILD",
        sha256 = "7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343",
        strip_prefix = "highway-1.2.0",
        urls = ["https://github.com/google/highway/archive/refs/tags/1.2.0.tar.gz"],
    )

    # Sources of Debian's own versions (third_party/position_independent).
    http_archive(
        name = "abseil_source",
        build_file = "@belay//third_party/position_independent:abseil.BUILD",
        patch_cmds = ["find . -mindepth 2 -name BUILD.bazel -delete -o -mindepth 2 -name BUILD -delete"],
        sha256 = "abfe2897f3a30edaa74bc34365afe3c2a3cd012091a97dc7e008f7016adcd5fe",
        strip_prefix = "abseil-20220623.1",
        urls = ["http://deb.debian.org/debian/pool/main/a/abseil/abseil_20220623.1.orig.tar.gz"],
    )
    http_archive(
        name = "protobuf_source",
        build_file = "@belay//third_party/position_independent:protobuf.BUILD",
        patch_cmds = ["find . -mindepth 2 -name BUILD.bazel -delete -o -mindepth 2 -name BUILD -delete"],
        sha256 = "930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53",
        strip_prefix = "protobuf-3.21.12",
        urls = ["http://deb.debian.org/debian/pool/main/p/protobuf/protobuf_3.21.12.orig.tar.gz"],
    )
