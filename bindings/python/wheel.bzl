"""Wheels of the Python package."""

VERSION = "0.1.0"

# The platform tag for the newest glibc symbols of the libraries; build_wheel.py checks it.
_PLATFORM = "manylinux_2_35_x86_64"

# Packages whose code is part of a wheel: their licenses are in it.
_LICENSES = [
    "/usr/share/doc/%s/copyright" % package
    for package in [
        "libabsl-dev",
        "libcli11-dev",
        "libcpuinfo0",
        "libflatbuffers-dev",
        "libpcre2-8-0",
        "libprotobuf-dev",
        "libpthreadpool0",
        "libsimdjson14",
        "libsodium-dev",
        "libssl-dev",
        "libstdc++6",
        "libutf8proc2",
        "libxnnpack0",
        "nlohmann-json3-dev",
        "zlib1g-dev",
    ]
]

def wheel_name(distribution):
    """The file's name of a wheel.

    Args:
      distribution: the name for pip.
    Returns:
      the name.
    """
    return "%s-%s-py3-none-%s.whl" % (distribution.replace("-", "_"), VERSION, _PLATFORM)

def wheel(name, distribution, library, sources, command = False, visibility = None):
    """Builds a wheel.

    Args:
      name: of the target.
      distribution: the name for pip.
      library: the shared library.
      sources: files of the package.
      command: whether it installs the `belay` command.
      visibility: of the target.
    """
    output = wheel_name(distribution)
    native.genrule(
        name = name,
        srcs = [library, "//:LICENSE", "@highway//:LICENSE"] + sources,
        outs = [output],
        cmd = "$(location build_wheel.py) --output $@ --name %s --version %s %s" % (
            distribution,
            VERSION,
            "--command" if command else "",
        ) + " --library $(location %s) --license $(location //:LICENSE)" % library +
              " --license $(location @highway//:LICENSE) " +
              " ".join(["--license " + path for path in _LICENSES]) + " " +
              " ".join(["$(location %s)" % source for source in sources]),
        tools = ["build_wheel.py"],
        visibility = visibility,
    )
