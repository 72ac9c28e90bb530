"""Additional targets of a backend: a fuzz target, and a page of its supported operators."""

load("//fuzz:fuzz_target.bzl", "blob_fuzzer")
load("//tools:cc.bzl", "cc_binary", "cc_test")
load(":refuse.bzl", "refuse")

def belay_blob_fuzzer(name, namespace, seeds, backend = "", tags = []):
    """<name>_fuzzer, which feeds the backend's run-time side with blobs, and <name>_replay_test, a test over seeds.

        bazel test //npu:blob_replay_test
        bazel run --config=fuzz //npu:blob_fuzzer -- -max_total_time=60 WORK "$PWD/npu/corpus"

    An input selects a call and has a blob: `DelegateCall` of fuzz/generators/delegate_call.h creates the call. A
    finding is an input that crashes, exceeds the limits or returns an error code that backends must not return; once fixed, it becomes
    a seed.
    --config=fuzz is Belay's: .bazelrc has `import %workspace%/../belay/.bazelrc`.

    Args:
      name: "blob", for instance.
      namespace: the backend's C++ namespace below `belay`, as in belay_backend_set.
      seeds: files: glob(["corpus/*"]).
      backend: the package that has its target `runtime`; "" for this one.
      tags: of all targets.
    """
    if not seeds:
        refuse(name = name, message = "expected seeds, got none", tags = tags)
        return
    blob_fuzzer(
        name = name,
        backend = backend,
        namespace = namespace,
        seeds = seeds,
        replay_args = ["$(rootpath %s)" % seed for seed in seeds],
        tags = tags,
    )

def belay_backend_status(name, backend, backends = None, page = "STATUS.md", **kwargs):
    """A command that writes the page of a backend's supported operators, and <name>_test, which checks that the page is current.

    Args:
      name: of the command: `bazel run //npu:status` writes the page.
      backend: its name in `--backend`.
      backends: a belay_backend_set with it; None for Belay's own.
      page: a file of this package; an empty one before the first run.
      **kwargs: as for cc_binary and cc_test.
    """
    if not backend:
        refuse(name = name, message = "expected the name of a backend, got ''", **kwargs)
        return
    package = native.package_name()
    native.alias(
        name = name + "_cases",  # whose path is asked for, in whatever workspace it is
        actual = Label("//conformance:opcases/README.md"),
    )
    cases = ":%s_cases" % name
    deps = [Label("//conformance/backend:main_backend_status")] + ([backends] if backends else [])
    args = [
        "--backend=" + backend,
        "--cases=$(rootpath %s)" % cases,
        "'--command=bazel run //%s:%s'" % (package, name),
    ]
    data = [
        cases,
        Label("//conformance:opcases"),
    ]
    cc_binary(
        name = name,
        args = args + ["--write=%s/%s" % (package, page)],
        data = data,
        deps = deps,
        **kwargs
    )
    cc_test(
        name = name + "_test",
        size = "small",
        args = args + ["--check=$(rootpath %s)" % page],
        data = data + [page],
        deps = deps,
        **kwargs
    )
