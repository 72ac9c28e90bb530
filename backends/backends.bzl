"""The list of backends. Everything that exists once per backend is derived from it."""

# A backend is a folder of this name with targets :aot and :runtime, and in namespace belay::<name> the functions
# `AotBackend Aot()` and `std::vector<const BackendRuntime*> Runtimes()`. See null/, the skeleton to copy.
BACKENDS = [
    "cpu",
    "demo",
    "null",
    "xnnpack",
]

# Backends whose blobs are programs. They also have a target :runtime_over with `std::vector<const BackendRuntime*>
# RuntimesOver(const KernelRegistry&)`: the same runtimes, with kernels that the caller selects. It is called once; the result
# lives as long as the process.
BACKENDS_OVER_KERNELS = ["cpu"]

def selectable_runtime(backend):
    """The target for applications that select their kernels."""
    return "//backends/%s:runtime%s" % (backend, "_over" if backend in BACKENDS_OVER_KERNELS else "")

def backend_registries(name):
    """Generates the tables of aot_backends.h and runtime_backends.h."""
    native.genrule(
        name = name,
        outs = ["backend_list.inc"],
        cmd = "(" + " ".join(["echo 'BELAY_BACKEND(%s)';" % b for b in BACKENDS]) + ") > $@",
    )
