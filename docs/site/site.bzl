"""The documentation as a site."""

def _site_impl(ctx):
    output = ctx.actions.declare_directory(ctx.label.name)
    files = ctx.actions.declare_file(ctx.label.name + ".files")
    ctx.actions.write(files, "".join(["%s\t%s\n" % (page.path, page.short_path) for page in ctx.files.pages]))
    settings = [ctx.file.config, ctx.file.hook, ctx.file.template]
    ctx.actions.run(
        executable = ctx.executable._build,
        arguments = [output.path] + [file.path for file in settings] + [files.path],
        inputs = ctx.files.pages + settings + [files],
        outputs = [output],
        mnemonic = "Site",
        progress_message = "Building the site of %s" % ctx.label,
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles(files = [output]))]

site = rule(
    implementation = _site_impl,
    attrs = {
        "config": attr.label(allow_single_file = [".yml"], mandatory = True),
        "hook": attr.label(allow_single_file = [".py"], mandatory = True),
        "pages": attr.label_list(allow_files = True, doc = "Pages and images, at their paths in the tree."),
        "template": attr.label(allow_single_file = [".html"], mandatory = True),
        "_build": attr.label(default = "//docs/site:build_site.py", allow_single_file = True, executable = True, cfg = "exec"),
    },
    doc = "Builds a folder of HTML pages with MkDocs.",
)

def page_test(name, page, files):
    """Executes the code blocks of a page in a fresh environment with the wheel.

    Args:
      name: of the test.
      page: the page.
      files: labels of files that the page uses, or pairs of a label and of the name on the page.
    """
    wheel = "//bindings/python:wheel"
    pairs = [file if type(file) == type(()) else (file, "") for file in files]
    labels = {label: None for label, _ in pairs}
    labels.update({wheel: None, page: None, "//docs/site:run_blocks.py": None})
    native.sh_test(
        name = name,
        size = "medium",
        srcs = ["//bindings/python:tests/in_venv.sh"],
        args = ["$(rootpath %s)" % label for label in [wheel, "//docs/site:run_blocks.py", page]] +
               ["$(rootpath %s):%s" % pair for pair in pairs],
        data = labels.keys(),
    )
