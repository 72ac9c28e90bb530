#!/usr/bin/env python3
"""Test coverage of the product code: lines, branches and conditions (MC/DC), by clang's source-based coverage.

    tools/coverage/coverage.py                                     # all tests: 20 minutes and more
    tools/coverage/coverage.py //runtime/program/... //exir/ir/... --of runtime/program exir/ir
    tools/coverage/coverage.py //exir/emit/... --open exir/emit/view_proof.cc   # uncovered branch sides
    tools/coverage/coverage.py --fuzz                              # the corpora of fuzz/ and its broken files

Prints a row per folder and, with --open, the open sides of these sources. See README.md.
"""

import argparse
import bisect
import collections
import dataclasses
import glob
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPILING = [
    "-fprofile-instr-generate",
    "-fcoverage-mapping",
    "-fcoverage-mcdc",
    "-fcoverage-compilation-dir=/proc/self/cwd",
    # Warnings about conditions that are too long for MC/DC are not errors here.
    "-Wno-error",
]
FLAGS = [
    "--linkopt=-fprofile-instr-generate",
    "--experimental_convenience_symlinks=ignore",
    "--color=no",
    "--curses=no",
]
# Readers of files and strings, and the program loader.
OF_FUZZ = [
    "runtime/program",
    "runtime/executor/method",
    "runtime/executor/slot_table",
    "runtime/core/npy",
    "exir/import",
    "exir/ir/text_lexer",
    "exir/ir/text_parser",
    "exir/ir/text_graph_parser",
    "exir/ir/text_value_parser",
    "exir/op_definition/schema",
    "exir/symbolic/sym_",
]
# More inputs of a fuzz target than its corpus.
MORE_INPUTS = {
    "program_file": ["fuzz/negative/corpus/*.belay"],
    "pt2_zip": ["exir/import/testdata/*.pt2", "fuzz/negative/corpus/*.pt2", "conformance/models/zoo/*/model.pt2"],
    "torch_save": ["fuzz/negative/corpus/*.pt"],
    "npy": ["fuzz/negative/corpus/*.npy"],
    "text_form": ["fuzz/negative/corpus/*.txt"],
}
LARGEST_INPUT = 64 << 10
CHECKS = ("ABSL_CHECK(", "ABSL_DCHECK(")


def is_product(path):
    """Whether a source counts: the project's own, except tests, their helpers, and tables (.inc)."""
    parts = path.split("/")
    return (
        parts[0] in ("runtime", "exir", "backends", "bindings", "executorch", "tools")
        and not path.endswith(("_test.cc", "_test.c", "_bench.cc", ".pb.h", ".pb.cc", ".inc"))
        and not any("testing" in p for p in parts)
        and not parts[-1].startswith(("test_", "malloc_may_fail", "kernel_comparison", "guarded_array"))
        and path != "runtime/core/status_macros.h"  # macros count where they are used
    )


@dataclasses.dataclass
class Share:
    covered: int = 0
    count: int = 0

    def add(self, covered, count):
        self.covered += covered
        self.count += count

    def __str__(self):
        return f"{100 * self.covered / self.count:.1f}" if self.count else "–"


KINDS = ("lines", "branches", "mcdc")


def relative(filename):
    return filename.removeprefix("/proc/self/cwd/")


class Source:
    """Coverage of one source: each position once, for all instances of a template."""

    def __init__(self, exported, text=""):
        lines = text.split("\n")
        self.segments = [tuple(s[:4]) for s in exported["segments"]]  # in order; line, column, count, whether it counts
        self.lines = (exported["summary"]["lines"]["covered"], exported["summary"]["lines"]["count"])
        taken = collections.defaultdict(lambda: [0, 0])
        for line, column, _, _, true, false, *_ in exported["branches"]:
            taken[line, column][0] += true
            taken[line, column][1] += false
        for expansion in exported["expansions"]:  # a macro counts where it is used
            for inside_line, inside_column, _, _, true, false, *_ in expansion["branches"]:
                place = (*expansion["source_region"][:2], inside_line, inside_column)
                # The failing side of a check ends the process, which leaves no profile.
                if not "".join(lines[place[0] - 1 : place[0]])[place[1] - 1 :].startswith(CHECKS):
                    taken[place][0] += true
                    taken[place][1] += false
        # By place; in a macro, where it is used and where in it.
        self.branches = {p: t for p, t in sorted(taken.items()) if any(t) or not self.comes_to(*p[:2])}
        # By place: of each condition, whether it decides in an instance; None where its value is known beforehand.
        self.decisions = {}
        for line, column, end_line, end_column, *_, conditions in exported["mcdc_records"]:
            known = self.decisions.setdefault((line, column), [False] * len(conditions))
            for i, condition in enumerate(conditions[: len(known)]):
                known[i] = known[i] or bool(condition)
            parts = [p for p in sorted(taken) if (line, column) <= p < (end_line, end_column) and len(p) == 2]
            if len(parts) == len(known):
                known[:] = [c if p in self.branches else None for p, c in zip(parts, known)]

    def comes_to(self, line, column):
        """Whether a test executes this position: a branch there without counts is decided when it is compiled."""
        at = bisect.bisect_right(self.segments, (line, column, float("inf"))) - 1
        return at >= 0 and self.segments[at][3] and self.segments[at][2] > 0

    def share(self, kind):
        """Total and covered numbers."""
        if kind == "lines":
            return self.lines
        if kind == "branches":
            return sum(bool(side) for sides in self.branches.values() for side in sides), 2 * len(self.branches)
        conditions = [c for decision in self.decisions.values() for c in decision if c is not None]
        return sum(conditions), len(conditions)

    def open_sides(self):
        """(line, column, what) of branches with an uncovered side, and of conditions that never decided."""
        sides = []
        for place, (true, false) in self.branches.items():
            what = "in its macro, " if len(place) > 2 else ""
            if not true and not false:
                sides.append((*place[:2], what + "never comes here"))
            elif not true or not false:
                sides.append((*place[:2], what + f"never {'true' if not true else 'false'}"))
        for (line, column), conditions in self.decisions.items():
            missing = [str(i + 1) for i, condition in enumerate(conditions) if condition is False]
            if missing:
                sides.append((line, column, f"condition {', '.join(missing)} of {len(conditions)} never decides"))
        return sorted(sides)


def sources(export, prefixes, root=ROOT):
    """The product's sources below one of the prefixes, by path, relative to `root`."""
    found = {}
    for exported in export["data"][0]["files"]:
        path = relative(exported["filename"])
        if is_product(path) and any(path.startswith(p) for p in prefixes):
            found[path] = Source(exported, (root / path).read_text() if (root / path).exists() else "")
    return found


def shares(found, key):
    """`key` of each source → the shares of lines, branches and conditions."""
    table = collections.defaultdict(lambda: {kind: Share() for kind in KINDS})
    for path, source in found.items():
        for name in {key(path), "all"}:
            for kind in KINDS:
                table[name][kind].add(*source.share(kind))
    return table


def print_table(table, what):
    print(f"| {what} | lines | branches | MC/DC |\n| --- | --- | --- | --- |")
    for name in sorted(table, key=lambda n: (n != "all", n)):
        lines = table[name]["lines"].count
        print(f"| {name}{f' ({lines:,} lines)' if name == 'all' else ''} | " + " | ".join(str(table[name][k]) for k in KINDS) + " |")


def compiling(prefixes):
    """Bazel's flags that instrument all sources, or those below the prefixes, compatible with objects of an ordinary build."""
    if prefixes is None:
        return [f"--copt={option}" for option in COMPILING] + ["--define=highway_targets=avx2"]
    paths = "|".join(p.replace(".", r"\.") for p in prefixes)
    return [f"--per_file_copt=^({paths}),-_test\\.cc$@{','.join(COMPILING)}"]


class Bazel:
    def __init__(self, startup, flags):
        self.startup, self.flags = startup, flags

    def __call__(self, command, *args, check=True, output=False):
        return subprocess.run(
            [ROOT / "tools/bazel", *self.startup, command, *args],
            cwd=ROOT,
            check=check,
            text=True,
            stdout=subprocess.PIPE if output else sys.stderr,
            stderr=subprocess.DEVNULL if output else None,
        ).stdout

    def query(self, expression):
        return self("query", expression, output=True).split()

    def binaries(self, labels):
        folder = pathlib.Path(self("info", *self.flags, "bazel-bin", output=True).strip())
        return [path for l in labels if (path := folder / l[2:].replace(":", "/")).exists()]


def run_tests(bazel, patterns, profiles):
    """Runs the tests as `bazel test` does, which leaves a profile per process; returns the instrumented binaries."""
    bazel(
        "test",
        *bazel.flags,
        "--nocache_test_results",
        "--keep_going",
        # In sandboxes, several tests have the same process id, which identifies profiles.
        "--strategy=TestRunner=local",
        f"--test_env=LLVM_PROFILE_FILE={profiles}/%m_%p.profraw",
        *patterns,
        check=False,  # tests of size and of time may fail; the profiles are there
    )
    tests = " + ".join(f"tests({p})" for p in patterns)
    # Packages of this workspace; //... would follow Bazel's symlinks in it.
    return bazel.binaries(l for l in bazel.query(f'kind("cc_(test|binary) rule", deps({tests}))') if l.startswith("//"))


def run_corpora(bazel, targets, more, profiles):
    """Runs the replay tests of fuzz targets on all inputs; returns them."""
    tests = [f"//fuzz/targets:{t}_replay_test" for t in targets] or bazel.query("kind(cc_test, //fuzz/targets:all)")
    names = [t.rsplit(":", 1)[1].removesuffix("_replay_test") for t in tests]
    bazel("build", *bazel.flags, "--copt=-O0", *tests, *[f"//fuzz/targets:{n}_facts" for n in names])
    binaries = bazel.binaries(tests)
    for name, binary in zip(names, binaries):
        facts = binary.with_name(f"{name}.facts")
        corpus = facts.read_text().split()[1] if facts.exists() else name
        inputs = [f"fuzz/corpus/{corpus}"]
        for pattern in MORE_INPUTS.get(name, []):
            inputs += [p for p in glob.glob(pattern, root_dir=ROOT) if (ROOT / p).stat().st_size < LARGEST_INPUT]
        if more and (more / name).is_dir():
            inputs.append(str(more / name))
        environment = os.environ | {"LLVM_PROFILE_FILE": f"{profiles}/{name}.profraw"}
        if subprocess.run([binary, *inputs], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL).returncode:
            print(f"coverage.py: {name} failed", file=sys.stderr)
    return binaries


def export(binaries, profiles):
    """llvm-cov's export of all binaries together."""
    found = [str(p) for p in pathlib.Path(profiles).glob("*.profraw")]
    if not found:
        sys.exit("coverage.py: no test left a profile")
    merged = f"{profiles}/merged.profdata"
    listed = pathlib.Path(profiles, "list")
    listed.write_text("\n".join(found))
    # Killed processes leave damaged profiles, which are skipped.
    subprocess.run(["llvm-profdata-19", "merge", "-sparse", "--failure-mode=all", f"--input-files={listed}", "-o", merged], check=True)
    objects = [str(binaries[0])] + [part for b in binaries[1:] for part in ("-object", str(b))]
    command = ["llvm-cov-19", "export", "-skip-functions", f"-instr-profile={merged}", *objects]
    text = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(text)


def folder_of(path):
    return path.rsplit("/", 1)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=[], help="tests, as Bazel names them; default: //...")
    parser.add_argument("--of", nargs="+", default=None, metavar="PREFIX", help="sources that count; all of the product")
    parser.add_argument("--open", nargs="+", default=[], metavar="PREFIX", help="sources whose uncovered sides are printed")
    parser.add_argument("--lean", action="store_true", help="only the sources of --of are compiled for it, with all instruction sets")
    parser.add_argument("--files", action="store_true", help="also one row per source")
    parser.add_argument("--fuzz", action="store_true", help="the corpora and the broken files instead of tests")
    parser.add_argument("--targets", nargs="+", default=[], help="with --fuzz: these targets")
    parser.add_argument("--corpus", type=pathlib.Path, help="with --fuzz: a folder with more inputs, one subfolder per target")
    parser.add_argument("--startup", default="", help="options of Bazel before its command, as --output_base=…")
    parser.add_argument("--flags", default="", help="options of Bazel's build")
    options = parser.parse_args()
    if options.lean and not options.of:
        parser.error("--lean: name sources by --of")

    flags = FLAGS + compiling(options.of if options.lean else None)
    bazel = Bazel(shlex.split(options.startup), flags + shlex.split(options.flags))
    with tempfile.TemporaryDirectory(prefix="coverage") as profiles:
        if options.fuzz:
            binaries = run_corpora(bazel, options.targets, options.corpus, profiles)
        else:
            binaries = run_tests(bazel, options.patterns or ["//..."], profiles)
        result = export(binaries, profiles)
    found = sources(result, options.of or (OF_FUZZ if options.fuzz else [""]))
    print_table(shares(found, folder_of), "folder")
    if options.files:
        print()
        print_table(shares(found, lambda path: path), "source")
    for path, source in sources(result, options.open).items():
        for line, column, what in source.open_sides():
            print(f"{path}:{line}:{column}: {what}")


if __name__ == "__main__":
    main()
