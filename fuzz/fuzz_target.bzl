"""A fuzz target: one source, as a fuzzer and as an ordinary test that runs its corpus."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

# All but those of backends' blobs; the folders of their seeds have the same names.
FUZZ_TARGETS = [
    "command_line",
    "companion_data",
    "differential",
    "generated_program",
    "mutated_program",
    "named_data",
    "npy",
    "operator_call",
    "program_file",
    "pt2_container",
    "pt2_json",
    "pt2_zip",
    "ptd_file",
    "pte_program",
    "sample_inputs",
    "saved_programs",
    "schema_string",
    "sym_expr",
    "text_form",
    "torch_save",
]

def fuzz_target(name, srcs, deps, corpus = None, dictionary = None, local_defines = []):
    """Declares <name>_fuzzer (manual; build it with --config=fuzz) and <name>_replay_test.

    Args:
      name: what is fuzzed; also the folder of its seeds in //fuzz/corpus.
      srcs: define LLVMFuzzerTestOneInput.
      deps: of the source.
      corpus: the folder, when it is not called as the target.
      dictionary: a label in //fuzz/dict.
      local_defines: of the source.
    """
    seeds = "//fuzz/corpus:" + (corpus or name)
    cc_library(
        name = name,
        testonly = True,
        srcs = srcs,
        local_defines = local_defines,
        deps = deps + ["//fuzz/targets:quiet_protobuf"],
        alwayslink = True,
    )
    cc_binary(
        name = name + "_fuzzer",
        testonly = True,
        # oss_fuzz/build.sh names the engine itself.
        linkopts = select({
            "//fuzz:engine_from_command_line": [],
            "//conditions:default": ["-fsanitize=fuzzer"],
        }),
        tags = ["manual"],
        deps = [":" + name],
    )
    cc_test(
        name = name + "_replay_test",
        size = "medium",
        args = ["fuzz/corpus/" + (corpus or name)],
        data = [seeds],
        deps = [
            ":" + name,
            "//fuzz/targets:replay_main",
        ],
    )

    # For oss_fuzz/build.sh: "<name>_fuzzer <corpus> <dictionary>".
    native.genrule(
        name = name + "_facts",
        testonly = True,
        outs = [name + ".facts"],
        cmd = "echo '%s_fuzzer %s %s' > $@" % (name, corpus or name, dictionary or "-"),
    )
