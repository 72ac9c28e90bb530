#!/usr/bin/env python3
"""Finds faults that no test detects.

    tools/mutants/mutants.py exir/emit runtime/program     # these folders' sources, each with its own tests
    tools/mutants/mutants.py --changed                     # the sources that differ from main
    tools/mutants/mutants.py exir/emit --linking           # survivors again, by all tests that link the file

In a scratch copy, each guard (the condition of an `if`) gets a switch, and so does each fault of faults.txt; all is
built once. Each test runs once without faults, which records the guards that are true; then each mutant runs the tests that
reach it, until one fails. See README.md.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import filecmp
import functools
import json
import math
import os
import pathlib
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import rewrite

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MEMORY = 6 << 30  # a guard less may ask for any amount
SHORTEST = 10  # seconds of a processor that a mutant's test has at least
PATIENCE = 10  # how many times as long it may take: others work on the machine, too
# Without a guard, the following code may dereference a null pointer or read an empty optional. The test must
# end there; an optimizing compiler could keep the guard, or read arbitrary bytes.
ENDING = ("-D_GLIBCXX_ASSERTIONS", "-fno-delete-null-pointer-checks")


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def run(*command, cwd=ROOT):
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def is_product(path):
    """Whether guards of this source are mutated: sources of the project, except tests and their helpers."""
    parts = path.split("/")
    return (
        path.endswith(".cc")
        and not path.endswith(("_test.cc", "_bench.cc"))
        and not any("testing" in p or p == "tests" for p in parts)
        and parts[0] not in ("conformance", "fuzz", "third_party")
    )


def copy_tree(scratch):
    """Copies the checkout to `scratch` (without ignored files)."""
    wanted = set(run("git", "ls-files", "-z", "-co", "--exclude-standard").split("\0")) - {""}
    wanted = {p for p in wanted if (ROOT / p).is_file()}
    for folder, _, files in os.walk(scratch):
        for name in files:
            path = pathlib.Path(folder, name)
            if str(path.relative_to(scratch)) not in wanted:
                path.unlink()
    for name in wanted:
        source, target = ROOT / name, scratch / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or not filecmp.cmp(source, target, shallow=False):
            shutil.copy2(source, target)


def write(path, text):
    if path.read_text() != text:
        path.write_text(text)


def first_number(scratch, path):
    """First mutant number of a source: stable between runs, so that unchanged sources are not rebuilt."""
    numbers = scratch / "numbers.json"
    known = json.loads(numbers.read_text()) if numbers.exists() else []
    if path not in known:
        numbers.write_text(json.dumps([*known, path]))
        known.append(path)
    return 1000 * known.index(path)


@dataclasses.dataclass
class Test:
    label: str
    binary: pathlib.Path
    args: list
    seconds: float = 0.0
    reaches: bytes = b""


class Bazel:
    def __init__(self, scratch, startup, flags):
        self.scratch, self.startup, self.flags = scratch, startup, flags

    def __call__(self, command, *args, quiet=False):
        return subprocess.run(
            [self.scratch / "tools/bazel", *self.startup, command, *args],
            cwd=self.scratch,
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if quiet else None,
        ).stdout

    def tests(self, query):
        """The tests of a query, with their arguments. Tests whose arguments Bazel expands are skipped."""
        tests = []
        binaries = pathlib.Path(self("info", *self.flags, "bazel-bin", quiet=True).strip())
        listed = self("query", "--output=xml", query, quiet=True)
        for rule in xml.etree.ElementTree.fromstring(listed.replace('version="1.1"', 'version="1.0"')).iter("rule"):
            label = rule.get("name")
            args = [s.get("value") for l in rule.findall("list[@name='args']") for s in l.findall("string")]
            if rule.get("class") not in ("cc_test", "sh_test") or any("$(" in a for a in args):
                say(f"not run: {label}, a {rule.get('class')} with arguments {args}")
                continue
            path = label[2:].replace(":", "/")
            tests.append(Test(label, binaries / path, [w for a in args for w in shlex.split(a)]))
        return tests

    def build(self, tests):
        self("build", *self.flags, "--color=no", "--curses=no", *[t.label for t in tests])


def ending(sources):
    """The flag of Bazel that compiles these sources, so that missing guards end the tests."""
    paths = "|".join(p.replace(".", r"\.") for p in sources)
    return f"--per_file_copt=^({paths})$@{','.join(ENDING)}"


def limit(seconds):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# Root may replace a device by a file, and so may a fault: mounting something there prevents it.
GUARD = ["unshare", "--mount", "sh", "-c", 'for d in null full; do mount --bind /dev/$d /dev/$d || exit; done; exec "$@"', "sh"]


@functools.cache
def guard():
    """The command prefix of tests; ends the program if tests can't run."""
    if os.geteuid() != 0:
        return []
    if subprocess.run([*GUARD, "true"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE).returncode == 0:
        return GUARD
    sys.exit("mutants: as root a fault might replace /dev/null, and this system does not let it be guarded; take another user")


def passes(test, seconds, mutant=None, reached=None):
    """Whether the test passes, and its CPU time, which is limited to `seconds`. Runs in its runfiles,
    in a process group that ends with it."""
    runfiles = pathlib.Path(f"{test.binary}.runfiles")
    workspace = next((p for p in runfiles.iterdir() if (p / "tools").exists() or p.name == "belay"), None) if runfiles.exists() else None
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": folder,
            "TEST_TMPDIR": folder,
            "TMPDIR": folder,
            "TEST_SRCDIR": str(runfiles),
            "TEST_WORKSPACE": workspace.name if workspace else "belay",
            "RUNFILES_DIR": str(runfiles),
            "GTEST_FAIL_FAST": "1",
        }
        if mutant is not None:
            environment["BELAY_MUTANT"] = str(mutant)
        if reached is not None:
            environment["BELAY_MUTANTS_REACHED"] = str(reached)
        process = subprocess.Popen(
            [*guard(), test.binary, *test.args],
            cwd=workspace or folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: limit(seconds),
        )
        end = time.monotonic() + PATIENCE * seconds
        late = False
        while True:
            # Its own CPU time, not that of all children: several tests run at once.
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                break
            late = late or time.monotonic() > end
            if late:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        try:
            os.killpg(process.pid, signal.SIGKILL)  # what it left running
        except ProcessLookupError:
            pass
        return process.returncode == 0 and not late, usage.ru_utime + usage.ru_stime


def record(tests, size, jobs):
    """Runs each test without faults; keeps passing ones, with their time and the mutants that they reach."""

    def one(test):
        with tempfile.NamedTemporaryFile(prefix="mutants") as reached:
            reached.truncate(size)
            passed, test.seconds = passes(test, 900, reached=reached.name)
            test.reaches = pathlib.Path(reached.name).read_bytes()
            if not passed:
                say(f"not used, fails as it is: {test.label}")
            return test if passed else None

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        kept = [t for t in pool.map(one, tests) if t]
    return sorted(kept, key=lambda t: t.seconds)


def survivors(mutants, tests, jobs):
    """The mutants that no test reaching them detects."""

    def detects(mutant):
        folder = f"//{folder_of(mutant.path)}:"
        for test in sorted(tests, key=lambda t: (not t.label.startswith(folder), t.seconds)):
            if test.reaches[mutant.number] and not passes(test, max(SHORTEST, 5 * test.seconds), mutant=mutant.number)[0]:
                return True
        return False

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        left = []
        for i, (mutant, detected) in enumerate(zip(mutants, pool.map(detects, mutants))):
            if not detected:
                left.append(mutant)
                say(f"{i + 1} of {len(mutants)}: not detected: {mutant}")
        return left


def folder_of(path):
    return path.rsplit("/", 1)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", nargs="*", help="folders (with those below them) or sources")
    parser.add_argument("--changed", nargs="?", const="main", metavar="REVISION", help="the sources that differ from it")
    parser.add_argument("--tests", nargs="*", help="patterns of Bazel instead of the folders' own tests")
    parser.add_argument("--linking", action="store_true", help="runs survivors again in the tests that link their file")
    parser.add_argument("--only-faults", action="store_true", help="only the list of faults, without guards")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scratch", type=pathlib.Path, default=pathlib.Path.home() / ".cache/belay/mutants")
    parser.add_argument("--startup", default="", help="options of Bazel before its command")
    parser.add_argument("--flags", default="", help="options of Bazel's build")
    parser.add_argument("--json", type=pathlib.Path, help="also writes each mutant and its result")
    options = parser.parse_args()

    tracked = run("git", "ls-files", "-co", "--exclude-standard").split("\n")
    if options.changed:
        base = run("git", "merge-base", options.changed, "HEAD").strip()
        differing = set(run("git", "diff", "--name-only", base).split("\n"))
        sources = [p for p in tracked if p in differing and is_product(p)]
    else:
        where = [w.rstrip("/") for w in options.where]
        sources = [p for p in tracked if is_product(p) and any(p == w or p.startswith(w + "/") for w in where)]
    sources = sorted(p for p in sources if (ROOT / p).exists())
    if not sources:
        parser.error("no sources: name folders, or --changed")

    guard()
    scratch = options.scratch / "tree"
    scratch.mkdir(parents=True, exist_ok=True)
    copy_tree(scratch)
    faults = collections.defaultdict(list)
    for fault in rewrite.read_faults((HERE / "faults.txt").read_text()):
        faults[fault.path].append(fault)
    known = rewrite.read_known((HERE / "equivalent.txt").read_text())

    # A fault may be in a header of a named folder.
    folders = {folder_of(p) for p in sources}
    headers = [p for p in faults if p not in sources and folder_of(p) in folders and not options.changed]
    mutants, skipped = [], 0
    for path in sources + headers:
        text = (ROOT / path).read_text()
        text, made, left = rewrite.rewrite(path, text, faults[path], first_number(options.scratch, path))
        mutants += made
        skipped += left
        write(scratch / path, text)
    if options.only_faults:
        mutants = [m for m in mutants if m.kind == "fault"]
    size = 1 + max((m.number for m in mutants), default=0)
    harmful = [m for m in mutants if rewrite.find_known(known, m, "harmful")]
    mutants = [m for m in mutants if m not in harmful]
    skipped += len(harmful)
    say(f"{len(sources)} sources, {len(mutants)} mutants; skipped: {skipped} conditions")

    bazel = Bazel(scratch, [f"--output_base={options.scratch / 'base'}", *shlex.split(options.startup)], ["--symlink_prefix=/", ending(sources), *shlex.split(options.flags)])
    patterns = options.tests or sorted({f"//{f}:all" for f in folders if any((ROOT / f).glob("BUILD.bazel"))})
    tests = bazel.tests(" + ".join(f"tests({p})" for p in patterns))
    bazel.build(tests)
    tests = record(tests, size, options.jobs)
    say(f"{len(tests)} tests, {sum(t.seconds for t in tests):.0f} s")

    reached = [m for m in mutants if any(t.reaches[m.number] for t in tests)]
    never = [m for m in mutants if m not in reached]
    left = survivors(reached, tests, options.jobs)

    if options.linking and (left or never):
        files = sorted({m.path for m in left + never})
        names = " + ".join(f"//{folder_of(p)}:{p.rsplit('/', 1)[1]}" for p in files)
        more = [t for t in bazel.tests(f"tests(rdeps(//..., {names}))") if t.label not in {u.label for u in tests}]
        say(f"{len(more)} more tests link {len(files)} files")
        bazel.build(more)
        more = record(more, size, options.jobs)
        found = [m for m in never if any(t.reaches[m.number] for t in more)]
        reached += found
        never = [m for m in never if m not in found]
        left = survivors(left + found, more, options.jobs)

    report(mutants, reached, left, never, known)
    for row in known:
        if row.path in sources and not row.used:
            print(f"equivalent.txt:{row.line}: no longer needed: {row.path} | {row.text}")
    if options.json:
        fates = {id(m): "detected" for m in mutants} | {id(m): "not detected" for m in left} | {id(m): "never reached" for m in never}
        options.json.write_text(json.dumps([dataclasses.asdict(m) | {"fate": fates[id(m)]} for m in mutants], indent=1, ensure_ascii=False))


def report(mutants, reached, left, never, known):
    equivalent = [m for m in left if rewrite.find_known(known, m, "equivalent")]
    unreached = [m for m in never if rewrite.find_known(known, m, "unreached")]
    for title, some, fine in (("Never reached", never, unreached), ("Not detected", left, equivalent)):
        some = [m for m in some if m not in fine]
        if some:
            print(f"{title}:")
            for mutant in some:
                print(f"  {mutant.kind} {mutant}")
    row = "{:<28}{:>8}{:>8}{:>9}{:>12}{:>8}"
    print(row.format("folder", "mutants", "reached", "detected", "equivalent", "ratio"))
    by_folder = collections.defaultdict(list)
    for mutant in mutants:
        by_folder[folder_of(mutant.path)].append(mutant)
    for folder, some in sorted(by_folder.items()):
        n_reached = sum(m in reached for m in some)
        n_left = sum(m in left for m in some)
        n_same = sum(m in equivalent for m in some)
        real = n_reached - n_same
        ratio = f"{100 * (n_reached - n_left) / real:.1f} %" if real else "–"
        print(row.format(folder, len(some), n_reached, n_reached - n_left, n_same, ratio))


if __name__ == "__main__":
    try:
        main()
    except rewrite.Stale as stale:
        sys.exit(f"mutants.py: {stale}")
