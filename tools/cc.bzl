"""C++ targets: compile options, and the file-name rule: x.h, x.cc and x_test.cc are the library x and the test x_test."""

load("@rules_cc//cc:defs.bzl", _cc_binary = "cc_binary", _cc_library = "cc_library", _cc_test = "cc_test")

# Folders of product code, which does not use exceptions.
_PRODUCT = ["backends", "bazel", "bindings", "executorch", "exir", "runtime", "tools"]

def _compiled(kwargs, exceptions):
    """Adds compile options to the attributes of a C++ target.

    Args:
      kwargs: the attributes.
      exceptions: whether its code may use exceptions; tests and folders outside of product code always may.
    Returns:
      the attributes.
    """
    sources = kwargs.get("srcs") or []
    if type(sources) == "list" and [source for source in sources if source.endswith(".c")]:
        return kwargs  # C has neither exceptions nor these headers.
    may_throw = exceptions or kwargs.get("testonly") or native.package_name().split("/")[0] not in _PRODUCT
    headers = Label("//tools/precompiled_headers:" + ("exceptions" if may_throw else "product"))
    return dict(
        kwargs,
        copts = ([] if may_throw else ["-fno-exceptions"]) + ["$(PRECOMPILED_HEADERS)"] + kwargs.get("copts", []),
        deps = kwargs.get("deps", []) + [headers],
        toolchains = kwargs.get("toolchains", []) + [headers],
    )

def cc_library(exceptions = False, **kwargs):
    """A cc_library, without exceptions in folders of product code.

    Args:
      exceptions: whether it may use exceptions nevertheless.
      **kwargs: as for cc_library.
    """
    _cc_library(**_compiled(kwargs, exceptions))

def cc_binary(**kwargs):
    """A cc_binary, without exceptions in folders of product code.

    Args:
      **kwargs: as for cc_binary.
    """
    _cc_binary(**_compiled(kwargs, False))

def cc_test(**kwargs):
    """A cc_test.

    Args:
      **kwargs: as for cc_test.
    """
    _cc_test(**_compiled(kwargs, True))

def absl(*parts):
    """The labels of parts of Abseil: absl("status", "types:span").

    Args:
      *parts: packages, or targets in them.
    Returns:
      a list.
    """
    return ["@com_google_absl//absl/" + part for part in parts]

# Implicit dependencies of tests.
_FOR_TESTS = absl(
    "container:btree",
    "container:flat_hash_map",
    "container:flat_hash_set",
    "status",
    "status:statusor",
    "strings",
    "types:span",
)

def belay_library(name, srcs = None, hdrs = None, deps = [], **kwargs):
    """A cc_library of <name>.cc and <name>.h, at least one of which exists.

    Args:
      name: of the library.
      srcs: the sources, if they have other names.
      hdrs: the headers, if they have other names.
      deps: the dependencies.
      **kwargs: as for cc_library.
    """
    named_srcs = native.glob([name + ".cc"], allow_empty = True)
    named_hdrs = native.glob([name + ".h"], allow_empty = True)
    if srcs == None and hdrs == None and not named_srcs + named_hdrs:
        fail("%s: expected %s.cc or %s.h in //%s, found neither" % (name, name, name, native.package_name()))
    cc_library(
        name = name,
        srcs = named_srcs if srcs == None else srcs,
        hdrs = named_hdrs if hdrs == None else hdrs,
        deps = deps,
        **kwargs
    )

def belay_test(name, srcs = None, deps = [], **kwargs):
    """A cc_test of <name>.cc, which depends on GoogleTest, most of Abseil, //runtime/core:testing and the library of the same name.

    Args:
      name: of the test.
      srcs: the sources, if they have other names.
      deps: other dependencies.
      **kwargs: as for cc_test.
    """
    library = name[:-len("_test")]
    tested = [":" + library] if native.existing_rule(library) else []
    cc_test(
        name = name,
        srcs = [name + ".cc"] if srcs == None else srcs,
        deps = depset(tested + deps + _FOR_TESTS).to_list() + [Label("//runtime/core:test_main")],
        **kwargs
    )

def belay_tests(deps = {}, default_deps = [], **kwargs):
    """A belay_test for every <name>_test.cc of the folder without a rule above.

    Must be at the end of the file.

    Args:
      deps: other dependencies of each test, by its name. Tests without an entry have those of default_deps.
      default_deps: see deps.
      **kwargs: as for cc_test, for all of them.
    """
    tests = [source[:-len(".cc")] for source in native.glob(["*_test.cc"])]
    tests = [name for name in tests if not native.existing_rule(name)]
    for name in deps:
        if name not in tests:
            fail("dependencies of %s, which has a rule of its own or no %s.cc in //%s" % (name, name, native.package_name()))
    for name in tests:
        belay_test(name = name, deps = deps.get(name, default_deps), **kwargs)
