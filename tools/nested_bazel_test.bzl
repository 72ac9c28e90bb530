"""A test that runs Bazel on the checkout that it was started from."""

def nested_bazel_test(name, srcs, data = []):
    """By hand only, alone, outside of the sandbox and never cached: it builds everything anew.

    Args:
      name: of the test.
      srcs: one script, which finds the checkout behind its own name and uses an output base below TEST_TMPDIR.
      data: what the script is given besides.
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
