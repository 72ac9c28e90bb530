"""Builds a binary for size, in all configurations of the build."""

def _small_transition_impl(settings, attr):
    return {
        "//command_line_option:compilation_mode": "fastbuild",
        "//command_line_option:copt": [
            "-Oz",
            "-fno-exceptions",
            "-g0",
            "-DNDEBUG",
            "-ffp-contract=off",
            "-ffunction-sections",
            "-fdata-sections",
            "-fno-stack-protector",
            "-U_FORTIFY_SOURCE",
        ],
        # They would override the others.
        "//command_line_option:per_file_copt": [],
        "//command_line_option:linkopt": [
            "-fuse-ld=lld",
            "-Wl,--gc-sections",
            "-Wl,--icf=safe",
            "-Wl,--strip-debug",
        ],
    }

_small_transition = transition(
    implementation = _small_transition_impl,
    inputs = [],
    outputs = [
        "//command_line_option:compilation_mode",
        "//command_line_option:copt",
        "//command_line_option:per_file_copt",
        "//command_line_option:linkopt",
    ],
)

def _small_binary_impl(ctx):
    link = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = link, target_file = ctx.executable.binary, is_executable = True)
    return [DefaultInfo(executable = link, runfiles = ctx.runfiles([ctx.executable.binary]))]

# The binary of a cc_binary built with -Oz, without unused sections.
small_binary = rule(
    implementation = _small_binary_impl,
    attrs = {
        "binary": attr.label(
            mandatory = True,
            executable = True,
            cfg = _small_transition,
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    executable = True,
)
