#!/usr/bin/env python3
"""Writes a wheel of the package. The same inputs give the same bytes.

build_wheel.py --output FILE.whl --name NAME --version VERSION --library LIB... --license FILE... [--command] SOURCE...

Bundles the libraries that LIB needs, except those that every manylinux system has. They are in the system's folders.
The platform tag in the file's name must be that of the newest glibc symbols; otherwise the build fails.
"""

import argparse
import base64
import ctypes
import hashlib
import os
import re
import struct
import sys
import zlib

# Libraries that every manylinux system has (PEP 600).
SYSTEM = re.compile(r"^(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux-[a-z0-9-]+)\.so(\.|$)")
FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
MACHINES = {62: "x86_64", 183: "aarch64"}


class Compressor:
    """Raw deflate by libdeflate (third_party/libdeflate) at its highest level: 3 % smaller than zlib's."""

    LEVEL = 12

    def __init__(self):
        self.library = ctypes.CDLL("libdeflate.so.0")
        self.library.libdeflate_alloc_compressor.restype = ctypes.c_void_p
        for name in ("libdeflate_deflate_compress", "libdeflate_deflate_compress_bound"):
            getattr(self.library, name).restype = ctypes.c_size_t
        self.state = ctypes.c_void_p(self.library.libdeflate_alloc_compressor(ctypes.c_int(self.LEVEL)))

    def compress(self, data):
        size = ctypes.c_size_t(len(data))
        bound = self.library.libdeflate_deflate_compress_bound(self.state, size)
        out = ctypes.create_string_buffer(bound)
        used = self.library.libdeflate_deflate_compress(self.state, data, size, out, ctypes.c_size_t(bound))
        return out.raw[:used]


def write_zip(path, files):
    """Writes (name, bytes) to a ZIP file: APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16. All are from 1980-01-01, shared libraries executable."""
    compressor = Compressor()
    offset, directory = 0, b""
    with open(path, "wb") as out:
        for name, data in files:
            packed, encoded = compressor.compress(data), name.encode("ascii")
            # Version 2.0, no flags, deflate, time, date, CRC, sizes, length of the name, no extra field.
            common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0x21, zlib.crc32(data), len(packed), len(data), len(encoded), 0)
            header = b"PK\x03\x04" + common + encoded
            mode = 0o755 if ".so" in name else 0o644
            directory += b"PK\x01\x02" + struct.pack("<H", 3 << 8 | 20) + common + struct.pack("<HHHII", 0, 0, 0, mode << 16, offset) + encoded
            out.write(header + packed)
            offset += len(header) + len(packed)
        out.write(directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(files), len(files), len(directory), offset, 0))


class Elf:
    """The dynamic section of a 64-bit little-endian ELF file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: expected a 64-bit little-endian ELF file")
        self.machine = struct.unpack_from("<H", self.data, 18)[0]
        offset, = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * size) for i in range(count)]

    def _of_type(self, kind):
        return next((section for section in self.sections if section[1] == kind), None)

    def _string(self, section, offset):
        start = self.sections[section[6]][4] + offset
        return self.data[start : self.data.index(b"\0", start)].decode()

    def needed(self):
        """The names of the libraries that it needs."""
        dynamic = self._of_type(6)
        names = []
        for at in range(dynamic[4], dynamic[4] + dynamic[5], 16):
            tag, value = struct.unpack_from("<QQ", self.data, at)
            if tag == 1:
                names.append(self._string(dynamic, value))
        return names

    def versions(self):
        """The versions of symbols that it needs, such as GLIBC_2.34."""
        section = self._of_type(0x6FFFFFFE)
        versions, at = set(), section[4] if section else None
        while at is not None:
            _, count, _, first, following = struct.unpack_from("<HHIII", self.data, at)
            entry = at + first
            for _ in range(count):
                _, _, _, name, step = struct.unpack_from("<IHHII", self.data, entry)
                versions.add(self._string(section, name))
                entry += step
            at = at + following if following else None
        return versions


def bundled(libraries):
    """All files of libraries by name, with those that they need."""
    files = {os.path.basename(path): path for path in libraries}
    waiting = list(files)
    while waiting:
        for name in Elf(files[waiting.pop()]).needed():
            if SYSTEM.match(name) or name in files:
                continue
            found = [os.path.join(folder, name) for folder in FOLDERS if os.path.exists(os.path.join(folder, name))]
            if not found:
                sys.exit(f"build_wheel.py: {name} is in none of {FOLDERS}")
            files[name] = found[0]
            waiting.append(name)
    return files


def platform_tag(files):
    """manylinux_2_<n>_<machine> of the newest symbols of glibc."""
    newest, machines = 17, set()
    for path in files.values():
        elf = Elf(path)
        machines.add(MACHINES[elf.machine])
        for version in elf.versions():
            match = re.fullmatch(r"GLIBC_2\.(\d+)(\.\d+)?", version)
            newest = max(newest, int(match.group(1)) if match else 0)
    machine, = machines
    return f"manylinux_2_{newest}_{machine}"


def license_name(path):
    """The name in the package: NAME-FILE for a library of the system or of another repository."""
    for folder in ("/usr/share/doc/", "external/"):
        if folder in path:
            return path.split(folder)[-1].replace("~", "").replace("/", "-")
    return os.path.basename(path)


def metadata(name, version):
    return (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        "Summary: Lowers PyTorch programs for edge devices and executes them\n"
        "License: BSD-3-Clause\nRequires-Python: >=3.9\n"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--license", action="append", default=[])
    parser.add_argument("--command", action="store_true")
    parser.add_argument("source", nargs="+")
    options = parser.parse_args()

    libraries = bundled(options.library)
    tag = f"py3-none-{platform_tag(libraries)}"
    distribution = options.name.replace("-", "_")
    expected = f"{distribution}-{options.version}-{tag}.whl"
    if os.path.basename(options.output) != expected:
        given = os.path.basename(options.output)
        sys.exit(f"build_wheel.py: the symbols need the name {expected}, the build gives {given}")

    files = {f"belay/lib/{name}": path for name, path in libraries.items()}
    files.update({f"belay/{os.path.basename(path)}": path for path in options.source})
    info = f"{distribution}-{options.version}.dist-info"
    for path in options.license:
        files[f"{info}/licenses/{license_name(path)}"] = path
    content = {}
    for name, path in files.items():
        with open(path, "rb") as file:
            content[name] = file.read()
    content["belay/_version.py"] = f'"""The version of the package."""\n\n__version__ = "{options.version}"\n'.encode()
    content[f"{info}/METADATA"] = metadata(options.name, options.version).encode()
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: belay\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    if options.command:
        content[f"{info}/entry_points.txt"] = b"[console_scripts]\nbelay = belay._command:main\n"
    record = f"{info}/RECORD"
    rows = []
    for name in sorted(content):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content[name]).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(content[name])}\n")
    content[record] = ("".join(rows) + f"{record},,\n").encode()

    write_zip(options.output, [(name, content[name]) for name in sorted(content, key=lambda name: (name.startswith(info), name))])


if __name__ == "__main__":
    main()
