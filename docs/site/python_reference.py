#!/usr/bin/python3
"""Writes the reference of the Python package from its docstrings. python_reference.py OUTPUT FILE...

FILEs are the modules; `__all__` of __init__.py has the names. Importing the package would need its library.
"""

import ast
import inspect
import os
import re
import sys

_SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Yields")


def escape(text):
    """Text of a docstring as Markdown: stars and angle brackets are literal outside of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<])", r"\\\1", part) for part in parts)


def render(docstring):
    """Paragraphs, and sections as lists."""
    lines = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(docstring)):
        prose = []
        for line in paragraph.split("\n"):
            if line.rstrip(":") in _SECTIONS and line.endswith(":"):
                lines += [escape(" ".join(prose)), "", f"**{line[:-1]}**", ""]
                prose = []
            elif re.match(r"  \S", line):
                found = re.match(r"  ([\w, ]+): (.*)", line)
                lines.append(f"- `{found[1]}`: {escape(found[2])}" if found else f"- {escape(line.strip())}")
            elif line.startswith("   "):
                lines[-1] += " " + escape(line.strip())
            else:
                if lines and lines[-1].startswith("- "):
                    lines.append("")
                prose.append(line)
        if prose:
            lines += [escape(" ".join(prose)), ""]
    return lines + [""]


def signature(function, name, is_method):
    arguments = function.args
    if is_method:
        arguments.args = arguments.args[1:]
    result = f" -> {ast.unparse(function.returns)}" if function.returns is not None else ""
    return f"{name}({ast.unparse(arguments)}){result}"


def describe_function(function, name, level, is_method=False):
    docstring = ast.get_docstring(function)
    if docstring is None:
        return []
    is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in function.decorator_list)
    shown = name if is_property else signature(function, name, is_method)
    return [f"{'#' * level} {name}", "", "```python", shown, "```", "", *render(docstring)]


def describe_class(node):
    lines = [f"## {node.name}", "", *render(ast.get_docstring(node) or "")]
    for member in node.body:
        if not isinstance(member, ast.FunctionDef):
            continue
        if member.name == "__call__":
            lines += describe_function(member, node.name.lower(), 3, is_method=True)
        elif not member.name.startswith("_"):
            lines += describe_function(member, f"{node.name}.{member.name}", 3, is_method=True)
    return lines


def main():
    output, *files = sys.argv[1:]
    found, names = {}, []
    for path in files:
        if not path.endswith(".py"):
            continue
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.setdefault(node.name, node)
            elif isinstance(node, ast.Assign) and os.path.basename(path) == "__init__.py" and node.targets[0].id == "__all__":
                names = [name for name in ast.literal_eval(node.value) if not name.startswith("_")]
    lines = ["# Python reference", "", "The docstrings of the package `belay`. The guide is [Python](../python.md).", ""]
    for name in sorted(names, key=lambda name: (name[0].isupper(), name)):
        node = found[name]
        lines += describe_class(node) if isinstance(node, ast.ClassDef) else describe_function(node, name, 2)
    with open(output, "w", encoding="utf-8") as file:
        file.write(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)))


if __name__ == "__main__":
    main()
