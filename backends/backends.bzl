"""The list of backends. Everything that exists once per backend is derived from it."""

# A backend is the folder of its name: targets :aot and :runtime, and in namespace belay::<name> the functions
# `AotBackend Aot()` and `std::vector<const BackendRuntime*> Runtimes()`. See null/, the skeleton to copy.
BACKENDS = [
    "cpu",
    "demo",
    "null",
    "xnnpack",
]

def backend_registries(name):
    """Generates the tables behind aot_backends.h and runtime_backends.h."""
    native.genrule(
        name = name,
        outs = ["backend_list.inc"],
        cmd = "(" + " ".join(["echo 'BELAY_BACKEND(%s)';" % b for b in BACKENDS]) + ") > $@",
    )
