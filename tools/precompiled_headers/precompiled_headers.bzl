"""Headers that nearly every file includes, parsed once in a build instead of once in a file."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# The compiled source file; the headers are included before it. Clang writes the path of this file into
# the result, so it is a file with the same path on every machine, not one in a sandbox, whose path is new each time.
_MAIN_FILE = "/usr/include/stdc-predef.h"

def _precompiled_headers_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    # Optimized builds have objects with and without position-independent code, for which Clang needs separate headers.
    pic = toolchain.needs_pic_for_dynamic_libraries(feature_configuration = features)
    if not ctx.attr.headers or (pic and ctx.var["COMPILATION_MODE"] == "opt"):
        return [CcInfo(), platform_common.TemplateVariableInfo({ctx.attr.variable: ""})]
    precompiled = ctx.actions.declare_file(ctx.label.name + ".pch")

    # Additional macros of files are allowed, other values are not: Highway's differ, but no header here uses them.
    flags = [
        flag
        for flag in ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts
        if not flag.startswith("-DHWY_")
    ]
    for header in ctx.attr.headers:
        flags += ["-include", header]
    variables = cc_common.create_compile_variables(
        cc_toolchain = toolchain,
        feature_configuration = features,
        output_file = precompiled.path,
        source_file = (toolchain.sysroot or "") + _MAIN_FILE,
        use_pic = pic,
        # Without times, so that the same headers give the same bytes. With template instances, so that files do not
        # instantiate those of the headers.
        user_compile_flags = flags + ["-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates", "-xc++-header"],
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            action_name = CPP_COMPILE_ACTION_NAME,
            feature_configuration = features,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            action_name = CPP_COMPILE_ACTION_NAME,
            feature_configuration = features,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            action_name = CPP_COMPILE_ACTION_NAME,
            feature_configuration = features,
            variables = variables,
        ),
        inputs = toolchain.all_files,
        mnemonic = "CppPrecompile",
        outputs = [precompiled],
        progress_message = "Precompiling headers: " + ctx.label.name,
    )
    return [
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset([precompiled]))),
        platform_common.TemplateVariableInfo({ctx.attr.variable: "-include-pch " + precompiled.path}),
    ]

precompiled_headers = rule(
    implementation = _precompiled_headers_impl,
    doc = "Stands in `deps` and `toolchains` of a C++ target, whose `copts` have $(<variable>). Without headers it is nothing.",
    attrs = {
        "copts": attr.string_list(doc = "As those of the targets: Clang takes none that was made with others."),
        "headers": attr.string_list(doc = "Of the system, as they are included."),
        "variable": attr.string(mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
