"""The test of a backend that new_backend.sh made: my_npu, in whatever workspace."""

_MODEL = "//conformance/models:zoo/resnet_tiny/model.pt2"
_CASES = "//conformance:opcases/README.md"

def new_backend_test(name, folder):
    """Holds that the backend's targets do what README.md says of them.

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

    # Aliases, whose paths can be asked for, in whatever workspace they are.
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
