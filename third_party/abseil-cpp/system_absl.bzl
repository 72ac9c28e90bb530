"""Targets with the labels that the Bazel Central Registry's abseil-cpp has, on the system's libraries."""

load("@rules_cc//cc:defs.bzl", "cc_library")

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
