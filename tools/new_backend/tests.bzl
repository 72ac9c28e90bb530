"""The test of a backend that new_backend.sh created: my_npu, in any workspace."""

_MODEL = "//conformance/models:zoo/resnet_tiny/model.pt2"
_CASES = "//conformance:opcases/README.md"

def new_backend_test(name, folder):
    """Tests that the backend's targets behave as README.md describes.

    Args:
      name: of the test.
      folder: the backend's package.
    """
    binaries = [folder + ":" + binary for binary in [
        "belay",
        "blob_replay_test",
        "lowering",
        "models",
        "my_npu_test",
        "ops",
        "status",
        "status_test",
    ]]

    # Aliases, whose paths are available in any workspace.
    files = []
    for file, actual in [
        ("script", "//tools/new_backend:new_backend.sh"),
        ("model", _MODEL),
        ("cases", _CASES),
    ]:
        native.alias(
            name = name + "_" + file,
            actual = Label(actual),
        )
        files.append(":%s_%s" % (name, file))
    native.sh_test(
        name = name,
        size = "medium",
        srcs = [Label("//tools/new_backend:new_backend_test.sh")],
        args = ["$(rootpath %s)" % target for target in files + binaries],
        data = files + binaries + [
            Label("//conformance:opcases"),
            Label("//conformance/lowering:cases"),
            Label("//conformance/models:zoo"),
        ],
    )
