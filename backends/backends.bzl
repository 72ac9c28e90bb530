"""The list of backends. Everything that exists once per backend is derived from it."""

# A backend is the folder of its name: targets :aot and :runtime, and in namespace belay::<name> the functions
# `AotBackend Aot()` and `std::vector<const BackendRuntime*> Runtimes()`. See null/, the skeleton to copy.
BACKENDS = [
    "cpu",
    "demo",
    "null",
    "xnnpack",
]

# Those whose blobs are programs. They have a target :runtime_over besides, with `std::vector<const BackendRuntime*>
# RuntimesOver(const KernelRegistry&)`: the same over kernels that the caller chose. It is called once, and what it makes lives
# as long as the process.
BACKENDS_OVER_KERNELS = ["cpu"]

def selectable_runtime(backend):
    """The target that an application links which chooses its kernels."""
    return "//backends/%s:runtime%s" % (backend, "_over" if backend in BACKENDS_OVER_KERNELS else "")

def backend_registries(name):
    """Generates the tables behind aot_backends.h and runtime_backends.h."""
    native.genrule(
        name = name,
        outs = ["backend_list.inc"],
        cmd = "(" + " ".join(["echo 'BELAY_BACKEND(%s)';" % b for b in BACKENDS]) + ") > $@",
    )
