"""FlatBuffers schemas as C++ libraries."""

load("//tools:cc.bzl", "cc_library")

def flatbuffer_cc_library(name, src, **kwargs):
    """A library of the header that flatc generates from a schema: tables, verifier, and objects to build files from.

    The header of x.fbs is included as x_generated.h, prefixed by its package's path. Objects are packed with their
    empty vectors and strings: readers may require them.

    Args:
      name: of the library.
      src: the schema, one .fbs file without includes.
      **kwargs: as for cc_library.
    """
    header = src[:-len(".fbs")] + "_generated.h"
    native.genrule(
        name = name + "_header",
        srcs = [src],
        outs = [header],
        cmd = "$(execpath @flatbuffers//:flatc) --cpp --scoped-enums --gen-object-api --force-empty -o $$(dirname $@) $<",
        tools = ["@flatbuffers//:flatc"],
    )
    cc_library(
        name = name,
        hdrs = [header],
        deps = ["@flatbuffers//:runtime_cc"],
        **kwargs
    )
