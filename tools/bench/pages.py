#!/usr/bin/env python3
"""Writes the pages of measured performance from their data files.

  tools/bench/pages.py                 writes docs/benchmarks/*.md from docs/benchmarks/data/*.tsv
  tools/bench/pages.py --check FOLDER  fails if the pages of FOLDER are not those of its data files

Standard library only.
"""

import argparse
import dataclasses
import pathlib
import statistics
import sys
import typing

import figures
import plots

TITLES = {"belay": "Belay", "belay_xnnpack": "Belay+XNNPACK", "et_xnn": "ExecuTorch+XNNPACK", "ort": "ONNX Runtime", "openvino": "OpenVINO", "llama_cpp": "llama.cpp"}
RUNNERS = figures.OURS + figures.PEERS
COMMAND = "tools/bench/pages.py"


def title(runner):
    return TITLES.get(runner, runner)


def threads_text(threads):
    return f"{threads} thread{'s' if threads != '1' else ''}"


def dashed(cell):
    return cell or "–"


def table(header, lines):
    """A Markdown table; a | in a cell would end it."""
    text = lambda cell: str(cell).replace("|", "\\|").replace("\n", " ")
    out = ["| " + " | ".join(map(text, header)) + " |", "|" + " --- |" * len(header)]
    out += ["| " + " | ".join(map(text, line)) + " |" for line in lines]
    return "\n".join(out) + "\n"


class Figures:
    """Tables with the CPU in place of the run. A figure is found by its CPU and the cells of other columns."""

    def __init__(self, data):
        self.data = data
        cpu_of = {row["run"]: row["cpu"] for row in data["runs"]}
        self.cpus = list(dict.fromkeys(cpu_of.values()))
        self.models = [row["model"] for row in data["models"]]
        self.rows = {name: [{**row, "cpu": cpu_of[row["run"]]} for row in data[name]] for name in figures.REPLACED}
        self.indexes = {}

    def get(self, name, **cells):
        """The row of the table with these cells; a row of empty cells if it was not measured."""
        columns = tuple(sorted(cells))
        if (name, columns) not in self.indexes:
            self.indexes[name, columns] = {tuple(row[c] for c in columns): row for row in self.rows[name]}
        found = self.indexes[name, columns].get(tuple(cells[c] for c in columns))
        return found or dict.fromkeys(figures.COLUMNS[name], "")

    def distinct(self, name, *columns, **cells):
        """The distinct cells of the columns, in order, of rows with the given cells."""
        rows = [row for row in self.rows[name] if all(row[c] == x for c, x in cells.items())]
        return list(dict.fromkeys(row[columns[0]] if len(columns) == 1 else tuple(row[c] for c in columns) for row in rows))

    def cpus_of(self, name, **cells):
        found = self.distinct(name, "cpu", **cells)
        return [cpu for cpu in self.cpus if cpu in found]

    def models_of(self, name, **cells):
        found = self.distinct(name, "model", **cells)
        return [model for model in self.models if model in found]

    def runners_of(self, name, **cells):
        found = self.distinct(name, "runner", **cells)
        return [runner for runner in RUNNERS if runner in found]


def milliseconds(row):
    return f"**{row['failure'].split(':')[0]}**" if row["failure"] else dashed(row["ms"])


def best_peer(data, cpu, threads, model):
    """The best peer's row of latency.tsv, or None."""
    rows = [data.get("latency", cpu=cpu, threads=threads, model=model, runner=runner) for runner in figures.PEERS]
    return next((row for row in rows if row["best"]), None)


def to_best(data, cpu, threads, model):
    row = best_peer(data, cpu, threads, model)
    return "–" if row is None else f"**{row['belay_ratio']}** slower" if row["best"] == "faster" else row["belay_ratio"]


def latency(data):
    out = ["A ratio is Belay's time divided by the best peer's: below 1, Belay is faster. The peers' times: [peers.md](peers.md).\n"]
    for threads in data.distinct("latency", "threads"):
        cpus = data.cpus_of("latency", threads=threads)
        lines = []
        for model in data.models_of("latency", threads=threads):
            line = [model]
            for cpu in cpus:
                line.append(milliseconds(data.get("latency", cpu=cpu, threads=threads, model=model, runner="belay")))
                line.append(to_best(data, cpu, threads, model))
            lines.append(line)
        header = ["model"] + [text for cpu in cpus for text in (f"{cpu}: Belay ms", "to the best")]
        out += [f"## {threads_text(threads).capitalize()}\n", table(header, lines)]
    return out + ["## Slower than the best peer, wrong or failed\n", slower(data)] + overhead(data)


def slower(data):
    """A row per case in which the best peer is faster than Belay, or in which an output is wrong."""
    lines = []
    for cpu in data.cpus:
        for model in data.models:
            for threads in data.distinct("latency", "threads", cpu=cpu, model=model):
                row = best_peer(data, cpu, threads, model)
                if row and row["best"] == "faster":
                    lines.append([cpu, model, threads, f"{row['belay_ratio']} times {title(row['runner'])}"])
                for row in data.rows["latency"]:
                    if (row["cpu"], row["model"], row["threads"]) == (cpu, model, threads) and row["failure"]:
                        lines.append([cpu, model, threads, f"{title(row['runner'])} {row['failure']}"])
    return table(["CPU", "model", "threads", "result"], lines) if lines else "None.\n"


def overhead(data):
    """Time per instruction of models that only measure overhead."""
    lines = []
    runners = data.runners_of("latency")
    for row in data.data["models"]:
        if not row["instructions"]:
            continue
        for cpu in data.cpus_of("latency", model=row["model"]):
            for threads in data.distinct("latency", "threads", cpu=cpu, model=row["model"]):
                line = [row["model"], cpu, threads]
                for runner in runners:
                    ms = data.get("latency", cpu=cpu, threads=threads, model=row["model"], runner=runner)["ms"]
                    line.append(figures.number(1e6 * float(ms) / int(row["instructions"])) if ms else "–")
                lines.append(line)
    header = ["model", "CPU", "threads"] + [f"{title(runner)} ns" for runner in runners]
    return ["## Per instruction\n", table(header, lines)] if lines else []


def peers(data):
    out = ["Milliseconds per call; in brackets, Belay's time divided by the peer's. Belay's own times: [latency.md](latency.md).\n"]
    for runner in data.runners_of("latency"):
        if runner == "belay":
            continue
        for threads in data.distinct("latency", "threads", runner=runner):
            cpus = data.cpus_of("latency", threads=threads, runner=runner)
            lines = []
            for model in data.models_of("latency", threads=threads, runner=runner):
                rows = [data.get("latency", cpu=cpu, threads=threads, model=model, runner=runner) for cpu in cpus]
                lines.append([model] + [milliseconds(row) + (f" ({row['belay_ratio']})" if row["belay_ratio"] else "") for row in rows])
            out += [f"## {title(runner)}, {threads_text(threads)}\n", table(["model"] + cpus, lines)]
    return out


def two_threads(data):
    cpus = data.cpus_of("two_threads")
    lines = []
    for model in data.models_of("two_threads"):
        line = [model]
        for cpu in cpus:
            row = data.get("two_threads", cpu=cpu, model=model)
            ms = data.get("latency", cpu=cpu, threads="2", model=model, runner="belay")["ms"] if row["model"] else ""
            line += [dashed(ms), dashed(row["two_processes_ms"]), dashed(row["throughput"])]
        lines.append(line)
    header = ["model"] + [text for cpu in cpus for text in (f"{cpu}: threads, ms", "processes, ms each", "throughput")]
    out = [
        "Two threads of one process compared with two simultaneous processes of one thread. *Throughput* is that of the threads divided by that of\n"
        "the processes.\n",
        table(header, lines),
        "## Cache line round trips\n",
        "Nanoseconds between the two CPUs before each round. The [method](../../tools/bench/README.md) explains their effect.\n",
    ]
    trips = [[m] + [dashed(data.get("two_threads", cpu=cpu, model=m)["line_round_trip_ns"].replace(" ", " · ")) for cpu in cpus]
             for m in data.models_of("two_threads")]
    return out + [table(["model"] + cpus, trips)]


def per_runner(data, name, column, extra=()):
    """A table of models and CPUs; a cell has the figures of all runners. `extra`: (heading, {model: cell}) of one more column."""
    runners = data.runners_of(name)
    cpus = data.cpus_of(name)
    lines = []
    for model in data.models_of(name):
        line = [model] + ([extra[1][model]] if extra else [])
        for cpu in cpus:
            cells = [data.get(name, cpu=cpu, model=model, runner=runner)[column] for runner in runners]
            line.append(" · ".join(map(dashed, cells)) if any(cells) else "–")
        lines.append(line)
    return table(["model"] + ([extra[0]] if extra else []) + cpus, lines)


def runners_text(data, name):
    return f"Each cell: {' · '.join(map(title, data.runners_of(name)))}."


def load(data):
    parts = (("From open to ready, ms", "load_ms"), ("First call, ms", "first_call_ms"), ("Peak memory, MB", "peak_mb"))
    out = [runners_text(data, "load") + " One thread.\n"]
    for heading, column in parts:
        out += [f"## {heading}\n", per_runner(data, "load", column)]
    return out


def errors(data):
    bounds = {row["model"]: row["bound"] for row in data.data["models"]}
    intro = " The error is |difference| / |golden|, the largest of all outputs.\nA runner above the bound counts as wrong.\n"
    return [runners_text(data, "errors") + intro, per_runner(data, "errors", "error", ("bound", bounds))]


def lowering(data):
    """Times beside ExecuTorch's of the same CPU, and peak memory."""
    out = ["Seconds of the whole process, and the ratio to ExecuTorch's time.\n"]
    cpus = data.cpus_of("lowering")
    compared = data.cpus_of("lowering", runner="et_xnn")
    ours = [runner for runner in ("belay", "pte") if runner in data.distinct("lowering", "runner")]
    names = {"belay": "Belay s", "pte": ".pte s"}
    header, lines = ["model"], []
    for cpu in cpus:
        texts = [text for runner in ours for text in ([names[runner]] + (["ratio"] if cpu in compared else []))]
        texts += ["ExecuTorch s"] if cpu in compared else []
        header += [f"{cpu}: {texts[0]}"] + texts[1:]
    for model in data.models_of("lowering"):
        line = [model]
        for cpu in cpus:
            for runner in ours:
                row = data.get("lowering", cpu=cpu, model=model, runner=runner)
                line += [dashed(row["seconds"])] + ([dashed(row["to_executorch"])] if cpu in compared else [])
            line += [dashed(data.get("lowering", cpu=cpu, model=model, runner="et_xnn")["seconds"])] if cpu in compared else []
        lines.append(line)
    memory = [[m] + [dashed(data.get("lowering", cpu=cpu, model=m, runner="belay")["peak_mb"]) for cpu in cpus] for m in data.models_of("lowering")]
    return out + [table(header, lines), "## Peak memory of Belay, MB\n", table(["model"] + cpus, memory)]


LANGUAGE_PLOT = "language_models.svg"


def language_plot(data):
    """Tokens per second of generation by the number of tokens before, Belay and llama.cpp."""
    panels = []
    for cpu, model, threads in data.distinct("language_models", "cpu", "model", "threads"):
        lines = []
        rows = [row for row in data.rows["language_models"] if (row["cpu"], row["model"], row["threads"], row["peer"]) == (cpu, model, threads, "llama_cpp")]
        for weights in dict.fromkeys(row["weights"] for row in rows):
            of_weights = [row for row in rows if row["weights"] == weights and row["test"].startswith("tg")]
            for runner, column in (("belay", "belay_per_s"), ("llama_cpp", "peer_per_s")):
                points = [(int(row["test"][2:]), float(row[column])) for row in of_weights]
                if points:
                    lines.append((weights, title(runner), points))
        if lines:
            panels.append((f"{model}, {cpu}, {threads_text(threads)}", lines))
    return plots.line_plots(panels, "tokens before") if panels else None


def language_models(data):
    """Tokens per second beside other runtimes."""
    out = [
        "Tokens per second, and Belay's rate divided by the other's: above 1, Belay is faster. *Prompt*: of 128 to 2,048 tokens, in one call.\n"
        "*Generation*: after 16 to 4,000 tokens. Belay keeps the cache in float16, that of F32 weights and beside OpenVINO in float32; it\n"
        "quantizes activations of prompts with 8- and 4-bit weights to 8 or 16 bits in blocks of 32. llama.cpp reads the same GGUF file and keeps\n"
        "its cache in float16.\n"
        "OpenVINO has weights of as many bits and its defaults: activations quantized to 8 bits in groups of 32, other operators in bfloat16, a cache\n"
        "in float16. ExecuTorch: linear layers of 4 bits in groups of 32, activations quantized to 8 bits (8da4w), a cache of 512 tokens.\n"
    ]
    if language_plot(data):
        out.append(f"![Tokens per second by the number of tokens before]({LANGUAGE_PLOT})\n")
    names = {"pp": "prompt of", "tg": "generation after"}
    for model, threads, peer in data.distinct("language_models", "model", "threads", "peer"):
        cpus = data.cpus_of("language_models", model=model, threads=threads, peer=peer)
        lines = []
        for weights, peer_weights, test in data.distinct("language_models", "weights", "peer_weights", "test", model=model, threads=threads, peer=peer):
            line = [weights if weights == peer_weights else f"{weights}, {peer_weights}", f"{names[test[:2]]} {test[2:]}"]
            for cpu in cpus:
                row = data.get("language_models", cpu=cpu, model=model, threads=threads, peer=peer, weights=weights, test=test)
                line += [dashed(row["belay_per_s"]), dashed(row["peer_per_s"]), bold_below_one(row["ratio"])]
            lines.append(line)
        header = ["weights", "test"] + [text for cpu in cpus for text in (f"{cpu}: Belay", title(peer), "ratio")]
        out += [f"## {model}, {threads_text(threads)}, {title(peer)}\n", table(header, lines)]
    return out + language_open(data)


def bold_below_one(ratio):
    return f"**{ratio}**" if ratio and float(ratio) < 1 else dashed(ratio)


def language_open(data):
    """Time and memory to the first token."""
    lines = []
    for row in data.rows["language_open"]:
        cells = ("belay_s", "llama_cpp_s", "ratio", "belay_mb", "llama_cpp_mb", "memory_ratio")
        lines.append([row["cpu"], row["model"], row["weights"]] + [dashed(row[cell]) for cell in cells])
    if not lines:
        return []
    text = (
        "Wall time of a process that opens the file, reads a prompt of five words and prints the first token, with a cache of 4,352 tokens on one\n"
        "thread, and its peak memory. Below 1, Belay is faster or smaller.\n"
    )
    header = ["CPU", "model", "weights", "Belay, s", "llama.cpp, s", "ratio", "Belay, MB", "llama.cpp, MB", "ratio"]
    return ["## Open to first token\n", text, table(header, lines)]


def limits(data):
    cpus = data.cpus_of("limits")
    lines = []
    for limit in data.distinct("limits", "limit"):
        rows = [data.get("limits", cpu=cpu, limit=limit) for cpu in cpus]
        lines.append([f"`{limit}`"] + [dashed(row[column]) for row in rows for column in ("best", "median")])
    header = ["limit"] + [text for cpu in cpus for text in (f"{cpu}: best", "median")]
    return ["Measured by `//tools/bench:limits`. `_t1` and `_t2` are the numbers of threads.\n", table(header, lines)]


def kernels(data):
    cpus = data.cpus_of("kernels")
    lines = []
    for model, kernel in data.distinct("kernels", "model", "kernel"):
        line = [model, kernel]
        for cpu in cpus:
            row = data.get("kernels", cpu=cpu, model=model, kernel=kernel)
            line += [dashed(row[column]) for column in ("fastest_us", "median_us", "gops")]
            line.append(f"{row['share_percent']} %" if row["share_percent"] else "–")
        lines.append(line)
    header = ["model", "kernel"]
    for cpu in cpus:
        header += [f"{cpu}: fastest µs", "median µs", "G operations/s", "share of the limit"]
    intro = "Measured by `//tools/bench:kernels` on one thread. The [limits](limits.md) are those of the same run.\n"
    return [intro, table(header, lines)]


def clock(run):
    before, after = run["clock_before_ghz"], run["clock_after_ghz"]
    if not before or not after:
        return dashed(before)
    moved = abs(float(after) / float(before) - 1) > 0.03
    return f"{before} · {after} GHz" + (" **(moved by more than 3 %: unreliable)**" if moved else "")


def index(data, existing):
    runs = data.data["runs"]
    several = {cpu for cpu in data.cpus if sum(run["cpu"] == cpu for run in runs) > 1}

    def models(run):
        names = [model for model in data.models if any(row["run"] == run["run"] and row["model"] == model for table in ("latency", "language_models") for row in data.data[table])]
        rest = run is next(row for row in runs if row["cpu"] == run["cpu"])
        return "all" if run["cpu"] not in several else "all others" if rest and names else dashed("; ".join(names))

    pair = lambda run, a, b: f"{run[a]} · {run[b]}" if run[a] or run[b] else "–"
    lines = [
        ["processor"] + [run["processor"] for run in runs],
        ["CPUs · system"] + [pair(run, "cpus", "system") for run in runs],
        ["date"] + [run["date"] for run in runs],
        ["models"] + [models(run) for run in runs],
        ["note"] + [dashed(run["note"]) for run in runs],
        ["Belay: commit"] + [run["belay"] for run in runs],
        ["Belay: build"] + [dashed(run["build"]) for run in runs],
    ]
    lines += [[title(peer)] + [dashed(run[peer]) for run in runs] for peer in RUNNERS[1:] + ("llama_cpp",) if any(run[peer] for run in runs)]
    lines += [
        ["rounds · warm-up · measured"] + [f"{run['rounds']} · {dashed(run['warm_up_s'])} s · {dashed(run['measured_s'])} s" for run in runs],
        ["priority"] + [run["priority"] for run in runs],
        ["load at the start · at the end"] + [pair(run, "load_before", "load_after") for run in runs],
        ["CPUs used by others (median)"] + [dashed(run["other_cpus"]) for run in runs],
        ["clock before · after"] + [clock(run) for run in runs],
    ]
    pages = [[f"[{PAGES[name].title}]({name})", PAGES[name].contents] for name in existing]
    return [
        "Belay compared with other runtimes on the same machine in the same run. The method: [tools/bench](../../tools/bench/README.md).\n",
        table(["page", "contents"], pages),
        "## Runs\n",
        "A dash marks a value that is not recorded or not measured, here and on the other pages.\n",
        table([""] + [f"{run['cpu']}, {run['run']}" for run in runs], lines),
        "`data/` has a file of tab-separated values per table. `tools/bench/bench.py --output docs/benchmarks` adds a run to them, and\n"
        "`tools/bench/pages.py` writes the pages.\n",
    ]


def operators(data):
    out = [
        "Each case is a program of its own, on one thread: an operator with the arguments of a call in one of the models of\n"
        "`tools/bench/wild_models.py`, for a few calls of each kind. A ratio is Belay's time divided by that of the fastest other\n"
        "runtime. The roof is the larger of the time of the arithmetic at the peak, and of reading and writing all operands once from\n"
        "the nearest cache that holds them. Calls of a few microseconds are mostly the cost of a call.\n"
    ]
    for cpu in data.cpus_of("operators"):
        rows = [row for row in data.rows["operators"] if row["cpu"] == cpu]
        groups = {}
        for row in rows:
            groups.setdefault(row["case"].split(".")[0], []).append(row)
        mean = lambda group: f"{statistics.geometric_mean(max(float(row['ratio']), 0.01) for row in group):.2f}"
        lines = []
        for name, group in sorted(groups.items()):
            worst = max(group, key=lambda row: float(row["ratio"]))
            above = sum(is_slower(row) for row in group)
            lines.append([name, len(group), mean(group), worst["ratio"], above or "–"])
        out += [f"## {cpu}\n", f"{len(rows)} cases, geometric mean {mean(rows)}.\n"]
        out += [table(["operator", "cases", "geometric mean", "worst", "slower by more than 3 µs"], lines)]
        columns = ["case", "Belay µs", "eager", "ONNX Runtime", "OpenVINO", "ratio", "share of the roof, %"]
        cells = lambda row: [row["case"]] + [dashed(row[c]) for c in ("belay_us", "eager_us", "ort_us", "openvino_us", "ratio", "roof_percent")]
        slow = sorted((row for row in rows if is_slower(row)), key=lambda row: -float(row["ratio"]))
        out += ["### Slower than the best by more than 3 µs\n", table(columns, map(cells, slow)) if slow else "None.\n"]
        low = [row for row in rows if row["roof_percent"] and float(row["roof_percent"]) < 50 and float(row["belay_us"]) > 20]
        low.sort(key=lambda row: float(row["roof_percent"]))
        out += ["### Above 20 µs and below half of the roof\n", table(columns, map(cells, low)) if low else "None.\n"]
    return out


def is_slower(row):
    """A row of operators.tsv: by more than 3 µs."""
    return float(row["belay_us"]) - float(row[row["best"] + "_us"]) > 3


@dataclasses.dataclass
class Page:
    title: str
    contents: str  # for the index
    table: str  # of figures.COLUMNS; the page is omitted if it is empty
    writer: typing.Callable[[Figures], list[str]]


PAGES = {
    "latency.md": Page(
        "Latency",
        "milliseconds per call on one thread and two, and the ratio to the best peer; cases slower than the best peer",
        "latency", latency,
    ),
    "peers.md": Page("Latency of each peer", "milliseconds per call of each peer, and Belay's ratio to it", "latency", peers),
    "two_threads.md": Page("Two threads", "two threads compared with two simultaneous processes", "two_threads", two_threads),
    "load.md": Page("Load and memory", "time to open a program, time of the first call, peak memory", "load", load),
    "errors.md": Page("Errors to PyTorch", "relative error of each runtime's outputs", "errors", errors),
    "lowering.md": Page("Lowering", "time and peak memory of lowering, compared with ExecuTorch's", "lowering", lowering),
    "language_models.md": Page("Language models", "tokens per second compared with llama.cpp, OpenVINO and ExecuTorch, time to the first token", "language_models", language_models),
    "limits.md": Page("Limits of the machines", "clock, peak arithmetic, bandwidths, fork and join", "limits", limits),
    "operators.md": Page("Operators", "single operators compared with PyTorch's eager mode and other runtimes, and with the limits", "operators", operators),
    "kernels.md": Page("Kernels", "single kernels on one thread, as shares of those limits", "kernels", kernels),
}


def pages_of(tables):
    """{file name: text} of the pages and images of the data files' tables. Pages without figures are omitted."""
    data = Figures(tables)
    existing = [name for name, page in PAGES.items() if data.rows[page.table]]
    if not any(row["runner"] != "belay" for row in data.rows["latency"]):
        existing = [name for name in existing if name != "peers.md"]
    # A marker keeps editors from changing a page instead of its data.
    head = lambda heading: f"# {heading}\n\n<!-- Written by {COMMAND} from data/*.tsv. -->\n"
    pages = {name: "\n".join([head(PAGES[name].title)] + PAGES[name].writer(data)) for name in existing}
    plot = language_plot(data)
    images = {LANGUAGE_PLOT: plot} if plot else {}
    return {"README.md": "\n".join([head("Benchmarks")] + index(data, existing)), **pages, **images}


def files_in(folder):
    return sorted(path for path in folder.iterdir() if path.suffix in (".md", ".svg"))


def write(folder):
    """Writes the pages of the folder's data files, and deletes others."""
    folder = pathlib.Path(folder)
    pages = pages_of(figures.read(folder / "data"))
    for name, text in pages.items():
        figures.write(folder / name, text)
    for path in files_in(folder):
        if path.name not in pages:
            path.unlink()


def check(folder):
    """A message per page that is not the one of the data files."""
    folder = pathlib.Path(folder)
    pages = pages_of(figures.read(folder / "data"))
    present = {path.name: path.read_text(encoding="utf-8") for path in files_in(folder)}
    wrong = [name for name in sorted(set(pages) | set(present)) if pages.get(name) != present.get(name)]
    return [f"{folder / name}: expected the page of the data files: run {COMMAND}" for name in wrong]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=pathlib.Path(__file__).resolve().parents[2] / "docs/benchmarks")
    parser.add_argument("--check", action="store_true", help="writes nothing; fails if a page differs")
    options = parser.parse_args(arguments)
    try:
        if not (pathlib.Path(options.folder) / "data/runs.tsv").exists():
            raise figures.BadData(f"{options.folder}: expected a folder with data/runs.tsv")
        if not options.check:
            write(options.folder)
            return 0
        messages = check(options.folder)
    except figures.BadData as error:
        messages = [str(error)]
    for message in messages:
        print(message, file=sys.stderr)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
