"""Belay without Bazel: a tarball of the C interface, its libraries, the command, and files for CMake and pkg-config."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _archives(targets):
    """The static libraries of targets and their dependencies, in the order of linking."""
    archives = []
    for linker_input in _linker_inputs(targets):
        for library in linker_input.libraries:
            archive = library.pic_static_library or library.static_library
            if archive != None:
                archives.append(archive)
    return archives

def _linker_inputs(targets):
    return cc_common.merge_cc_infos(
        cc_infos = [target[CcInfo] for target in targets],
    ).linking_context.linker_inputs.to_list()

def _static_archive_impl(ctx):
    """One archive of libraries and their dependencies, and the flags for linking it."""
    others = {archive: True for archive in _archives(ctx.attr.without)}
    archives = [archive for archive in _archives(ctx.attr.libraries) if archive not in others]
    flags = []
    for linker_input in _linker_inputs(ctx.attr.libraries):
        flags += linker_input.user_link_flags
    script = ctx.actions.declare_file(ctx.label.name + ".mri")
    ctx.actions.write(script, "\n".join(
        ["create %s" % ctx.outputs.archive.path] +
        ["addlib %s" % archive.path for archive in archives] +
        ["save", "end", ""],
    ))
    ctx.actions.run_shell(
        inputs = archives + [script],
        outputs = [ctx.outputs.archive],
        # LLVM's tools are next to the compiler. "D": no times and owners, so that the bytes only depend on the content.
        command = "llvm=$(dirname \"$(readlink -f \"$3\")\") && \"$llvm/llvm-ar\" -M < \"$1\" && \"$llvm/llvm-ranlib\" -D \"$2\"",
        arguments = [script.path, ctx.outputs.archive.path, find_cpp_toolchain(ctx).compiler_executable],
        mnemonic = "StaticArchive",
        use_default_shell_env = True,
    )
    ctx.actions.write(ctx.outputs.flags, " ".join(flags) + "\n")

static_archive = rule(
    implementation = _static_archive_impl,
    attrs = {
        "libraries": attr.label_list(mandatory = True, providers = [CcInfo]),
        "without": attr.label_list(doc = "Libraries of another archive that is linked after this one.", providers = [CcInfo]),
        "archive": attr.output(mandatory = True),
        "flags": attr.output(mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    doc = "Combines `libraries` and their dependencies into one archive; `flags` has the other arguments of the linker.",
)

def _public_headers_impl(ctx):
    roots = []
    names = []
    for target in ctx.attr.libraries:
        context = target[CcInfo].compilation_context
        roots += [header.short_path for header in context.direct_public_headers]
        names.append(str(target.label).lstrip("@"))
    headers = depset(transitive = [target[CcInfo].compilation_context.headers for target in ctx.attr.libraries])
    own = [header for header in headers.to_list() if not header.short_path.startswith("../")]
    candidates = ctx.actions.declare_file(ctx.label.name + ".candidates")
    ctx.actions.write(candidates, "".join(["%s\t%s\n" % (header.short_path, header.path) for header in own]))
    ctx.actions.write(ctx.outputs.targets, "".join([name + "\n" for name in sorted(names)]))
    output = ctx.actions.declare_directory(ctx.label.name + ".include")
    ctx.actions.run(
        executable = ctx.executable._copy,
        arguments = [output.path, candidates.path] + sorted({root: True for root in roots}.keys()),
        inputs = own + [candidates],
        outputs = [output],
        mnemonic = "PublicHeaders",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles(files = [output]))]

public_headers = rule(
    implementation = _public_headers_impl,
    attrs = {
        "libraries": attr.label_list(mandatory = True, providers = [CcInfo]),
        "targets": attr.output(mandatory = True),
        "_copy": attr.label(default = "//tools/package:public_headers.py", allow_single_file = True, executable = True, cfg = "exec"),
    },
    doc = "The headers of `libraries` and the headers of this repository that they include, as they are included; `targets` lists the libraries.",
)

# Linked statically: a library must not depend on the versions that a machine has installed.
_STATIC = ["crypto", "pcre2-8", "sodium", "utf8proc", "z"]

def _portable_flag(flag):
    name = flag[len("-l"):]
    return "-l:lib%s.a" % name if flag.startswith("-l") and name in _STATIC else flag

def _shared_library_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    flags = []
    for linker_input in _linker_inputs([ctx.attr.library]):
        flags += [_portable_flag(flag) for flag in linker_input.user_link_flags]
    first = _archives([ctx.attr.first])
    variables = cc_common.create_link_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        output_file = ctx.outputs.shared.path,
        is_using_linker = True,
        is_linking_dynamic_library = True,
        user_link_flags = [
            "-fuse-ld=lld",
            "-Wl,-soname," + ctx.outputs.shared.basename,
            "-Wl,--version-script=" + ctx.file.exported.path,
            "-Wl,--no-undefined",
            "-Wl,--gc-sections",
            "-Wl,--icf=safe",
            "-Wl,-O2",
            "-Wl,--strip-all",
        ] + ([] if ctx.attr.unwinds else ["-Wl,--no-eh-frame-hdr"]) + [
            # Bundled libraries are next to this one, and find each other there.
            "-Wl,--disable-new-dtags",
            "-Wl,-rpath,$ORIGIN",
            "-Wl,--whole-archive",
            ctx.file.archive.path,
        ] + [archive.path for archive in first] + [
            "-Wl,--no-whole-archive",
            "-Wl,--as-needed",
        ] + flags + ["-nostdlib++", "-static-libgcc", "-l:libstdc++.a", "-lm"],
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_LINK_DYNAMIC_LIBRARY_ACTION_NAME,
            variables = variables,
        ),
        inputs = depset([ctx.file.archive, ctx.file.exported] + first, transitive = [toolchain.all_files]),
        outputs = [ctx.outputs.shared],
        mnemonic = "SharedLibrary",
        progress_message = "Linking %s" % ctx.label,
    )

shared_library = rule(
    implementation = _shared_library_impl,
    attrs = {
        "archive": attr.label(doc = "The static_archive of `library`.", allow_single_file = [".a"], mandatory = True),
        "exported": attr.label(doc = "Version script that lists the exported symbols.", allow_single_file = True, mandatory = True),
        "first": attr.label(
            doc = "Objects that replace members of the system's archives.",
            mandatory = True,
            providers = [CcInfo],
        ),
        "library": attr.label(mandatory = True, providers = [CcInfo]),
        "shared": attr.output(mandatory = True),
        "unwinds": attr.bool(
            default = True,
            doc = "Whether exceptions and stack traces of the process can pass the library. Debuggers need no index for them.",
        ),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    doc = "Links `library` into a shared library that contains the C++ library, Abseil and Protocol Buffers, and exports only the symbols in `exported`.",
)
