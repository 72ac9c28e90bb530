"""A workspace in which new_backend.sh was called, for its test."""

def _new_backend_repository_impl(ctx):
    # The skeleton is read in place; a changed file of it recreates the repository.
    script = ctx.path(ctx.attr.script)
    for file in ctx.attr.skeleton:
        ctx.path(file)
    result = ctx.execute([script, "my_npu", "backends/my_npu"])
    if result.return_code != 0:
        fail("new_backend.sh: " + result.stderr)
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)

new_backend_repository = repository_rule(
    implementation = _new_backend_repository_impl,
    attrs = {
        "script": attr.label(default = "//tools/new_backend:new_backend.sh"),
        "skeleton": attr.label_list(default = ["//backends/null:" + file for file in [
            "BUILD.bazel",
            "STATUS.md",
            "aot.cc",
            "corpus/empty",
            "corpus/one_argument",
            "null_backend.cc",
            "null_backend.h",
            "null_partitioner.cc",
            "null_partitioner.h",
            "null_runtime.cc",
            "null_runtime.h",
            "null_test.cc",
            "runtimes.cc",
        ]]),
    },
)
