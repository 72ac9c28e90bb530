#!/usr/bin/env python3
"""Benchmarks Belay and other runtimes, and adds a run to the data files and pages of a folder. README.md describes the method.

  tools/bench/bench.py --data DIR --peers-python VENV/bin/python --output docs/benchmarks --json RESULTS

Standard library only. Without --peers-python, only Belay is measured, on existing models of --data.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import resource
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import figures
import measures
import pages
import wild_models

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Model:
    title: str
    folder: str  # of DIR
    suffix: str = ""  # of the archive and its golden outputs: a quantized model of the folder, as export_models.py has it
    tolerance: float = 1e-3  # measures.relative_error of a right output
    instructions: int = 0  # where a call is nothing but overhead
    without: tuple = ()  # peers that do not come to an end
    precision: str = ""  # compile spec with which the archive of float32 is lowered; peers and golden outputs are the suffix's

    @property
    def name(self):
        return self.folder + self.suffix + ("_precision" if self.precision else "")

    @property
    def archive_suffix(self):
        return "" if self.precision else self.suffix

    @property
    def lower_options(self):
        return [f"--compile-spec=cpu:precision={self.precision}"] if self.precision else []


# Quantized models: peers choose their own scales and rounding. Random weights amplify the difference.
_QUANTIZED = 0.3
# Rounding differences of another summation order accumulate over the layers.
_ROUNDED = 0.2
# OpenVINO computes the model of float32 in bfloat16; the others can't do that.
_OTHER_BFLOAT16 = ("et_xnn", "ort")
# Peers can't import archives with torchao's weight-only quantization; these rows are compared with float32.
_OTHER_WEIGHTS = ("et_xnn", "ort", "openvino")
MODELS = [
    Model("MobileNetV2", "mobilenet_v2"),
    Model("ResNet-50", "resnet50"),
    Model("ViT-B/16", "vit_b16"),
    Model("BERT-base, 128 tokens", "bert_base_128"),
    Model("Llama-110M, one token", "llama110m_decode"),
    Model("Llama-110M, one token, weights of 8 bits", "llama110m_decode", "_w8", without=_OTHER_WEIGHTS),
    Model("Llama-110M, one token, weights of 4 bits", "llama110m_decode", "_w4", without=_OTHER_WEIGHTS),
    Model("ResNet-50, bfloat16", "resnet50", "_bf16", _ROUNDED, without=_OTHER_BFLOAT16),
    Model("ViT-B/16, bfloat16", "vit_b16", "_bf16", _ROUNDED, without=_OTHER_BFLOAT16),
    Model("Llama-110M, one token, bfloat16", "llama110m_decode", "_bf16", _ROUNDED, without=_OTHER_BFLOAT16),
    Model("ResNet-50, precision=bfloat16", "resnet50", "_bf16", _ROUNDED, without=_OTHER_BFLOAT16, precision="bfloat16"),
    Model("ResNet-50, precision=winograd", "resnet50", precision="winograd"),
    Model("ViT-B/16, precision=bfloat16", "vit_b16", "_bf16", _ROUNDED, without=_OTHER_BFLOAT16, precision="bfloat16"),
    Model("Llama-110M, one token, precision=bfloat16", "llama110m_decode", "_bf16", _ROUNDED, without=_OTHER_BFLOAT16, precision="bfloat16"),
    Model("8 depthwise 3×3, 144 channels, 56×56", "dw3x3_c144_56"),
    Model("GEMM 1024×1024×1024", "gemm1024"),
    Model("1,000 additions of one element", "chain1000", instructions=1000, without=("openvino",)),
    Model("MobileNetV2, static int8", "mobilenet_v2", "_q8", _QUANTIZED),
    Model("ResNet-50, static int8", "resnet50", "_q8", _QUANTIZED),
]
WILD_MODELS = [Model(name, name) for name in wild_models.NAMES]
# Belay's runners, and their lowering options: the second delegates to backends/xnnpack.
OURS = {"belay": [], "belay_xnnpack": ["--backend", "xnnpack,cpu"]}
# Compared with ExecuTorch's own lowering: the same kind of file, with delegates for its library.
PTE = ["--format=pte", "--backend=xnnpack", "--compile-spec=xnnpack:target=executorch-1.5"]
PEERS = list(figures.PEERS)
PEER_FILES = {"et_xnn": "et_xnn{}.pte", "ort": "model{}.onnx", "openvino": "model{}.xml"}


class Failed(Exception):
    """A failed process; str() is the reason."""


def log(text):
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


def busy_seconds():
    """The CPU time that all processes of the machine have used."""
    with open("/proc/stat") as file:
        user, nice, system, _idle, _wait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def child_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cpu_name():
    """CPU name with family and model; the architecture if unknown."""
    facts = {}
    with open("/proc/cpuinfo") as file:
        for line in file:
            key, _, value = line.partition(":")
            facts.setdefault(key.strip(), value.strip())
    if "model name" not in facts:
        return platform.machine()
    return f"{facts['model name']} (family {facts.get('cpu family', '–')}, model {facts.get('model', '–')})"


def machine(real_time):
    """The machine, before a run with this real-time priority (0: none)."""
    return {
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "date": datetime.date.today().isoformat(),
        "load": [f"{os.getloadavg()[0]:.1f}", "–"],
        "priority": f"real time (`chrt -f {real_time}`)" if real_time else "as usual",
        "limits": None,
    }


def commit():
    """Version of this file's checkout; not of --belay, which does not record its version."""
    try:
        done = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def package_version(name):
    try:
        done = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", name], capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


class Bench:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.data = pathlib.Path(options.data).resolve()
        self.peers = [p for p in options.peers.split(",") if p] if options.peers_python else []
        self.ours = list(OURS) if options.xnnpack else ["belay"]

    # ---- processes ----

    def start(self, command, cpus=None):
        if self.options.real_time and cpus:
            command = ["chrt", "-f", str(self.options.real_time)] + command
        pin = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
        threads = str(len(cpus)) if cpus else str(os.cpu_count())
        environment = dict(os.environ, OMP_NUM_THREADS=threads, HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
        # To files: an unread pipe would fill up.
        out, error = tempfile.TemporaryFile("w+", dir=self.work), tempfile.TemporaryFile("w+", dir=self.work)
        process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=error, env=environment, preexec_fn=pin)
        process.files = out, error
        return process

    def has_ended(self, process):
        """Waits for the process without polling; False on timeout. Popen.wait(timeout) wakes up every 50 ms, which takes a CPU from the
        threads being measured; at real-time priority both may then stay on the other one."""
        if process.returncode is not None:
            return True
        descriptor = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            return bool(poll.poll(self.options.timeout * 1000))
        finally:
            os.close(descriptor)

    def finish(self, process):
        with process.files[0], process.files[1]:
            if not self.has_ended(process):
                process.kill()
                process.wait()
                raise Failed(f"took more than {self.options.timeout:g} s")
            process.wait()
            for file in process.files:
                file.seek(0)
            out, error = (file.read() for file in process.files)
        if process.returncode:
            last = (error.strip() or out.strip() or "no message").splitlines()[-1]
            raise Failed(f"status {process.returncode}: {last[:200]}")
        return out

    def json_of(self, command, cpus=None):
        out = self.finish(self.start(command, cpus))
        try:
            return json.loads(out)
        except json.JSONDecodeError:
            pass
        try:
            return json.loads(out.strip().splitlines()[-1])  # libraries may print before it
        except (json.JSONDecodeError, IndexError):
            raise Failed(f"expected JSON, got {out[-100:]!r}") from None

    def cpus(self, threads):
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < threads:
            raise SystemExit(f"bench.py: {threads} threads on {len(allowed)} CPUs")
        return set(allowed[:threads])

    # ---- models ----

    def peers_of(self, model):
        return [peer for peer in self.peers if peer not in model.without]

    def numbered(self, model, stem):
        found = (self.data / model.folder).glob(f"{stem}[0-9]*.npy")
        return sorted(found, key=lambda path: int(path.stem[len(stem) :]))

    def golden(self, model):
        return self.numbered(model, f"golden{model.suffix}_" if model.suffix else "golden")

    def archive(self, model):
        return self.data / model.folder / f"model{model.archive_suffix}.pt2"

    def program(self, model, runner="belay"):
        return self.work / f"{model.name}.{runner}.belay"

    def prepare(self, model):
        """Creates the missing archive and peers' files. Failed if the archive is still missing."""
        if not self.archive(model).exists():
            if not self.options.peers_python:
                raise Failed(f"{self.archive(model)} is missing; --peers-python creates it")
            log(f"export {model.name}")
            self.finish(self.start([self.options.peers_python, HERE / "export_models.py", self.data, model.folder, model.archive_suffix]))
        lowering = {"title": model.title}
        for peer in self.peers_of(model):
            again = self.options.lowering and peer == "et_xnn"
            if again or not (self.data / model.folder / PEER_FILES[peer].format(model.suffix)).exists():
                log(f"lower {model.name} for {peer}")
                command = [self.options.peers_python, HERE / "peers.py", "lower", peer, self.data / model.folder, model.suffix]
                try:
                    took = self.json_of(command, self.cpus(1))
                    if again:
                        lowering[peer] = took
                except Failed as failed:
                    log(f"  {failed}")
        log(f"lower {model.name}")
        lowered = {runner: OURS[runner] for runner in self.ours}
        if self.options.xnnpack:
            lowered["pte"] = PTE
        for runner, options in lowered.items():
            try:
                lowering[runner] = self.lower(model, runner, options)
            except Failed as failed:
                lowering["why"] = str(failed)
                log(f"  {runner}: {failed}")
        return lowering

    def lower(self, model, runner, options):
        """The median of three: the first may read the archive from the disk."""
        program = self.program(model, runner)
        command = [self.options.belay, "lower", self.archive(model), "-o", program] + options + model.lower_options + self.options.lower_option
        seconds, peak = [], 0
        for _ in range(3):
            program.unlink(missing_ok=True)
            start = time.perf_counter()
            process = self.start(command, self.cpus(1))
            # wait4 reports the peak memory of this child only.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds.append(time.perf_counter() - start)
            peak = max(peak, usage.ru_maxrss / 1024)
            self.finish(process)
        return {"seconds": measures.median(seconds), "peak_mb": peak}

    # ---- runs ----

    def peer_command(self, runner, model, threads, warm_up, seconds, output):
        command = [self.options.peers_python, HERE / "peers.py", "run", runner, self.data / model.folder, model.suffix]
        return command + [threads, warm_up, seconds, output]

    def belay_command(self, model, threads, runner="belay"):
        # Its median includes the warm-up, which is the shorter part.
        seconds = self.options.warm_up + self.options.seconds
        return [self.options.belay, "bench", self.program(model, runner), "--threads", threads, "--seconds", seconds, "--json"]

    def error_of(self, runner, model, threads):
        """Error of one call's results against the golden ones."""
        with tempfile.TemporaryDirectory(dir=self.work) as output:
            output = pathlib.Path(output)
            if runner in OURS:
                command = [self.options.belay, "run", self.program(model, runner), "--threads", threads, "--output-dir", output]
                for path in self.numbered(model, "in"):
                    command += ["--input", path]
            else:
                command = self.peer_command(runner, model, threads, 0, 0, output)
            self.finish(self.start(command, self.cpus(threads)))
            golden = self.golden(model)
            if not golden:
                raise Failed("no golden outputs to compare with")
            got = [output / f"{i}.npy" for i in range(len(golden))]
            if not all(path.exists() for path in got):
                raise Failed(f"expected {len(golden)} outputs, got {sum(path.exists() for path in got)}")
            try:
                return measures.worst_error(got, golden)
            except ValueError as error:
                raise Failed(str(error)) from None

    def checked(self, runner, model, threads):
        """The runner's entry of a case, before any round."""
        run = {"verdict": "right", "why": "", "error": None, "rounds": []}
        try:
            run["error"] = self.error_of(runner, model, threads)
            # NaN is wrong as well.
            if not run["error"] <= model.tolerance:
                run["verdict"] = "wrong"
                run["why"] = f"expected an error of at most {model.tolerance:g}, got {run['error']:.2g}"
        except Failed as failed:
            run["verdict"], run["why"] = "failed", str(failed)
        return run

    def round(self, runner, model, threads):
        if runner in OURS:
            command, output = self.belay_command(model, threads, runner), None
        else:
            output = tempfile.mkdtemp(dir=self.work)
            command = self.peer_command(runner, model, threads, self.options.warm_up, self.options.seconds, output)
        busy, own, start = busy_seconds(), child_seconds(), time.perf_counter()
        try:
            figures = self.json_of(command, self.cpus(threads))
        finally:
            if output:
                shutil.rmtree(output)
        wall = time.perf_counter() - start
        others = max(0.0, busy_seconds() - busy - (child_seconds() - own)) / wall
        return {**figures, "others": others}

    def pair(self, model):
        """The latency of two processes at once, each on its own CPU: the upper bound for two threads."""
        processes = [self.start(self.belay_command(model, 1), {cpu}) for cpu in sorted(self.cpus(2))]
        texts = [self.finish(process) for process in processes]
        return measures.median([json.loads(text)["latency_ms_median"] for text in texts])

    def case(self, model, threads):
        runners = self.ours + self.peers_of(model)
        case = {"title": model.title, "model": model.name, "threads": threads, "tolerance": model.tolerance}
        case["instructions"] = model.instructions
        case["runners"] = {runner: self.checked(runner, model, threads) for runner in runners}
        if threads == 2:
            case["pairs"], case["line_ns"] = [], []
        for number in range(self.options.rounds):
            if threads == 2 and self.options.limits:
                case["line_ns"].append(self.json_of([self.options.limits, "--line"], self.cpus(2))["best"])
            # The first runner has a cooler machine: the order rotates.
            turn = number % len(runners)
            for runner in runners[turn:] + runners[:turn]:
                run = case["runners"][runner]
                if run["verdict"] != "right":
                    continue
                try:
                    run["rounds"].append(self.round(runner, model, threads))
                except Failed as failed:
                    run["rounds"].append(None)
                    run["why"] = str(failed)
            if threads == 2 and case["runners"]["belay"]["verdict"] == "right":
                try:
                    case["pairs"].append(self.pair(model))
                except Failed:
                    case["pairs"].append(None)
        for run in case["runners"].values():
            if run["verdict"] == "right" and not any(run["rounds"]):
                run["verdict"] = "failed"
        latencies = {r: measures.figure(run["rounds"], "latency_ms_median") for r, run in case["runners"].items()}
        log(f"{model.name}, {threads}: " + ", ".join(f"{r} {pages.dashed(figures.number(ms))}" for r, ms in latencies.items()))
        return case

    # ---- all ----

    def versions(self):
        result = {"belay": self.options.version or commit()}
        if "belay_xnnpack" in self.ours:
            result["belay_xnnpack"] = f"XNNPACK of Debian: {package_version('libxnnpack-dev')}"
        if self.peers:
            known = self.json_of([self.options.peers_python, HERE / "peers.py", "versions"])
            result.update({peer: known[peer] for peer in self.peers})
        return result

    def limits(self):
        return self.json_of([self.options.limits]) if self.options.limits else None

    def measure(self, models, save):
        options = self.options
        result = {
            "runners": self.ours + self.peers,
            "machine": {**machine(options.real_time), "limits": self.limits()},
            "versions": self.versions(),
            "protocol": {
                "rounds": options.rounds,
                "warm_up": options.warm_up,
                "seconds": options.seconds,
                "threads": options.threads,
            },
            "lowering": [],
            "cases": [],
        }
        if options.kernels:
            result["kernels"] = self.json_of([options.kernels], self.cpus(1))
        for model in models:
            result["lowering"].append(self.prepare(model))
            for threads in options.threads:
                result["cases"].append(self.case(model, threads))
                save(result)
        result["machine"]["limits_after"] = self.limits()
        result["machine"]["load"][1] = f"{os.getloadavg()[0]:.1f}"
        save(result)
        return result


def chosen_models(text, data):
    """The named models of MODELS, or all; "wild": those of wild_models.py; also other folders of DIR with an archive."""
    if text == "all":
        return MODELS
    if text == "wild":
        return WILD_MODELS
    known = {model.name: model for model in MODELS + WILD_MODELS}
    chosen = []
    for name in text.split(","):
        if name not in known and not (pathlib.Path(data) / name / "model.pt2").exists():
            raise SystemExit(f"bench.py: no model {name}: expected a folder of {data} with model.pt2, or one of {', '.join(known)}")
        chosen.append(known.get(name, Model(name, name)))
    return chosen


def summary(cases):
    """A line per number of threads: the geometric mean of Belay's time divided by that of the best peer, and the worst model."""
    ratios_of = {}
    for case in cases:
        good = figures.counted(case)
        best = figures.best_peer(good)
        ratio = measures.ratio(good["belay"], good[best]) if best and "belay" in good else None
        if ratio:
            ratios_of.setdefault(case["threads"], {})[case["model"]] = ratio
    lines = []
    for threads, ratios in sorted(ratios_of.items()):
        worst = max(ratios, key=ratios.get)
        slower = sum(ratio > 1 for ratio in ratios.values())
        lines.append(
            f"threads {threads}: geometric mean {statistics.geometric_mean(ratios.values()):.2f} of the best peer's time, "
            f"above 1.0: {slower} of {len(ratios)}, worst: {worst} {ratios[worst]:.2f}"
        )
    return lines


def parse(arguments):
    built = pathlib.Path("bazel-bin/tools")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="a folder per model; missing files are written there")
    parser.add_argument("--models", default="all", help="all, wild, or comma separated: those of README.md, of wild_models.py, or folders of --data")
    parser.add_argument("--peers-python", help="a Python with the peers")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma separated")
    parser.add_argument("--xnnpack", action="store_true", help="also measures Belay with delegates of backends/xnnpack, and lowers to .pte files")
    parser.add_argument("--threads", default="1,2", help="comma separated")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--warm-up", type=float, default=2, help="seconds of each process")
    parser.add_argument("--seconds", type=float, default=3, help="measured in each process")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds of each process")
    parser.add_argument("--real-time", type=int, default=0, metavar="PRIORITY", help="chrt -f PRIORITY; recorded in the table of runs")
    parser.add_argument("--lowering", action="store_true", help="lowers for ExecuTorch again, and compares the times")
    parser.add_argument("--lower-option", action="append", default=[], help="of `belay lower`; repeatable")
    parser.add_argument("--belay", default=str(built / "belay/belay"))
    parser.add_argument("--version", help="version of Belay in the table of runs; default: the commit of these sources")
    parser.add_argument("--limits", default=str(built / "bench/limits"), help="'' to leave them out")
    parser.add_argument("--kernels", default=str(built / "bench/kernels"), help="'' to leave them out")
    parser.add_argument("--output", help="folder of pages and data/, to which the run is added; default: the run's pages on stdout")
    parser.add_argument("--cpu", default="", help="short name of the CPU in the pages; default: that of earlier runs on the same processor")
    parser.add_argument("--note", default="", help="text in the table of runs")
    parser.add_argument("--json", help="everything measured, after every case")
    parser.add_argument("--from-json", help="adds earlier results; measures nothing")
    options = parser.parse_args(arguments)
    options.threads = [int(threads) for threads in options.threads.split(",")]
    if options.rounds < 1 or min(options.threads) < 1:
        parser.error("expected at least one round and one thread")
    if unknown := [p for p in options.peers.split(",") if p and p not in PEERS]:
        parser.error(f"expected peers of {', '.join(PEERS)}, got {', '.join(unknown)}")
    return options


def add_run(folder, result, options):
    """Adds a run to the data files of the folder, and writes its pages."""
    data = figures.add(figures.read(folder / "data"), result, options.cpu, options.note)
    figures.save(folder / "data", data)
    pages.write(folder)


def main(arguments):
    options = parse(arguments)

    def save(result):
        if options.json:
            figures.write(options.json, json.dumps(result, indent=1))

    if options.from_json:
        result = json.loads(pathlib.Path(options.from_json).read_text(encoding="utf-8"))
    else:
        models = chosen_models(options.models, options.data)
        with tempfile.TemporaryDirectory() as work:
            result = Bench(options, pathlib.Path(work)).measure(models, save)
        for line in summary(result["cases"]):
            log(line)
    if options.output:
        add_run(pathlib.Path(options.output), result, options)
    else:
        no_data = {name: [] for name in figures.COLUMNS}
        print("\n".join(pages.pages_of(figures.add(no_data, result, options.cpu, options.note)).values()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
