"""belay_runtime: a library of the kernels and backends that programs need. See belay_runtime in defs.bzl.

Two steps. `list_kernels` loads the programs with all kernels and backends, and lists those that calls use, one per line:

    kernel OPERATOR NAME FUNCTION FILE PROGRAMS     a row, the function that returns its table, and its source file
    backend ID FUNCTION PROGRAMS                    a backend, and the function in `belay` that returns it; "-": one of `more_backends`

`write_runtime` generates sources from the list: for each FILE a source that includes it with only the listed rows, so
that the compiler drops code of other rows; and the registries over them.
"""

load("//backends:backends.bzl", "BACKENDS", "BACKENDS_OVER_KERNELS", "selectable_runtime")
load("//backends/cpu:families.bzl", "CPU_FAMILIES")
load("//runtime/kernels:families.bzl", "HIGHWAY_FAMILIES")
load("//tools:cc.bzl", "cc_library")
load(":program_info.bzl", "BelayProgramInfo")
load(":refuse.bzl", "refuse")

def _arguments_file(ctx, lines):
    file = ctx.actions.declare_file(ctx.label.name + ".arguments")
    ctx.actions.write(file, "\n".join(lines) + "\n")
    return file

def _kernel_list_impl(ctx):
    programs = [target[BelayProgramInfo].program for target in ctx.attr.programs]
    output = ctx.actions.declare_file(ctx.label.name + ".txt")
    arguments = _arguments_file(
        ctx,
        ["output=" + output.path] +
        ["program=" + program.path for program in programs] +
        ["over_kernels=" + backend for backend in BACKENDS_OVER_KERNELS] +
        ["own_operator=" + operator for operator in ctx.attr.own_operators],
    )
    ctx.actions.run(
        executable = ctx.executable.list_kernels,
        arguments = [arguments.path],
        inputs = programs + [arguments],
        outputs = [output],
        mnemonic = "BelayListKernels",
        progress_message = "Listing the kernels of %s" % ctx.label,
    )
    return [DefaultInfo(files = depset([output]), runfiles = ctx.runfiles(files = [output]))]

def _kernel_list_rule(cfg):
    return rule(
        implementation = _kernel_list_impl,
        attrs = {
            "list_kernels": attr.label(default = "//bazel:list_kernels", executable = True, cfg = cfg),
            "own_operators": attr.string_list(),
            "programs": attr.label_list(mandatory = True, providers = [BelayProgramInfo]),
        },
    )

_kernel_list = _kernel_list_rule("exec")
_kernel_list_same_platform = _kernel_list_rule("target")

def _runtime_sources_impl(ctx):
    registry = ctx.actions.declare_file(ctx.label.name + "/registry.cc")
    tables = []
    lines = [
        "name=%s" % ctx.label,
        "list=" + ctx.file.kernels.path,
        "header=" + ctx.outputs.header.path,
        "include=" + ctx.outputs.header.short_path,
        "registry=" + registry.path,
        "namespace=" + ctx.attr.namespace,
    ] + (
        ["backends=" + function for function in ctx.attr.backends] +
        ["more_backends=" + function for function in ctx.attr.more_backends]
    )
    for source in ctx.files.sources:
        # Its path in Belay, which may be another workspace.
        path = source.owner.package + "/" + source.owner.name
        table = ctx.actions.declare_file(ctx.label.name + "/" + path.replace("/", "_"))
        lines.append("table=%s=%s" % (path, table.path))
        tables.append(table)
    arguments = _arguments_file(ctx, lines)
    ctx.actions.run(
        executable = ctx.executable._write_runtime,
        arguments = [arguments.path],
        inputs = [arguments, ctx.file.kernels],
        outputs = tables + [registry, ctx.outputs.header],
        mnemonic = "BelayWriteRuntime",
        progress_message = "Writing the runtime %s" % ctx.label,
    )
    return [DefaultInfo(files = depset(tables + [registry]))]

_runtime_sources = rule(
    implementation = _runtime_sources_impl,
    attrs = {
        "backends": attr.string_list(),
        "header": attr.output(mandatory = True),
        "kernels": attr.label(mandatory = True, allow_single_file = [".txt"]),
        "more_backends": attr.string_list(),
        "namespace": attr.string(mandatory = True),
        "sources": attr.label_list(allow_files = [".cc"]),
        "_write_runtime": attr.label(default = "//bazel:write_runtime", executable = True, cfg = "exec"),
    },
)

def _label(target):
    return Label(target)

# Names of families for belay_runtime: "reference", the folders of //runtime/kernels, and the files of //backends/cpu/kernels.
def _family_name(family):
    return family.file.split("/")[2]

def _cpu_family_name(family):
    return "cpu/" + family.file.split("/")[-1][:-len(".cc")]

# Returns an error in the attributes of a belay_runtime, or "".
def _runtime_problem(programs, kernels, own_operators, families, known_families, backends):
    if bool(programs) == (kernels != None):
        return "expected `programs` or `kernels`, and not both,"
    if kernels != None and own_operators:
        return "expected `own_operators` with `programs`, got them with `kernels`"
    for family in families:
        if family not in known_families:
            return "expected families of %s, got '%s'" % (", ".join(known_families), family)
    for backend in backends:
        if backend not in BACKENDS:
            return "expected backends of %s, got '%s'" % (", ".join(BACKENDS), backend)
    return ""

def belay_runtime(
        name,
        programs = [],
        kernels = None,
        families = None,
        backends = None,
        more_backends = {},
        own_operators = [],
        namespace = None,
        list_kernels = None,
        same_platform = False,
        copts = [],
        **kwargs):
    """A cc_library with exactly the kernels and backends that programs need, and <name>.h with their registries.

        const belay::KernelRegistry& Kernels();
        const belay::BackendRegistry& Backends();

    A kernel is included if a call of the programs selects it, including calls inside delegates; the selection
    depends on dtypes, layouts and constant arguments. An operator without a kernel, or an unknown backend,
    fails the build. Link with -Wl,--gc-sections, and compile with -ffunction-sections and -fdata-sections, so that
    nothing else is linked. Other programs may fail to load, with an error that names what is missing.

    Args:
      name: of the library and its header.
      programs: belay_program targets.
      kernels: instead of `programs`, a list generated earlier, as <name>_kernels.txt: it can be kept in the source tree.
      families: which kernels may be compiled: "reference", folders of //runtime/kernels, and "cpu/" and files of
        //backends/cpu/kernels, all of them if none is named. All by default; others need not be
        built, and fail the build if they are needed. For Belay's own packages.
      backends: which of Belay's backends may be linked; all by default.
      more_backends: further ones, as for belay_backend_set: package -> namespace. Only their :runtime is linked.
      own_operators: operators whose kernels the application adds to a copy of the registry.
      namespace: of the functions, `name` by default.
      list_kernels: the binary that lists the kernels: with more_backends, `belay_command(tool = "list_kernels")` of a belay_backend_set.
      same_platform: as for belay_program, of `list_kernels`.
      copts: for the tables, which are compiled only for this library.
      **kwargs: as for cc_library.
    """
    cpu_families = [_cpu_family_name(family) for family in CPU_FAMILIES]
    known = ["reference"] + depset([_family_name(family) for family in HIGHWAY_FAMILIES]).to_list() + cpu_families
    families = known if families == None else families
    backends = BACKENDS if backends == None else backends
    problem = _runtime_problem(programs, kernels, own_operators, families, known, backends)
    if problem:
        refuse(name = name, message = problem, **kwargs)
        return
    if kernels == None:
        rule_of_list = _kernel_list_same_platform if same_platform else _kernel_list
        rule_of_list(
            name = name + "_kernels",
            list_kernels = list_kernels or _label("//bazel:list_kernels"),
            own_operators = own_operators,
            programs = programs,
            tags = kwargs.get("tags"),
            testonly = kwargs.get("testonly"),
        )
        kernels = ":%s_kernels" % name
    deps = [_label("//bazel:selected_registries")]
    sources = []
    if families == known:
        sources.append(_label("//runtime/kernels:family_sources"))
        deps.append(_label("//runtime/kernels:family_parts"))
    else:
        compiled = [family for family in HIGHWAY_FAMILIES if _family_name(family) in families]
        sources += [_label(family.source) for family in compiled]
        deps += depset([_label(family.target) for family in compiled]).to_list()
        if "reference" in families:
            sources.append(_label("//runtime/kernels/reference:family_sources"))
            deps.append(_label("//runtime/kernels/reference:family_parts"))
    chosen = [family for family in CPU_FAMILIES if _cpu_family_name(family) in families] or CPU_FAMILIES
    if backends == BACKENDS and len(chosen) == len(CPU_FAMILIES):
        sources.append(_label("//backends:family_sources"))
        deps.append(_label("//backends:selectable_runtimes"))
    else:
        deps += [_label(selectable_runtime(backend)) for backend in backends]
        if "cpu" in backends:
            sources += [_label(family.source) for family in chosen]
            deps += depset([_label(family.target) for family in chosen]).to_list()
    deps += [package + ":runtime" for package in more_backends]
    _runtime_sources(
        name = name + "_sources",
        backends = [
            backend + ("::RuntimesOver" if backend in BACKENDS_OVER_KERNELS else "::Runtimes")
            for backend in backends
        ],
        header = name + ".h",
        kernels = kernels,
        more_backends = [space + "::Runtimes" for space in more_backends.values()],
        namespace = namespace or name,
        sources = sources,
        tags = kwargs.get("tags"),
        testonly = kwargs.get("testonly"),
    )
    cc_library(
        name = name,
        srcs = [name + "_sources"],
        hdrs = [name + ".h"],
        copts = copts,
        textual_hdrs = sources,  # What the tables include.
        deps = deps,
        **kwargs
    )
