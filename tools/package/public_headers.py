#!/usr/bin/env python3
"""Copies the public headers and the headers that they include. The same inputs give the same files.

    public_headers.py OUTPUT CANDIDATES ROOT...

CANDIDATES is a file with a line `INCLUDED_AS<tab>PATH` for each header of the libraries; ROOTs are names as included.
"""

import os
import re
import shutil
import sys

_INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def main():
    output, candidates, *roots = sys.argv[1:]
    with open(candidates, encoding="utf-8") as file:
        paths = dict(line.rstrip("\n").split("\t") for line in file)
    waiting, copied = list(roots), set()
    while waiting:
        name = waiting.pop()
        if name in copied or name not in paths:
            continue  # the others are of Abseil and the C++ library
        copied.add(name)
        target = os.path.join(output, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(paths[name], target)
        with open(target, "rb") as header:
            waiting += [included.decode() for included in _INCLUDE.findall(header.read())]
    missing = sorted(set(roots) - copied)
    if missing:
        sys.exit(f"expected the headers of the public targets among their libraries' headers; missing: {missing}")


if __name__ == "__main__":
    main()
