"""C++ targets by the file-name rule: x.h, x.cc and x_test.cc are the library x and the test x_test."""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")

def absl(*parts):
    """The labels of parts of Abseil: absl("status", "types:span").

    Args:
      *parts: packages, or targets in them.
    Returns:
      a list.
    """
    return ["@com_google_absl//absl/" + part for part in parts]

# What tests may use without saying so.
_FOR_TESTS = absl(
    "container:btree",
    "container:flat_hash_map",
    "container:flat_hash_set",
    "status",
    "status:statusor",
    "strings",
    "types:span",
) + ["@com_google_googletest//:gtest_main"]

def belay_library(name, srcs = None, hdrs = None, deps = [], **kwargs):
    """A cc_library of <name>.cc and <name>.h, those of them that exist.

    Args:
      name: of the library.
      srcs: the sources, where they are called otherwise.
      hdrs: the headers, where they are called otherwise.
      deps: what it uses.
      **kwargs: as for cc_library.
    """
    cc_library(
        name = name,
        srcs = native.glob([name + ".cc"], allow_empty = True) if srcs == None else srcs,
        hdrs = native.glob([name + ".h"], allow_empty = True) if hdrs == None else hdrs,
        deps = deps,
        **kwargs
    )

def belay_test(name, srcs = None, deps = [], **kwargs):
    """A cc_test of <name>.cc, that may use GoogleTest, most of Abseil and the library that it is named after.

    Args:
      name: of the test.
      srcs: the sources, where they are called otherwise.
      deps: what else it uses.
      **kwargs: as for cc_test.
    """
    library = name[:-len("_test")]
    tested = [":" + library] if native.existing_rule(library) else []
    cc_test(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        deps = depset(tested + deps + _FOR_TESTS).to_list(),
        **kwargs
    )

def belay_tests(deps = [], **kwargs):
    """A belay_test for every <name>_test.cc of the folder of which no rule above made one.

    Stands at the end of the file.

    Args:
      deps: what the tests use besides.
      **kwargs: as for cc_test.
    """
    for source in native.glob(["*_test.cc"]):
        name = source[:-len(".cc")]
        if not native.existing_rule(name):
            belay_test(name = name, deps = deps, **kwargs)
