#!/usr/bin/env python3
"""Times single operators in Belay, PyTorch's eager mode, ONNX Runtime and OpenVINO, one thread.

    tools/bench/operators.py --belay bazel-bin/tools/belay/belay --data DIR [--match REGEX]
    tools/bench/operators.py --census 3 --peers ort,openvino --limits bazel-bin/tools/bench/limits --output docs/benchmarks ...

The cases are those of operator_cases.py; with --census, calls of census.tsv. Needs a Python with torch, and with the peers.
Each case is a program of its own: exported once into DIR, lowered by this `belay` and compared with eager's result. Then all are
timed in turns, in --rounds rounds; ratios are medians over rounds. Prints the cases by falling ratio to the best of the others.
--prepare only writes what is missing in DIR. The measured run should be under `chrt -f 50 taskset -c 0` on a machine with other work.
"""

import argparse
import importlib.metadata
import itertools
import json
import logging
import os
import pathlib
import re
import statistics
import subprocess
import sys
import warnings

import bench
import census
import figures
import measures
import operator_cases
import peers

OPENERS = {"ort": peers.open_ort, "openvino": peers.open_openvino}  # of ONNX files


class Unmeasured(Exception):
    """A case that fails, or whose result is wrong; str() is the reason."""


def built_in_cases(torch):
    """{name: function that returns a module and its inputs}"""
    import wild_networks

    def maker(function, shapes):
        module = function if isinstance(function, torch.nn.Module) else wild_networks.Apply(function)
        return lambda: (module.eval(), [s() if callable(s) else torch.randn(*s) for s in shapes])

    return {name: maker(*case) for name, case in operator_cases.cases(torch).items()}


def census_cases(torch, per_kind):
    rows = census.selected(census.read(), per_kind)
    return {census.title(row, i): (lambda row=row: census.case(torch, row)) for i, row in enumerate(rows)}


def first_tensor(result):
    while isinstance(result, (tuple, list)):
        result = result[0]
    return result


def check(numpy, found, expected):
    """Raises Unmeasured unless the results agree. Returns the largest difference, relative to the largest value."""
    found, expected = found.astype("f8"), expected.astype("f8")
    if found.shape != expected.shape:
        raise Unmeasured(f"expected the shape {expected.shape}, got {found.shape}")
    if not numpy.array_equal(numpy.isfinite(found), numpy.isfinite(expected)):
        raise Unmeasured("NaN or infinities at other places than in eager")
    finite = numpy.isfinite(expected)
    largest = max(1e-9, numpy.abs(expected[finite]).max(initial=0))
    error = float(numpy.abs(found - expected)[finite].max(initial=0) / largest)
    if not error < 1e-3:
        raise Unmeasured(f"differs by {error:.1e} of the largest value")
    return error


class Case:
    """Files of a case in the folder of data, and its runners."""

    def __init__(self, torch, numpy, name, make, options):
        self.torch, self.numpy, self.name, self.options = torch, numpy, name, options
        self.base = str(options.data / re.sub(r"\W", "_", name))
        self.archive, self.program = pathlib.Path(self.base + ".pt2"), self.base + ".belay"
        torch.manual_seed(0)
        # An archive of an earlier run may have other random weights: eager's time is that of `timed`, without the guards of an
        # exported module, and its results are those of the archive.
        self.timed, inputs = make()
        if not self.archive.exists():
            with torch.no_grad():
                torch.export.save(torch.export.export(self.timed, tuple(inputs)), self.archive)
            for i, value in enumerate(inputs):
                numpy.save(f"{self.base}.{i}.npy", value.numpy())
        files = list(itertools.takewhile(os.path.exists, (f"{self.base}.{i}.npy" for i in itertools.count())))
        self.input_options = [part for path in files for part in ("--input", path)]
        self.inputs = [torch.from_numpy(numpy.load(path)) for path in files]
        self.exported = torch.export.load(self.archive)
        self.module = self.exported.module()

    def run(self, *command):
        done = subprocess.run([self.options.belay, *map(str, command)], capture_output=True, text=True)
        if done.returncode:
            raise Unmeasured(done.stderr[-200:])
        return done.stdout

    def prepare(self):
        """Lowers the archive, checks results, and writes files of peers."""
        self.run("lower", self.archive, "-o", self.program, "--report", self.base + ".json", *self.options.lower)
        with self.torch.no_grad():
            result = first_tensor(self.module(*self.inputs))
        self.expected = result.numpy()
        self.run("run", self.program, *self.input_options, "--output-dir", self.base + ".out")
        found = self.numpy.load(min(pathlib.Path(self.base + ".out").glob("*.npy")))
        self.error = check(self.numpy, found, self.expected)
        self.bytes = sum(x.numel() * x.element_size() for x in [*self.inputs, *self.exported.state_dict.values(), result])
        onnx = pathlib.Path(self.base + ".onnx")
        if self.options.peers and not onnx.exists():
            try:
                self.torch.onnx.export(self.exported, dynamo=True, verbose=False).save(str(onnx), external_data=False)
            except Exception:  # the exporter lacks operators
                onnx.touch()  # empty: no peer can open it

    def eager(self):
        with self.torch.inference_mode():
            self.timed(*self.inputs)

    def callers(self):
        """{runner: function of one call}, without Belay. A peer that fails, or whose result differs, is left out. After prepare()."""
        found = {"eager": self.eager}
        arrays = [x.numpy() for x in self.inputs]
        for peer in self.options.peers:
            try:
                _, call, outputs = OPENERS[peer](pathlib.Path(self.base + ".onnx"), arrays, 1)
                call()
                check(self.numpy, self.numpy.asarray(outputs()[0]), self.expected)
                found[peer] = call
            except Exception:  # of the peer, or Unmeasured
                continue
        return found

    def measure(self):
        """{name, error, flops, bytes, rounds: {runner: milliseconds}}. After prepare()."""
        callers = self.callers()
        rounds = {runner: [] for runner in ["belay", *callers]}
        for _ in range(self.options.rounds):
            result = json.loads(self.run("bench", self.program, "--seconds", self.options.seconds, "--json", *self.input_options))
            rounds["belay"].append(result["latency_ms_median"])
            for runner, call in callers.items():
                _, times = peers.time_calls(call, self.options.seconds / 5, self.options.seconds)
                rounds[runner].append(times[len(times) // 2])
        report = json.loads(pathlib.Path(self.base + ".json").read_text(encoding="utf-8"))
        flops = sum(row["flops"] for row in report["delegation"] + report["left_over"])
        return {"name": self.name, "error": self.error, "flops": flops, "bytes": self.bytes, "rounds": rounds}


def summarized(row, limits):
    """The row with medians, the best of the others, the ratio to it, and the share of the roof in percent, if known."""
    medians = {runner: statistics.median(times) for runner, times in row["rounds"].items()}
    best = min((runner for runner in medians if runner != "belay"), key=medians.get)
    ratio = statistics.median(a / b for a, b in zip(row["rounds"]["belay"], row["rounds"][best]))
    work = {"operations": row["flops"], "peak": "f32_fma_gflops", "constant_bytes": row["bytes"], "from_memory": False}
    least = measures.least_microseconds(work, limits) if limits else None
    roof = None if least is None else 100 * least / (medians["belay"] * 1e3)
    return {**row, "ms": medians, "best": best, "ratio": ratio, "roof_percent": roof}


def print_rows(rows, problems):
    for row in rows:
        times = "  ".join(f"{runner} {ms:.4f}" for runner, ms in row["ms"].items())
        roof = "" if row["roof_percent"] is None else f"  roof {row['roof_percent']:.0f} %"
        print(f"{row['name']:44s} {times} ms  ratio {row['ratio']:.2f}{roof}  error {row['error']:.0e}")
    for name, reason in problems.items():
        print(f"{name:44s} {reason}")
    if rows:
        mean = statistics.geometric_mean(row["ratio"] for row in rows)
        slower = [row for row in rows if row["ratio"] > 1]
        beyond = sum(row["ms"]["belay"] - row["ms"][row["best"]] > 0.003 for row in slower)
        print(f"{len(rows)} cases, {len(slower)} slower than the best, {beyond} of them by more than 3 µs, geometric mean {mean:.2f}")


def result_of(rows, options, machine, versions):
    """A result as of bench.py, for figures.add, without limits, which may be of an earlier run."""
    protocol = {"rounds": options.rounds, "warm_up": options.seconds / 5, "seconds": options.seconds, "threads": [1], "build": options.build}
    return {"machine": machine, "versions": versions, "protocol": protocol, "lowering": [], "cases": [], "operators": rows}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--belay", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--census", type=int, default=0, metavar="N", help="at most N calls of each kind of census.tsv in place of operator_cases.py")
    parser.add_argument("--match", default=".", help="a regular expression of names")
    parser.add_argument("--peers", default="", help="comma separated, of " + ", ".join(OPENERS))
    parser.add_argument("--prepare", action="store_true", help="writes the files of DIR, measures nothing")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.15, help="of each measurement")
    parser.add_argument("--lower", default=[], type=str.split, help="options of `belay lower`, e.g. '--backend none'")
    parser.add_argument("--limits", help="//tools/bench:limits, or its saved output (.json): for shares of the roof")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, help="folder of pages and data/, to which the run is added")
    parser.add_argument("--cpu", default="", help="short name of the CPU in the pages")
    parser.add_argument("--build", default="optimized", help="for the table of runs")
    parser.add_argument("--note", default="", help="text in the table of runs")
    options = parser.parse_args(arguments)
    options.peers = [peer for peer in options.peers.split(",") if peer]
    if unknown := [peer for peer in options.peers if peer not in OPENERS]:
        parser.error(f"expected peers of {', '.join(OPENERS)}, got {', '.join(unknown)}")
    return options


def read_limits(path):
    if path is None:
        return None
    return json.loads(pathlib.Path(path).read_text() if path.endswith(".json") else subprocess.run([path], capture_output=True, text=True, check=True).stdout)


def main(arguments):
    options = parse(arguments)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import numpy
    import torch

    torch.set_num_threads(1)
    options.data.mkdir(parents=True, exist_ok=True)
    limits = read_limits(options.limits)
    machine = bench.machine(os.sched_getparam(0).sched_priority)
    cases = census_cases(torch, options.census) if options.census else built_in_cases(torch)
    rows, problems = [], {}
    for name, make in cases.items():
        if not re.search(options.match, name):
            continue
        try:
            case = Case(torch, numpy, name, make, options)
            case.prepare()
            if not options.prepare:
                rows.append(summarized(case.measure(), limits))
        except Exception as error:  # of the exporter or of eager, or Unmeasured
            problems[name] = str(error)[:200] if isinstance(error, Unmeasured) else f"{type(error).__name__}: {str(error)[:150]}"
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    rows.sort(key=lambda row: -row["ratio"])
    print_rows(rows, problems)
    if options.json:
        figures.write(options.json, json.dumps({"rows": rows, "problems": problems}, indent=1) + "\n")
    if options.output:
        installed = {peer: importlib.metadata.version(peers.PACKAGES[peer]) for peer in options.peers}
        versions = {"belay": bench.commit(), **{peer: f"{peers.PACKAGES[peer]} {version}" for peer, version in installed.items()}}
        machine["load"][1] = f"{os.getloadavg()[0]:.1f}"
        bench.add_run(options.output, result_of(rows, options, machine, versions), options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
