"""Targets with the labels that the Bazel Central Registry's abseil-cpp has, on the system's libraries."""

load("@rules_cc//cc:defs.bzl", "cc_library")

# True in a module of third_party/bazel_registry, false in a repository of a WORKSPACE: labels with canonical
# repository names begin with "@@".
IS_MODULE = str(Label("//:BUILD.bazel")).startswith("@@")

def system_absl(names, libs = []):
    """Declares header-only targets, or targets that need the archives behind //:libraries.

    Args:
      names: the targets to declare.
      libs: ["//:libraries"] when the header has compiled code behind it.
    """
    for name in names:
        cc_library(
            name = name,
            visibility = ["//visibility:public"],
            deps = libs,
        )
