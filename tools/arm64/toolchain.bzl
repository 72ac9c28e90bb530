"""The cross compiler for arm64: clang, with Debian's arm64 packages as its sysroot."""

_BUILD = """
load("@bazel_tools//tools/cpp:unix_cc_toolchain_config.bzl", "cc_toolchain_config")

package(default_visibility = ["//visibility:public"])

cc_toolchain_suite(
    name = "toolchain",
    toolchains = {"aarch64": ":cc", "aarch64|clang": ":cc"},
)

toolchain(
    name = "platform_toolchain",
    target_compatible_with = ["@platforms//cpu:aarch64", "@platforms//os:linux"],
    toolchain = ":cc",
    toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
)

filegroup(name = "none")

cc_toolchain(
    name = "cc",
    all_files = ":none",
    compiler_files = ":none",
    dwp_files = ":none",
    linker_files = ":none",
    objcopy_files = ":none",
    strip_files = ":none",
    supports_param_files = True,
    toolchain_config = ":config",
    toolchain_identifier = "belay_arm64",
)

cc_toolchain_config(
    name = "config",
    abi_libc_version = "glibc",
    abi_version = "aarch64",
    builtin_sysroot = "%{root}",
    compile_flags = ["--target=aarch64-linux-gnu", "-fstack-protector", "-fno-omit-frame-pointer"],
    compiler = "clang",
    cpu = "aarch64",
    cxx_builtin_include_directories = ["%{root}", "%{headers}", "/usr/lib/clang"],
    host_system_name = "local",
    link_flags = ["--target=aarch64-linux-gnu", "-fuse-ld=lld", "-Wl,-z,relro,-z,now"],
    link_libs = ["-lstdc++", "-lm"],
    opt_compile_flags = ["-O2", "-DNDEBUG", "-ffunction-sections", "-fdata-sections"],
    opt_link_flags = ["-Wl,--gc-sections"],
    supports_start_end_lib = True,
    target_libc = "glibc",
    target_system_name = "aarch64-linux-gnu",
    tool_paths = {
        "ar": "/usr/bin/llvm-ar-19",
        "cpp": "/usr/bin/clang-cpp-19",
        "dwp": "/usr/bin/llvm-dwp-19",
        "gcc": "/usr/bin/clang-19",
        "gcov": "/usr/bin/llvm-cov-19",
        "ld": "/usr/bin/ld.lld-19",
        "llvm-cov": "/usr/bin/llvm-cov-19",
        "nm": "/usr/bin/llvm-nm-19",
        "objcopy": "/usr/bin/llvm-objcopy-19",
        "objdump": "/usr/bin/llvm-objdump-19",
        "strip": "/usr/bin/llvm-strip-19",
    },
    toolchain_identifier = "belay_arm64",
    unfiltered_compile_flags = [
        "-no-canonical-prefixes",
        "-Wno-builtin-macro-redefined",
        "-D__DATE__=\\"redacted\\"",
        "-D__TIMESTAMP__=\\"redacted\\"",
        "-D__TIME__=\\"redacted\\"",
    ],
)
"""

def _arm64_toolchain_impl(ctx):
    root = ctx.os.environ.get("BELAY_ARM64_ROOT", "")
    if not root:
        fail("BELAY_ARM64_ROOT is not set: call tools/bazel with --config=arm64")
    headers = ctx.execute(["/usr/bin/clang-19", "-print-resource-dir"]).stdout.strip()
    ctx.file("BUILD.bazel", _BUILD.replace("%{root}", root).replace("%{headers}", headers))

arm64_toolchain = repository_rule(
    implementation = _arm64_toolchain_impl,
    environ = ["BELAY_ARM64_ROOT"],
    doc = "@<name>//:toolchain, for --crosstool_top. Not evaluated by builds for this machine.",
)
