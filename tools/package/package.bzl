"""Belay without Bazel: a tarball of the C interface, its libraries, the command, and what CMake and pkg-config read."""

def _static_archive_impl(ctx):
    """One archive of everything below a library, and the flags that linking it needs."""
    archives = []
    flags = []
    for linker_input in ctx.attr.library[CcInfo].linking_context.linker_inputs.to_list():
        for library in linker_input.libraries:
            archive = library.pic_static_library or library.static_library
            if archive != None:
                archives.append(archive)
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
        # "D": no times and owners, so that the bytes follow from the content.
        command = "llvm-ar-19 -M < %s && llvm-ranlib-19 -D %s" % (script.path, ctx.outputs.archive.path),
        mnemonic = "StaticArchive",
        use_default_shell_env = True,
    )
    ctx.actions.write(ctx.outputs.flags, " ".join(flags) + "\n")

static_archive = rule(
    implementation = _static_archive_impl,
    attrs = {
        "library": attr.label(mandatory = True, providers = [CcInfo]),
        "archive": attr.output(mandatory = True),
        "flags": attr.output(mandatory = True),
    },
    doc = "Everything that `library` consists of in one archive, and in `flags` what the linker needs besides.",
)
