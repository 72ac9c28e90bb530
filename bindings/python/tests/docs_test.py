"""Runs the code blocks of a page, in order. docs_test.py PAGE WHEEL FILE...: FILEs are in the working directory.

Blocks of the languages python and bash are executed; those of py are code of other runtimes.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile


def main():
    page, *files = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    # Blocks of other languages, and indented ones, would be skipped silently.
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    kinds = {kind for kind, _ in blocks}
    assert kinds <= {"python", "bash", "py"}, kinds
    blocks = [(kind, code) for kind, code in blocks if kind != "py"]
    assert not re.search(r"^    \S", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M), "an indented block"
    folder = tempfile.mkdtemp()
    for path in files:
        shutil.copy(path, folder)
    os.chdir(folder)
    names, skipped = {}, 0
    for kind, code in blocks:
        if kind == "bash":
            if os.environ.get("BELAY_PYTHON"):
                skipped += 1
                print("skipped: commands run only in the fresh environment")
                continue
            subprocess.run(["bash", "-euc", code], check=True)
            continue
        try:
            exec(compile(code, page, "exec"), names)
        except ImportError as error:
            if error.name not in ("torch", "numpy"):
                raise
            skipped += 1
            print(f"skipped: {error.name} is not installed, so this block was not run:\n{code}")
    print(f"{len(blocks) - skipped} of {len(blocks)} blocks ran")
    assert len(blocks) - skipped >= 3


if __name__ == "__main__":
    main()
