#!/usr/bin/env python3
"""language.py [--update] ROOT: counts the phrases that docs/style.md replaces, in comments and documents.

A budget per folder and kind of file is kept in tools/lint/language_budget.txt. More phrases than the budget, or fewer
than it, are errors: the budget only falls. --update lowers it to what was counted, and never raises it.
Kinds: headers and sources (their // comments, without tests), tests (likewise), documents (Markdown outside of code blocks).
"""

import os
import pathlib
import re
import sys

PHRASES = [re.compile(pattern) for pattern in (
    r"(^|[.:;] )What [a-z]",
    r"\b[Ww]ho(ever)?\b",
    r"\b([Ss]ome|[Nn]o|[Aa]ny)body\b",
    r"\balone\b",
    r"\bcame\b|what comes",
    r"\bbehind\b",
    r"\b(lies?|lay)\b",
    r"\bso (many|much)\b",
    r"there (is|are) (none|not)\b",
    r"\b(of which|of whom)\b",
    r"\bbut for\b",
    r"\btexts\b",
    r"one (behind|after) the other",
    r"\b[Mm]end",
    r"\b(is|are) no [a-z]",
    r"\bbesides\b",
    r"\bfor ever\b",
)]
COMMENT = re.compile(r"(?:^\s*|[;{},)]\s+)///?\s?(.*)$")
BUDGET = "tools/lint/language_budget.txt"
# Pages that quote the phrases.
EXEMPT = {"docs/style.md"}


def files_of(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "bazel-")))
        for name in sorted(files):
            yield pathlib.Path(folder, name).relative_to(root).as_posix()


def read_budget(file):
    """The comment lines, and {(folder, kind): phrases}."""
    lines = file.read_text().splitlines() if file.exists() else []
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return [line for line in lines if line.startswith("#")], {(f, k): int(n) for f, k, n in rows}


def kind_of(path):
    if path.endswith(".md"):
        return None if path in EXEMPT else "documents"
    if re.search(r"_test\.|testing|/test_", path):
        return "tests" if re.search(r"\.(h|cc|inc|c)$", path) else None
    if path.endswith(".h"):
        return "headers"
    return "sources" if re.search(r"\.(cc|inc|c)$", path) else None


def lines_of(path, kind):
    in_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        if kind == "documents":
            if line.lstrip().startswith("```"):
                in_code = not in_code
            elif not in_code:
                yield number, line.strip()
        elif match := COMMENT.search(line):
            yield number, match.group(1)


def folder_of(path):
    parts = path.split("/")[:-1]
    return "/".join(parts[:2]) or "."


def main():
    update = sys.argv[1] == "--update"
    root = pathlib.Path(sys.argv[-1])
    counts, places = {}, {}
    for path in files_of(root):
        kind = kind_of(path)
        if kind is None:
            continue
        key = (folder_of(path), kind)
        for number, text in lines_of(root / path, kind):
            found = sum(len(phrase.findall(text)) for phrase in PHRASES)
            if found:
                counts[key] = counts.get(key, 0) + found
                places.setdefault(key, []).append(f"{path}:{number}: {text}")

    head, budget = read_budget(root / BUDGET)
    if update:
        rows = [f"{folder} {kind} {min(allowed, counts.get((folder, kind), 0))}"
                for (folder, kind), allowed in sorted(budget.items()) if counts.get((folder, kind), 0)]
        (root / BUDGET).write_text("\n".join(head + rows) + "\n")
        return 0

    failed = False
    for key in sorted(set(counts) | set(budget)):
        count, allowed = counts.get(key, 0), budget.get(key, 0)
        if count > allowed:
            failed = True
            print(f"{key[0]}, {key[1]}: {count} phrases that docs/style.md replaces, the budget is {allowed}:")
            print("\n".join("  " + place for place in places[key]))
        elif count < allowed:
            failed = True
            print(f"{key[0]}, {key[1]}: the budget of {allowed} is above the count of {count}: "
                  f"run tools/lint/language.py --update .")
    print(f"{sum(counts.values())} phrases")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
