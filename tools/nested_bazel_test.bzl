"""A test that runs Bazel on its own checkout."""

def nested_bazel_test(name, srcs, data = []):
    """Manual, exclusive, outside of the sandbox and never cached: it builds everything.

    Args:
      name: of the test.
      srcs: one script, which finds the checkout by its own path and uses an output base below TEST_TMPDIR.
      data: other arguments of the script.
    """
    native.sh_test(
        name = name,
        size = "enormous",
        srcs = srcs,
        data = data,
        tags = [
            "exclusive",
            "external",
            "local",
            "manual",
            "no-cache",
            "no-sandbox",
        ],
    )
