"""A repository with labels for what the system has installed, under Bazel >= 7."""

def _system_repository_impl(ctx):
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

# The path of a local_repository would be relative to the workspace that depends on Belay.
system_repository = repository_rule(
    implementation = _system_repository_impl,
    attrs = {"build_file": attr.label(mandatory = True)},
)
