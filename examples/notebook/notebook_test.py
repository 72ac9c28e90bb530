"""Executes the code of a notebook, in order. notebook_test.py NOTEBOOK"""

import importlib.util
import json
import os
import sys
import tempfile


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    assert cells
    for cell in cells:
        assert not cell["outputs"] and cell["execution_count"] is None, "clear the outputs before saving"
    codes = [compile("".join(cell["source"]), sys.argv[1], "exec") for cell in cells]
    for package in ("torch", "torchaudio", "omegaconf", "pesto"):
        if importlib.util.find_spec(package) is None:
            print(f"skipped: {package} is not installed, so the notebook was not executed")
            return
    os.chdir(tempfile.mkdtemp())
    names = {"__name__": "__main__"}
    for code in codes:
        exec(code, names)
    print(f"{len(codes)} cells were executed")


if __name__ == "__main__":
    main()
