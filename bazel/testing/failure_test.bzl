"""Tests of analysis failures of rules."""

def _failure_test_impl(ctx):
    # After a transition; a list under Bazel 4.
    target = ctx.attr.target[0] if type(ctx.attr.target) == "list" else ctx.attr.target
    if AnalysisFailureInfo not in target:
        return [AnalysisTestResultInfo(success = False, message = "expected a failure of the analysis, got none")]
    messages = [cause.message for cause in target[AnalysisFailureInfo].causes.to_list()]
    name = target.label.package + ":" + target.label.name
    return [AnalysisTestResultInfo(
        success = [m for m in messages if ctx.attr.expected in m and name in m] != [],
        message = "expected '%s', got %s" % (ctx.attr.expected, messages),
    )]

_failure_test = rule(
    implementation = _failure_test_impl,
    analysis_test = True,
    attrs = {
        "expected": attr.string(doc = "What some error says, which also names the target.", mandatory = True),
        "target": attr.label(
            doc = "What fails; tagged as manual.",
            mandatory = True,
            cfg = analysis_test_transition(settings = {"//command_line_option:allow_analysis_failures": "True"}),
        ),
    },
)

def fails(name, rule, expected, **kwargs):
    """A target that fails at analysis, and <name>_test, which checks this.

    Args:
      name: of the target.
      rule: the rule or macro that declares it.
      expected: part of the error, which also names the target.
      **kwargs: for the rule.
    """
    rule(name = name, tags = ["manual"], **kwargs)
    _failure_test(name = name + "_test", expected = expected, target = ":" + name)
