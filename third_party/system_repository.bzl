"""A repository with labels for what the system has installed, under Bazel >= 7."""

def _system_repository_impl(ctx):
    # A label of the file is unknown to a workspace that depends on Belay: .bazelignore lists most of these folders.
    third_party = ctx.path(Label("//third_party:BUILD.bazel")).dirname
    ctx.symlink(third_party.get_child(ctx.attr.folder).get_child("BUILD.bazel"), "BUILD.bazel")

# The path of a local_repository would be relative to the workspace that depends on Belay.
system_repository = repository_rule(
    implementation = _system_repository_impl,
    attrs = {"folder": attr.string(mandatory = True, doc = "The folder of third_party with the BUILD file.")},
)
