#!/usr/bin/env python3
"""Writes docs/measurements.md from the data files in docs/measurements.

  tools/measurements/measurements.py               writes the page
  tools/measurements/measurements.py --check DOCS  fails if DOCS/measurements.md is not the page of DOCS/measurements/*.tsv

A data file is a section: lines with # (the heading, then the text), the columns, and rows of tab-separated cells. Standard library only.
"""

import argparse
import itertools
import pathlib
import sys

HEAD = """# Measurements

<!-- Written by tools/measurements/measurements.py from measurements/*.tsv. -->

Figures of tests, builds and sizes. A dash marks a value that is not recorded. Performance compared with other runtimes:
[benchmarks](benchmarks/README.md).
"""


class BadData(Exception):
    """A malformed data file; str() names the file and the line."""


def section(path):
    """The heading of a data file, and its section."""
    lines = path.read_text(encoding="utf-8").splitlines()
    text = [line[1:].strip() for line in itertools.takewhile(lambda line: line.startswith("#"), lines)]
    rows = [line.split("\t") for line in lines[len(text) :]]
    if not text or len(rows) < 2:
        raise BadData(f"{path}: expected lines with # that begin with the heading, then columns and rows")
    for line_number, row in enumerate(rows, len(text) + 1):
        if len(row) != len(rows[0]):
            raise BadData(f"{path}:{line_number}: expected {len(rows[0])} cells, got {len(row)}")
    table = ["| " + " | ".join(rows[0]) + " |", "|" + " --- |" * len(rows[0])]
    table += ["| " + " | ".join(cell or "–" for cell in row) + " |" for row in rows[1:]]
    return text[0], "\n".join([f"## {text[0]}", ""] + text[1:] + [""] * (len(text) > 1) + table) + "\n"


def page(docs):
    sections = [section(path) for path in sorted((docs / "measurements").glob("*.tsv"))]
    if not sections:
        raise BadData(f"{docs}: expected a folder with measurements/*.tsv")
    anchor = lambda heading: "".join(c for c in heading.lower().replace(" ", "-") if c.isalnum() or c in "-_")
    contents = " · ".join(f"[{heading}](#{anchor(heading)})" for heading, _ in sections)
    return "\n".join([HEAD, contents + "\n"] + [text for _, text in sections])


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "docs")
    parser.add_argument("--check", action="store_true", help="writes nothing; fails if the page differs")
    options = parser.parse_args(arguments)
    path = options.docs / "measurements.md"
    try:
        text = page(options.docs)
    except BadData as error:
        print(error, file=sys.stderr)
        return 1
    if not options.check:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        print(f"{path}: expected the page of the data files: run tools/measurements/measurements.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
