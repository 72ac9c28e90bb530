"""Target of a macro with invalid attributes: reports the error at analysis, as rules do."""

def _refuse_impl(ctx):
    fail("%s in %s" % (ctx.attr.message, ctx.label))

refuse = rule(
    implementation = _refuse_impl,
    attrs = {"message": attr.string(mandatory = True)},
    doc = "Fails with its message. The package loads, and its other targets can be built.",
)
