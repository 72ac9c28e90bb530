"""Data files of benchmarks: columns, reading, writing, and rows of bench.py's results. Standard library only.

A folder of data files has one file of tab-separated values per table of COLUMNS. Cells are the printed figures; an empty
cell was not measured. README.md describes the columns.
"""

import os
import pathlib

import measures

OURS = ("belay", "belay_xnnpack")
PEERS = ("et_xnn", "ort", "openvino")
COLUMNS = {
    "runs": (
        "run", "cpu", "processor", "cpus", "system", "date", "load_before", "load_after", "other_cpus", "priority",
        "belay", "belay_xnnpack", "et_xnn", "ort", "openvino", "llama_cpp", "build", "rounds", "warm_up_s", "measured_s",
        "clock_before_ghz", "clock_after_ghz", "note",
    ),
    "models": ("model", "instructions", "bound"),
    "latency": ("run", "threads", "model", "runner", "ms", "belay_ratio", "best", "failure"),
    "two_threads": ("run", "model", "two_processes_ms", "throughput", "line_round_trip_ns"),
    "load": ("run", "model", "runner", "load_ms", "first_call_ms", "peak_mb"),
    "errors": ("run", "model", "runner", "error"),
    "lowering": ("run", "model", "runner", "seconds", "peak_mb", "to_executorch"),
    "limits": ("run", "limit", "best", "median"),
    "language_models": ("run", "model", "weights", "threads", "test", "belay_per_s", "peer", "peer_weights", "peer_per_s", "ratio"),
    "language_open": ("run", "model", "weights", "belay_s", "llama_cpp_s", "ratio", "belay_mb", "llama_cpp_mb", "memory_ratio"),
    "operators": ("run", "case", "belay_us", "eager_us", "ort_us", "openvino_us", "best", "ratio", "roof_percent"),
    "kernels": ("run", "model", "kernel", "fastest_us", "median_us", "gops", "share_percent"),
}
# A new run replaces the rows of its CPU with equal values in these columns.
REPLACED = {
    "latency": ("threads", "model"),
    "two_threads": ("model",),
    "load": ("model",),
    "errors": ("model",),
    "lowering": ("model",),
    "language_models": ("model",),
    "language_open": ("model",),
    "operators": (),
    "limits": (),
    "kernels": (),
}


class BadData(Exception):
    """A malformed data file; str() names the file and the line."""


def number(x, digits=3):
    """With `digits` significant digits, but never fewer than the integer has; "" for None."""
    if x is None:
        return ""
    if x == 0:
        return "0"
    integer_digits = len(str(int(abs(x)))) if abs(x) >= 1 else 0
    leading_zeros = 0
    while integer_digits == 0 and abs(x) * 10 ** (leading_zeros + 1) < 1 and leading_zeros < 9:
        leading_zeros += 1
    return f"{x:.{max(0, digits - integer_digits + leading_zeros)}f}"


def formatted(x, form):
    return "" if x is None else format(x, form)


# ---- files ----


def write(path, text):
    """Writes a file completely or not at all."""
    pathlib.Path(f"{path}.new").write_text(text, encoding="utf-8")
    os.replace(f"{path}.new", path)


def read_table(path, columns):
    """The rows as {column: cell}."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or tuple(lines[0].split("\t")) != columns:
        raise BadData(f"{path}:1: expected the columns {', '.join(columns)}")
    rows = []
    for line_number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(columns):
            raise BadData(f"{path}:{line_number}: expected {len(columns)} cells, got {len(cells)}")
        rows.append(dict(zip(columns, cells)))
    return rows


def read(folder):
    """{table: rows}; a missing file is an empty table. BadData for malformed files and unknown runs or models."""
    folder = pathlib.Path(folder)
    data = {}
    for table, columns in COLUMNS.items():
        path = folder / f"{table}.tsv"
        data[table] = read_table(path, columns) if path.exists() else []
    for column, owner in (("run", "runs"), ("model", "models")):
        known = [row[column] for row in data[owner]]
        for table in REPLACED:
            if column not in COLUMNS[table] or (table, column) == ("kernels", "model"):
                continue
            for line_number, row in enumerate(data[table], 2):
                if row[column] not in known:
                    raise BadData(f"{folder / table}.tsv:{line_number}: unknown {column} '{row[column]}'; {owner}.tsv has: {', '.join(known)}")
    return data


def save(folder, data):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for table, columns in COLUMNS.items():
        lines = ["\t".join(columns)]
        lines += ["\t".join(" ".join(str(row.get(column, "")).split()) for column in columns) for row in data[table]]
        write(folder / f"{table}.tsv", "\n".join(lines) + "\n")


def merged(old, new):
    """The rows of both, in the order of runs and models. A new run replaces its CPU's earlier rows of the same models; runs without rows
    are dropped."""
    cpu_of = {row["run"]: row["cpu"] for row in old["runs"] + new["runs"]}
    data = {}
    for table, columns in REPLACED.items():
        key = lambda row: (cpu_of[row["run"]],) + tuple(row[column] for column in columns)
        replaced = {key(row) for row in new[table]}
        data[table] = [row for row in old[table] if key(row) not in replaced] + new[table]
    used = {row["run"] for rows in data.values() for row in rows}
    data["runs"] = [row for row in old["runs"] if row["run"] in used] + new["runs"]
    models = {row["model"]: row for row in old["models"]}
    models.update({row["model"]: row for row in new["models"]})
    data["models"] = list(models.values())
    runs = [row["run"] for row in data["runs"]]
    for table, columns in REPLACED.items():
        order = lambda row: (
            runs.index(row["run"]),
            row.get("threads", ""),
            list(models).index(row["model"]) if "model" in columns else 0,
        )
        data[table].sort(key=order)
    return {table: data[table] for table in COLUMNS}


# ---- rows of a result of bench.py ----


def counted(case):
    """{runner: rounds} of runners with correct output; the times of others do not count."""
    return {name: run["rounds"] for name, run in case["runners"].items() if run["verdict"] == "right"}


def best_peer(good):
    """The fastest of the peers among {runner: rounds}, or None."""
    return measures.best({name: rounds for name, rounds in good.items() if name not in OURS})


def latency_rows(case):
    good = counted(case)
    best = best_peer(good)
    rows = []
    for runner, run in case["runners"].items():
        row = {"threads": case["threads"], "model": case["title"], "runner": runner}
        if run["verdict"] != "right":
            row["failure"] = f"{run['verdict']}: {run['why']}"
        else:
            row["ms"] = number(measures.figure(run["rounds"], "latency_ms_median"))
            ratio = measures.ratio(good["belay"], run["rounds"]) if runner != "belay" and "belay" in good else None
            row["belay_ratio"] = formatted(ratio, ".2f")
            if runner == best and ratio is not None:
                row["best"] = "faster" if ratio > 1 else "slower"
        rows.append(row)
    return rows


def two_threads_rows(case):
    if "pairs" not in case or "belay" not in counted(case):
        return []
    two = counted(case)["belay"]
    # Two processes finish two calls in the time of one; two threads finish one.
    share = measures.median([p / (2 * r["latency_ms_median"]) for p, r in zip(case["pairs"], two) if p and r])
    return [{
        "model": case["title"],
        "two_processes_ms": number(measures.median(case["pairs"])),
        "throughput": formatted(share, ".2f"),
        "line_round_trip_ns": " ".join(f"{ns:.0f}" for ns in case.get("line_ns", [])),
    }]


def load_rows(case):
    figure = lambda rounds, key: number(measures.figure(rounds, key), 2)
    return [
        {
            "model": case["title"],
            "runner": runner,
            "load_ms": figure(rounds, "load_ms"),
            "first_call_ms": figure(rounds, "first_inference_ms"),
            "peak_mb": figure(rounds, "peak_rss_mb"),
        }
        for runner, rounds in counted(case).items()
    ]


def lowering_rows(entry):
    rows = []
    executorch = entry.get("et_xnn")
    for runner in ("belay", "et_xnn", "belay_xnnpack", "pte"):
        if took := entry.get(runner):
            ratio = took["seconds"] / executorch["seconds"] if executorch and runner != "et_xnn" else None
            row = {"seconds": number(took["seconds"]), "peak_mb": number(took.get("peak_mb"), 2), "to_executorch": formatted(ratio, ".4f")}
            rows.append({"model": entry["title"], "runner": runner, **row})
    if "belay" not in entry:
        rows.insert(0, {"model": entry["title"], "runner": "belay", "seconds": "failed"})
    return rows


def language_rows(case):
    """A row per peer and test; `rounds` have {runner: {test: tokens per second}}."""
    rows = []
    for peer in case["rounds"][0]:
        if peer == "belay":
            continue
        for test in case["rounds"][0][peer]:
            ours, theirs = ([r[runner][test] for r in case["rounds"]] for runner in ("belay", peer))
            rows.append({
                "model": case["title"],
                "weights": case["weights"],
                "threads": case["threads"],
                "test": test,
                "belay_per_s": number(measures.median(ours)),
                "peer": peer,
                "peer_weights": case.get("peer_weights", {}).get(peer, case["weights"]),
                "peer_per_s": number(measures.median(theirs)),
                "ratio": formatted(measures.median([a / b for a, b in zip(ours, theirs)]), ".2f"),
            })
    return rows


def open_row(case):
    """`rounds` have {runner: {"seconds": …, "mb": …}}."""
    row = {"model": case["title"], "weights": case["weights"]}
    for unit, key, ratio in (("s", "seconds", "ratio"), ("mb", "mb", "memory_ratio")):
        ours, theirs = ([r[runner][key] for r in case["rounds"]] for runner in ("belay", "llama_cpp"))
        row[f"belay_{unit}"], row[f"llama_cpp_{unit}"] = number(measures.median(ours)), number(measures.median(theirs))
        row[ratio] = formatted(measures.median([a / b for a, b in zip(ours, theirs)]), ".2f")
    return row


def operator_row(case):
    """A row of operators.py."""
    times = {f"{runner}_us": number(1e3 * ms) for runner, ms in case["ms"].items()}
    roof = formatted(case["roof_percent"], ".0f")
    return {"case": case["name"], **times, "best": case["best"], "ratio": formatted(case["ratio"], ".2f"), "roof_percent": roof}


def limits_rows(limits):
    rows = []
    for key, value in limits.items():
        if isinstance(value, dict) and "best" in value:
            rows.append({"limit": key, "best": number(value["best"]), "median": number(value["median"])})
        elif value is None:
            rows.append({"limit": key})
    return rows


def kernels_rows(kernels, limits):
    rows = []
    for row in kernels["rows"]:
        least = measures.least_microseconds(row, limits)
        rows.append({
            "model": row["model"],
            "kernel": row["what"],
            "fastest_us": number(row["us_least"]),
            "median_us": number(row["us_median"]),
            "gops": number(row["operations"] / row["us_least"] / 1e3),
            "share_percent": formatted(None if least is None else 100 * least / row["us_least"], ".0f"),
        })
    return rows


def run_row(result):
    machine, protocol = result["machine"], result["protocol"]
    others = measures.median([r["others"] for c in result["cases"] for run in c["runners"].values() for r in run["rounds"] if r])
    builds = {protocol["build"]} if "build" in protocol else {r["build_mode"] for c in result["cases"] for r in c["runners"]["belay"]["rounds"] if r}
    clock = lambda key: number(machine[key]["clock_ghz"]["best"]) if machine.get(key) else ""
    return {
        "processor": machine["cpu"],
        "cpus": machine["cpus"],
        "system": machine["system"],
        "date": machine["date"],
        "load_before": machine["load"][0],
        "load_after": machine["load"][1],
        "other_cpus": number(others, 2),
        "priority": machine["priority"],
        **result["versions"],
        "build": ", ".join(sorted(builds)),
        "rounds": protocol["rounds"],
        "warm_up_s": protocol["warm_up"],
        "measured_s": protocol["seconds"],
        "clock_before_ghz": clock("limits"),
        "clock_after_ghz": clock("limits_after"),
    }


def of_result(result, run, cpu, note=""):
    """{table: rows} of a result of bench.py."""
    first = [case for case in result["cases"] if case["threads"] == result["protocol"]["threads"][0]]
    limits = result["machine"].get("limits")
    data = {
        "latency": [row for case in result["cases"] for row in latency_rows(case)],
        "two_threads": [row for case in result["cases"] for row in two_threads_rows(case)],
        "load": [row for case in first for row in load_rows(case)],
        "errors": [
            {"model": case["title"], "runner": runner, "error": f"{entry['error']:.1e}"}
            for case in first for runner, entry in case["runners"].items() if entry["error"] is not None
        ],
        "lowering": [row for entry in result["lowering"] for row in lowering_rows(entry)],
        "language_models": [row for case in result.get("language_models", []) for row in language_rows(case)],
        "language_open": [open_row(case) for case in result.get("language_open", [])],
        "operators": [operator_row(case) for case in result.get("operators", [])],
        "limits": limits_rows(limits) if limits else [],
        "kernels": kernels_rows(result["kernels"], limits) if limits and result.get("kernels") else [],
    }
    for rows in data.values():
        for row in rows:
            row["run"] = run
    data["runs"] = [{"run": run, "cpu": cpu, **run_row(result), "note": note}]
    data["models"] = [
        {"model": case["title"], "instructions": case["instructions"] or "", "bound": f"{case['tolerance']:.0e}"} for case in first
    ] + [{"model": title} for title in dict.fromkeys(case["title"] for case in result.get("language_models", []))]
    return {table: [{column: str(row.get(column, "")) for column in columns} for row in data[table]] for table, columns in COLUMNS.items()}


def add(data, result, cpu="", note=""):
    """`data` with the rows of a result of bench.py. The CPU's short name is that of earlier runs on the same processor, unless given."""
    processor = result["machine"]["cpu"]
    earlier = [row["cpu"] for row in data["runs"] if row["processor"] == processor]
    cpu = cpu or (earlier[-1] if earlier else processor)
    stem = "".join(c for c in cpu.lower() if c.isalnum())
    used = [int(row["run"].rsplit("-", 1)[1]) for row in data["runs"] if row["run"].rsplit("-", 1)[0] == stem]
    return merged(data, of_result(result, f"{stem}-{max(used, default=0) + 1}", cpu, note))
