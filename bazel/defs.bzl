"""Rules that put lowering into a build: programs as targets, tested, and embedded in binaries; and out-of-tree backends.

    load("@belay//bazel:defs.bzl", "belay_embed", "belay_program", "belay_program_test")

    belay_program(
        name = "digits",
        model = "digits.pt2",
        min_delegated_flops = "0.9",
    )

    belay_program_test(
        name = "digits_test",
        program = ":digits",
        cases = glob(["cases/**"]),
    )

    belay_embed(
        name = "digits_bytes",
        program = ":digits",
    )

They work under Bazel 4 and later. Actions read only their inputs, write no path into a file, and need no
network: the same inputs give the same bytes in every checkout, except for reports and pages, which contain times.
"""

load("//tools:cc.bzl", "cc_binary", "cc_library")
load(":backend_tests.bzl", _belay_backend_status = "belay_backend_status", _belay_blob_fuzzer = "belay_blob_fuzzer")
load(":program_info.bzl", _BelayProgramInfo = "BelayProgramInfo")
load(":refuse.bzl", "refuse")
load(":runtime.bzl", _belay_runtime = "belay_runtime")

BelayProgramInfo = _BelayProgramInfo
belay_backend_status = _belay_backend_status
belay_blob_fuzzer = _belay_blob_fuzzer
belay_runtime = _belay_runtime

def _is_method_name(name):
    return name != "" and "=" not in name

def _belay_program_impl(ctx):
    methods = ctx.attr.methods
    if (ctx.file.model == None) == (len(methods) == 0):
        fail("expected `model` or `methods`, and not both, in %s" % ctx.label)
    program = ctx.actions.declare_file(ctx.label.name + ".belay")
    report = ctx.actions.declare_file(ctx.label.name + ".report.json")
    inputs = []
    args = ctx.actions.args()
    args.add("lower")
    if ctx.file.model != None:
        inputs.append(ctx.file.model)
        args.add(ctx.file.model)
    for target, name in methods.items():
        files = target.files.to_list()
        if len(files) != 1:
            fail("expected one file for the method '%s', got %d in %s" % (name, len(files), ctx.label))
        for one in name.split(","):
            if not _is_method_name(one):
                fail("expected the name of a method, got '%s' in %s" % (one, ctx.label))
            args.add("--method", files[0], format = one + "=%s")
        inputs.append(files[0])
    if ctx.attr.backends:
        args.add("--backend", ",".join(ctx.attr.backends))
    for method, backends in ctx.attr.method_backends.items():
        args.add("--backend", method + ":" + ",".join(backends))
    for spec in ctx.attr.compile_specs:
        args.add("--compile-spec", spec)
    for method, value in ctx.attr.constant_methods.items():
        args.add("--constant-method", method + "=" + value)
    if ctx.attr.max_size > 0:
        args.add("--max-size", str(ctx.attr.max_size))
    if ctx.attr.min_delegated_flops != "":
        args.add("--min-delegated-flops", ctx.attr.min_delegated_flops)
    if ctx.attr.write_state_in_place:
        args.add("--write-state-in-place")

    # The page is optional: it is created by a separate lowering, whose program is unused.
    page = ctx.actions.declare_file(ctx.label.name + ".html")
    page_program = ctx.actions.declare_file(ctx.label.name + ".html.belay")
    for option, beside, output in [("--report", report, program), ("--html", page, page_program)]:
        outputs = ctx.actions.args()
        outputs.add(option, beside)
        outputs.add("-o", output)
        ctx.actions.run(
            executable = ctx.executable.belay,
            arguments = [args, outputs],
            inputs = inputs,
            outputs = [output, beside],
            mnemonic = "BelayLower",
            progress_message = "Lowering %s" % ctx.label,
        )
    return [
        BelayProgramInfo(program = program, report = report),
        DefaultInfo(
            files = depset([program]),
            runfiles = ctx.runfiles(files = [program]),
        ),
        OutputGroupInfo(
            html = depset([page]),
            report = depset([report]),
        ),
    ]

_PROGRAM_ATTRIBUTES = {
    "model": attr.label(
        doc = "The archive (.pt2), or saved programs (.bir), of a program whose method is called `forward`.",
        allow_single_file = [".pt2", ".bir"],
    ),
    "methods": attr.label_keyed_string_dict(
        doc = "For a program of several methods: file -> name of the method, or names separated by commas.",
        allow_files = [".pt2", ".bir"],
    ),
    "backends": attr.string_list(
        doc = "In order of priority; [\"none\"] for none. By default, the choice of `belay lower`.",
    ),
    "method_backends": attr.string_list_dict(
        doc = "Backends of one method, instead of `backends`: name of the method -> backends.",
    ),
    "compile_specs": attr.string_list(doc = "BACKEND:KEY=VALUE: a compile spec of the backend."),
    "constant_methods": attr.string_dict(
        doc = "Methods that return constants: name -> a number, true, false, a quoted string or a list, as JSON.",
    ),
    "max_size": attr.int(doc = "Upper bound of sizes for which the program has none."),
    "min_delegated_flops": attr.string(
        doc = "Minimum share of floating-point operations in delegates, 0 to 1: below it the build fails, and lists " +
              "the nodes that are not delegated, with reasons.",
    ),
    "write_state_in_place": attr.bool(
        doc = "Updates buffers in place; a failed call leaves them partially written.",
    ),
}

def _program_rule(cfg):
    return rule(
        implementation = _belay_program_impl,
        attrs = dict(
            _PROGRAM_ATTRIBUTES,
            belay = attr.label(
                doc = "The command: one with backends of your own, for instance.",
                default = "//tools/belay",
                executable = True,
                cfg = cfg,
            ),
        ),
    )

_belay_program = _program_rule("exec")
_belay_program_same_platform = _program_rule("target")

def belay_program(name, same_platform = False, **kwargs):
    """Lowers exported programs to <name>.belay. The output groups `report` and `html` are the files of `belay lower --report` and --html.

    Args:
      name: of the program.
      same_platform: uses the command of the target platform, so that it is not built again for the
        host. Only if the host can execute it.
      **kwargs: the attributes in _PROGRAM_ATTRIBUTES, `belay`, and common attributes.
    """
    lower = _belay_program_same_platform if same_platform else _belay_program
    lower(name = name, **kwargs)

def _belay_program_test_impl(ctx):
    program = ctx.attr.program[BelayProgramInfo].program
    cases = {}
    for file in ctx.files.cases:
        cases[file.short_path[:file.short_path.rfind("/")]] = True
    if not cases:
        fail("expected folders with input_<i>.npy and output_<i>.npy in `cases` of %s" % ctx.label)
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    command = [ctx.executable.run_cases.short_path, program.short_path, ctx.attr.method, ctx.attr.atol, ctx.attr.rtol]
    ctx.actions.write(
        script,
        "#!/bin/sh\nexec " + " ".join(["'%s'" % word for word in command + sorted(cases)]) + "\n",
        is_executable = True,
    )
    runfiles = ctx.runfiles(files = [program] + ctx.files.cases)
    return [DefaultInfo(
        executable = script,
        runfiles = runfiles.merge(ctx.attr.run_cases[DefaultInfo].default_runfiles),
    )]

belay_program_test = rule(
    implementation = _belay_program_test_impl,
    doc = "Executes a program on recorded inputs, one call for each folder, all on one state, and compares what it returns.",
    test = True,
    attrs = {
        "program": attr.label(doc = "A belay_program.", mandatory = True, providers = [BelayProgramInfo]),
        "cases": attr.label_list(
            doc = "Folders' files: input_<i>.npy, and output_<i>.npy as PyTorch gave it. Folders are called in the order of their names.",
            allow_files = [".npy"],
            mandatory = True,
        ),
        "method": attr.string(default = "forward"),
        "atol": attr.string(doc = "The absolute difference that is allowed.", default = "1e-5"),
        "rtol": attr.string(doc = "The relative difference that is allowed.", default = "1e-4"),
        "run_cases": attr.label(
            doc = "What executes the program; one with backends of your own, for instance.",
            default = "//bazel:run_cases",
            executable = True,
            cfg = "target",
        ),
    },
)

def _belay_embed_source_impl(ctx):
    program = ctx.attr.program[BelayProgramInfo].program
    ctx.actions.write(ctx.outputs.header, """// Generated by belay_embed.
#pragma once
#include <cstddef>

#include "absl/types/span.h"

namespace %s {
// The program file, in read-only data, aligned to a page.
absl::Span<const std::byte> %s();
}  // namespace %s
""" % (ctx.attr.namespace, ctx.attr.function, ctx.attr.namespace))

    # The assembler finds the file by its path in the execution root; the object only contains bytes.
    symbol = "belay_embedded_" + ctx.attr.namespace.replace("::", "_") + "_" + ctx.attr.function
    ctx.actions.write(ctx.outputs.source, """// Generated by belay_embed.
#include "{header}"

asm(R"(
  .section .rodata
  .balign 4096
  .globl {symbol}
  .hidden {symbol}
{symbol}:
  .incbin "{path}"
  .globl {symbol}_end
  .hidden {symbol}_end
{symbol}_end:
  .byte 0
  .previous
)");
extern "C" {{
__attribute__((visibility("hidden"))) extern const std::byte {symbol}[];
__attribute__((visibility("hidden"))) extern const std::byte {symbol}_end[];
}}

namespace {namespace} {{
absl::Span<const std::byte> {function}() {{
  return {{{symbol}, static_cast<size_t>({symbol}_end - {symbol})}};
}}
}}  // namespace {namespace}
""".format(
        function = ctx.attr.function,
        header = ctx.outputs.header.short_path,
        namespace = ctx.attr.namespace,
        path = program.path,
        symbol = symbol,
    ))
    return [DefaultInfo(files = depset([ctx.outputs.header, ctx.outputs.source]))]

_belay_embed_source = rule(
    implementation = _belay_embed_source_impl,
    attrs = {
        "function": attr.string(mandatory = True),
        "header": attr.output(mandatory = True),
        "namespace": attr.string(mandatory = True),
        "program": attr.label(mandatory = True, providers = [BelayProgramInfo]),
        "source": attr.output(mandatory = True),
    },
)

def belay_embed(name, program, namespace = "embedded", function = None, **kwargs):
    """A cc_library with a program in a binary's read-only data, and <name>.h with a function that returns its bytes.

    Program::OpenBytes opens them in place: nothing is read or copied.

    Args:
      name: of the library, the header and, by default, the function.
      program: a belay_program.
      namespace: of the function.
      function: without parameters, returns absl::Span<const std::byte>.
      **kwargs: as for cc_library.
    """
    function = function or name
    _belay_embed_source(
        name = name + "_source",
        function = function,
        header = name + ".h",
        namespace = namespace,
        program = program,
        source = name + ".cc",
    )
    cc_library(
        name = name,
        srcs = [name + ".cc"],
        hdrs = [name + ".h"],
        textual_hdrs = [program],  # What the assembler includes.
        deps = ["@com_google_absl//absl/types:span"],
        **kwargs
    )

def belay_backend_set(name, backends, **kwargs):
    """A cc_library that adds backends to the commands and harnesses that it is linked into.

    Args:
      name: of the library.
      backends: package ("" for this one) -> C++ namespace below `belay`. A package has the same targets as Belay's own backends,
        `aot` and `runtime`, and in its namespace `AotBackend Aot()` and `std::vector<const BackendRuntime*>
        Runtimes()` (backends/README.md).
      **kwargs: as for cc_library.
    """
    if not backends:
        refuse(name = name, message = "expected a backend, got none", **kwargs)
        return
    namespaces = backends.values()
    lines = [
        "// Made by belay_backend_set.",
        "#include <vector>",
        '#include "backends/aot_backend.h"',
        '#include "backends/runtime_backends.h"',
        "namespace belay {",
    ] + [
        "namespace %s { AotBackend Aot(); std::vector<const BackendRuntime*> Runtimes(); }" % namespace
        for namespace in namespaces
    ] + [
        "std::vector<AotBackend> MoreAotBackends() { return {%s}; }" % ", ".join([n + "::Aot()" for n in namespaces]),
        "std::vector<const BackendRuntime*> MoreRuntimes() {",
        "  std::vector<const BackendRuntime*> all;",
    ] + [
        "  for (const BackendRuntime* one : %s::Runtimes()) all.push_back(one);" % namespace
        for namespace in namespaces
    ] + [
        "  return all;",
        "}",
        "}  // namespace belay",
    ]
    native.genrule(
        name = name + "_source",
        outs = [name + ".cc"],
        cmd = "cat > $@ <<'END'\n" + "\n".join(lines) + "\nEND",
    )
    cc_library(
        name = name,
        srcs = [name + ".cc"],
        deps = [Label("//backends:aot_backend"), Label("//backends:runtime_backends")] +
               [package + side for package in backends for side in [":aot", ":runtime"]],
        # Its functions replace those that return no backends.
        alwayslink = True,
        **kwargs
    )

# Tools of belay_command, and the libraries with their main().
_TOOLS = {
    "belay": "//tools/belay:main",
    "list_kernels": "//bazel:main_list_kernels",
    "lowering": "//conformance/lowering:main_lowering",
    "models": "//conformance/models:main_models",
    "ops": "//conformance/ops:main_ops",
}

def belay_command(name, backends, tool = "belay", **kwargs):
    """The `belay` command, or a conformance harness, with out-of-tree backends in addition to Belay's.

    Only linked, not compiled. `belay_program` accepts it as `belay`.

    Args:
      name: of the binary.
      backends: a belay_backend_set.
      tool: "belay"; "list_kernels" for a `belay_runtime` with the same backends; or a conformance harness, which lowers
        with `--backend=NAME`, executes, compares with PyTorch's results, and prints the number of delegated nodes:
        "models" (a zoo), "ops" (calls of operators), "lowering" (partitioned programs).
      **kwargs: as for cc_binary.
    """
    if tool not in _TOOLS:
        refuse(name = name, message = "expected one of %s as `tool`, got '%s'" % (", ".join(_TOOLS.keys()), tool), **kwargs)
        return
    cc_binary(
        name = name,
        deps = [Label(_TOOLS[tool]), backends],
        **kwargs
    )
