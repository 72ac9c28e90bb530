"""A fuzz target: one source, as a fuzzer and as an ordinary test that runs its corpus."""

load("//tools:cc.bzl", "cc_binary", "cc_library", "cc_test")

# All targets except those of backends' blobs; their seed folders have the same names.
FUZZ_TARGETS = [
    "bpte_file",
    "chat_template",
    "command_line",
    "companion_data",
    "differential",
    "etdump_file",
    "generated_program",
    "gguf",
    "mutated_program",
    "named_data",
    "npy",
    "operator_call",
    "parameter_file",
    "program_file",
    "pt2_container",
    "pt2_json",
    "pt2_zip",
    "ptd_file",
    "pte_program",
    "recipe_file",
    "sample_inputs",
    "saved_programs",
    "schema_string",
    "sym_expr",
    "text_form",
    "tokenizer_json",
    "torch_save",
]

def fuzzer(name, srcs, deps, seeds, replay_args, tags = []):
    """Declares <name>_fuzzer (manual; build it with --config=fuzz) and <name>_replay_test.

    Args:
      name: the target's name.
      srcs: define LLVMFuzzerTestOneInput.
      deps: of the source.
      seeds: targets and files that the replay test reads.
      replay_args: where they are: files and folders.
      tags: of all targets.
    """
    cc_library(
        name = name,
        testonly = True,
        srcs = srcs,
        tags = tags,
        deps = deps + [Label("//fuzz/targets:quiet_protobuf")],
        alwayslink = True,
    )
    cc_binary(
        name = name + "_fuzzer",
        testonly = True,
        tags = tags + ["manual"],
        deps = [
            ":" + name,
            Label("//fuzz/targets:engine"),
        ],
    )
    cc_test(
        name = name + "_replay_test",
        size = "medium",
        args = replay_args,
        data = seeds,
        tags = tags,
        deps = [
            ":" + name,
            Label("//fuzz/targets:replay_main"),
        ],
    )

def blob_fuzzer(name, backend, namespace, seeds, replay_args, tags = []):
    """A fuzzer() of the blobs of a backend's runtime.

    Args:
      name: the target's name.
      backend: the package, which has the target `runtime`.
      namespace: its C++ namespace below `belay`, which has `std::vector<const BackendRuntime*> Runtimes()`.
      seeds: as for fuzzer().
      replay_args: as for fuzzer().
      tags: of all targets.
    """
    native.genrule(
        name = name + "_source",
        testonly = True,
        tags = tags,
        outs = [name + ".cc"],
        cmd = """cat > $@ <<'END'
// Made by blob_fuzzer.
#include "fuzz/targets/backend_blob.h"
namespace belay::{namespace} {{
std::vector<const BackendRuntime*> Runtimes();
}}
std::vector<const belay::BackendRuntime*> belay::fuzz::FuzzedRuntimes() {{ return {namespace}::Runtimes(); }}
END""".format(namespace = namespace),
    )
    fuzzer(
        name = name,
        srcs = [name + ".cc"],
        deps = [
            backend + ":runtime",
            Label("//fuzz/targets:backend_blob"),
        ],
        seeds = seeds,
        replay_args = replay_args,
        tags = tags,
    )

def _facts(name, corpus, dictionary):
    # For oss_fuzz/build.sh: "<name>_fuzzer <corpus> <dictionary>".
    native.genrule(
        name = name + "_facts",
        testonly = True,
        outs = [name + ".facts"],
        cmd = "echo '%s_fuzzer %s %s' > $@" % (name, corpus, dictionary or "-"),
    )

def fuzz_target(name, srcs, deps, dictionary = None, corpus = None):
    """A fuzzer() with a folder of its name in //fuzz/corpus, which oss_fuzz/build.sh builds as well.

    Args:
      name: the target's name, and that of its corpus folder unless `corpus` is another.
      srcs: define LLVMFuzzerTestOneInput.
      deps: of the source.
      dictionary: a label in //fuzz/dict.
      corpus: the folder of another target whose seeds are used.
    """
    corpus = corpus or name
    fuzzer(
        name = name,
        srcs = srcs,
        deps = deps,
        seeds = ["//fuzz/corpus:" + corpus],
        replay_args = ["fuzz/corpus/" + corpus],
    )
    _facts(name, corpus, dictionary)

def blob_fuzz_target(backend, corpus):
    """The same for blobs of a backend of this repository, backend_blob_<backend>.

    Args:
      backend: the folder in //backends.
      corpus: the folder in //fuzz/corpus.
    """
    name = "backend_blob_" + backend
    blob_fuzzer(
        name = name,
        backend = "//backends/" + backend,
        namespace = backend,
        seeds = ["//fuzz/corpus:" + corpus],
        replay_args = ["fuzz/corpus/" + corpus],
    )
    _facts(name, corpus, "blob")
