"""Executes the code blocks of a page in order, in an empty folder.

run_blocks.py PAGE FILE[:NAME]...: each FILE is copied to the folder, as NAME, which may be in a subfolder.

Languages of blocks:
  python         executed; skipped if torch or NumPy, which it imports, is not installed
  bash           executed with the environment that earlier commands left
  text           what the preceding block prints; "…" stands for any characters
  c, cpp, cmake  written to the file that the comment in the first line names
  json           written likewise: the sentence before it ends with the name, as in "`recipe.json`:"
  py             code of other runtimes, not executed
"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile

FILES = {"c", "cpp", "cmake"}
LANGUAGES = FILES | {"python", "bash", "text", "json", "py"}


def split(page):
    """The blocks of a page: language, code, and the text before it."""
    with open(page, encoding="utf-8") as file:
        parts = re.split(r"^```(\w*)\n(.*?)^```$", file.read(), flags=re.M | re.S)
    prose = parts[0::3]
    # Blocks without a language, and indented ones, would be skipped silently.
    assert not re.search(r"^ {4,}\S|^\s*```", "".join(prose), re.M), "an indented block, or one without a language"
    blocks = list(zip(parts[1::3], parts[2::3], prose))
    unknown = {language for language, _, _ in blocks} - LANGUAGES
    assert not unknown, f"blocks of unknown languages: {unknown}"
    return blocks


def file_name(language, code, before):
    """The name of the file that a block is the content of."""
    if language == "json":
        found = re.search(r"`([\w.-]+)`:\s*$", before)
    else:
        found = re.match(r"(?://|/\*|#) ([\w.-]+\.(?:cc|c|txt))\b", code)
    assert found, f"a block without a file name:\n{code}"
    return found.group(1)


def run_bash(code):
    """Returns what the commands print. Keeps their environment."""
    with tempfile.NamedTemporaryFile() as environment:
        command = f"{code}\nenv -0 > {environment.name}"
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", command], stdout=subprocess.PIPE, check=False)
        output = result.stdout.decode()
        print(output, end="")
        assert result.returncode == 0, f"status {result.returncode}:\n{code}"
        for assignment in environment.read().decode().rstrip("\0").split("\0"):
            name, value = assignment.split("=", 1)
            os.environ[name] = value
    return output


def run_python(page, code, names):
    """Returns what the code prints, or None if it needs a package that is not installed."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            exec(compile(code, page, "exec"), names)
    except ImportError as error:
        if error.name not in ("torch", "numpy"):
            raise
        print(f"skipped: {error.name} is not installed, so this block was not run:\n{code}")
        return None
    print(output.getvalue(), end="")
    return output.getvalue()


def check_output(expected, actual):
    pattern = ".*?".join(re.escape(part) for part in expected.strip().split("…"))
    assert re.fullmatch(pattern, actual.strip(), re.S), f"expected:\n{expected}\nactual:\n{actual}"


def use_clang():
    """A bare Debian with Bazel has no cc and c++, only clang."""
    folder = tempfile.mkdtemp()
    for name, compiler in (("cc", "clang-19"), ("c++", "clang++-19")):
        if not shutil.which(name):
            os.symlink(shutil.which(compiler), os.path.join(folder, name))
    os.environ["PATH"] += os.pathsep + folder


def main():
    page, *files = sys.argv[1:]
    blocks = split(page)
    folder = tempfile.mkdtemp()
    for argument in files:
        path, _, name = argument.partition(":")
        target = os.path.join(folder, name or os.path.basename(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(path, target)
    os.chdir(folder)
    use_clang()
    names, output, ran, skipped = {}, None, 0, 0
    for language, code, before in blocks:
        if language == "py":
            continue
        if language == "text":
            assert output is not None or skipped, f"no output precedes:\n{code}"
            if output is not None:
                check_output(code, output)
            continue
        if language in FILES or language == "json":
            with open(file_name(language, code, before), "w", encoding="utf-8") as file:
                file.write(code)
            continue
        if language == "python":
            output = run_python(page, code, names)
        elif os.environ.get("BELAY_PYTHON") and "pip install" in code:
            output = None
            print("skipped: the interpreter has the package already")
        else:
            output = run_bash(code)
        ran, skipped = (ran + 1, skipped) if output is not None else (ran, skipped + 1)
    print(f"{ran} of {ran + skipped} blocks ran")
    assert ran >= 2


if __name__ == "__main__":
    main()
