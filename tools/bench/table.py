"""Writes Markdown tables of bench.py's results. Standard library only."""

import measures

OURS = ("belay", "belay_xnnpack")
TITLES = {"belay": "Belay", "belay_xnnpack": "Belay+XNNPACK", "et_xnn": "ExecuTorch+XNNPACK", "ort": "ONNX Runtime", "openvino": "OpenVINO"}


def title(runner):
    return TITLES.get(runner, runner)


def number(x, digits=3):
    """With `digits` significant digits, but never fewer than the integer has; "–" for None."""
    if x is None:
        return "–"
    if x == 0:
        return "0"
    integer_digits = len(str(int(abs(x)))) if abs(x) >= 1 else 0
    leading_zeros = 0
    while integer_digits == 0 and abs(x) * 10 ** (leading_zeros + 1) < 1 and leading_zeros < 9:
        leading_zeros += 1
    return f"{x:.{max(0, digits - integer_digits + leading_zeros)}f}"


def times(r):
    """A ratio."""
    return "–" if r is None else f"{r:.2f}"


def rows(header, lines):
    """A table; a | in a cell would end it."""
    text = lambda cell: str(cell).replace("|", "\\|").replace("\n", " ")
    out = ["| " + " | ".join(map(text, header)) + " |", "|" + " --- |" * len(header)]
    out += ["| " + " | ".join(map(text, line)) + " |" for line in lines]
    return "\n".join(out) + "\n"


def counted(case):
    """{runner: rounds} of runners with correct output; the times of others do not count."""
    return {name: run["rounds"] for name, run in case["runners"].items() if run["verdict"] == "right"}


def cell(case, runner, key, digits=3):
    run = case["runners"].get(runner)
    if run is None:
        return "–"
    if run["verdict"] != "right":
        return f"**{run['verdict']}**"
    return number(measures.figure(run["rounds"], key), digits)


def to_best(case):
    """The best peer's name and the ratio of Belay's time to its; (None, None) if one is missing."""
    good = counted(case)
    peer = measures.best({name: rounds for name, rounds in good.items() if name not in OURS})
    return (peer, measures.ratio(good["belay"], good[peer])) if peer and "belay" in good else (None, None)


def latency(result, threads):
    cases = [case for case in result["cases"] if case["threads"] == threads]
    peers = [p for p in result["runners"] if p != "belay"]
    lines = []
    for case in cases:
        good = counted(case)
        line = [case["title"], cell(case, "belay", "latency_ms_median")]
        for peer in peers:
            text = cell(case, peer, "latency_ms_median")
            both = "belay" in good and peer in good
            line.append(f"{text} ({times(measures.ratio(good['belay'], good[peer]))})" if both else text)
        if peers:
            peer, r = to_best(case)
            line.append(f"**{times(r)}** behind" if r is not None and r > 1 else times(r))
        lines.append(line)
    best = ["to the best peer" if "belay_xnnpack" in peers else "to the best"] if peers else []
    header = ["model", "Belay ms"] + [f"{title(p)} ms (Belay to it)" for p in peers] + best
    return rows(header, lines)


def behind(result):
    """A line per case that Belay loses, or in which any output is wrong."""
    lines = []
    for case in result["cases"]:
        name = f"{case['title']}, {case['threads']} thread{'s' if case['threads'] > 1 else ''}"
        peer, r = to_best(case)
        if r is not None and r > 1:
            lines.append(f"- {name}: {times(r)} times {title(peer)}")
        for runner, run in case["runners"].items():
            if run["verdict"] != "right":
                lines.append(f"- {name}: {title(runner)} {run['verdict']}: {run['why']}")
    return "\n".join(lines or ["None."]) + "\n"


def machine(result):
    m = result["machine"]
    lines = [["CPU", m["cpu"]], ["CPUs · system", f"{m['cpus']} · {m['system']}"], ["date", m["date"]]]
    lines += [["load when it began · when it ended", f"{m['load'][0]} · {m['load'][1]}"]]
    others = measures.median([r["others"] for c in result["cases"] for run in c["runners"].values() for r in run["rounds"] if r])
    lines += [["CPUs that others used meanwhile (median)", number(others, 2)]]
    lines += [["priority", m["priority"]]]
    lines += [[title(name), version] for name, version in result["versions"].items()]
    modes = {r["build_mode"] for c in result["cases"] for r in c["runners"]["belay"]["rounds"] if r}
    lines += [["Belay's build", ", ".join(sorted(modes))]] if modes else []
    p = result["protocol"]
    lines += [["rounds · warm-up · measured", f"{p['rounds']} · {p['warm_up']} s · {p['seconds']} s"]]
    before, after = m.get("limits"), m.get("limits_after")
    if before and after:
        moved = after["clock_ghz"]["best"] / before["clock_ghz"]["best"] - 1
        note = " **(moved by more than 3 %: trust no figure)**" if abs(moved) > 0.03 else ""
        lines += [["clock before · after", f"{number(before['clock_ghz']['best'])} · {number(after['clock_ghz']['best'])} GHz{note}"]]
    return rows(["", ""], lines)


def errors(result):
    lines = []
    for case in result["cases"]:
        if case["threads"] != result["protocol"]["threads"][0]:
            continue
        line = [case["title"], f"{case['tolerance']:.0e}"]
        for runner in result["runners"]:
            run = case["runners"].get(runner)
            line.append("–" if run is None or run["error"] is None else f"{run['error']:.1e}")
        lines.append(line)
    return rows(["model", "bound"] + [title(r) for r in result["runners"]], lines)


def load_and_memory(result):
    lines = []
    for case in result["cases"]:
        if case["threads"] != result["protocol"]["threads"][0]:
            continue
        line = [case["title"]]
        for key in ("load_ms", "first_inference_ms", "peak_rss_mb"):
            line.append(" · ".join(cell(case, r, key, 2) for r in result["runners"]))
        lines.append(line)
    names = " · ".join(title(r) for r in result["runners"])
    return names + ".\n\n" + rows(["model", "open to ready, ms", "first call, ms", "peak memory, MB"], lines)


def lowering(result):
    """ExecuTorch is with XNNPACK; Belay's .pte files for the same library are included if they were written."""
    lines = []
    with_pte = "belay_xnnpack" in result["runners"]
    ratio = lambda ours, theirs: f"{ours['seconds'] / theirs['seconds']:.4f}" if ours and theirs else "–"
    for entry in result["lowering"]:
        ours, theirs, pte = (entry.get(who) for who in ("belay", "et_xnn", "pte"))
        lines.append([
            entry["title"],
            number(ours["seconds"]) if ours else "**failed**",
            number(ours["peak_mb"], 2) if ours else "–",
            number(theirs["seconds"]) if theirs else "–",
            ratio(ours, theirs),
        ] + ([number(pte["seconds"]) if pte else "**failed**", ratio(pte, theirs)] if with_pte else []))
    header = ["model", "Belay s", "peak MB", "ExecuTorch s", "Belay to it"]
    return rows(header + (["Belay's .pte s", ".pte to ExecuTorch"] if with_pte else []), lines)


def scaling(result):
    lines = []
    for case in result["cases"]:
        if "pairs" not in case or "belay" not in counted(case):
            continue
        two = counted(case)["belay"]
        # Two processes finish two calls in the time of one; two threads finish one.
        share = measures.median([p / (2 * r["latency_ms_median"]) for p, r in zip(case["pairs"], two) if p and r])
        line_ns = " · ".join(f"{ns:.0f}" for ns in case.get("line_ns", [])) or "–"
        lines.append([case["title"], number(measures.figure(two, "latency_ms_median")), number(measures.median(case["pairs"])), times(share), line_ns])
    header = ["model", "two threads, ms", "two processes at once, ms each", "throughput of threads to processes", "cache line round trip, ns"]
    return rows(header, lines) if lines else ""


def overhead(result):
    lines = []
    for case in result["cases"]:
        if not case.get("instructions"):
            continue
        line = [case["title"], case["threads"]]
        for runner in result["runners"]:
            ms = measures.figure(counted(case).get(runner, []), "latency_ms_median")
            line.append(number(ms and 1e6 * ms / case["instructions"]))
        lines.append(line)
    return rows(["model", "threads"] + [f"{title(r)} ns" for r in result["runners"]], lines) if lines else ""


def limits(result):
    lines = []
    for key, value in result["machine"]["limits"].items():
        if isinstance(value, dict) and "best" in value:
            lines.append([f"`{key}`", number(value["best"]), number(value["median"])])
        elif value is None:
            lines.append([f"`{key}`", "not there", ""])
    return rows(["limit", "best", "median"], lines)


def kernels(result):
    lines = []
    for row in result["kernels"]["rows"]:
        least = measures.least_microseconds(row, result["machine"]["limits"])
        share = "–" if least is None else f"{100 * least / row['us_least']:.0f} %"
        rate = row["operations"] / row["us_least"] / 1e3
        lines.append([row["model"], row["what"], number(row["us_least"]), number(row["us_median"]), number(rate), share])
    return rows(["model", "kernel", "least µs", "median µs", "G operations/s", "share of the limit"], lines)


def markdown(result):
    """The page. Parts that were not measured are omitted."""
    out = ["# Benchmarks\n", "Written by `tools/bench/bench.py`; how it measures: [tools/bench](../tools/bench/README.md).\n", machine(result)]
    for threads in result["protocol"]["threads"]:
        if any(case["threads"] == threads for case in result["cases"]):
            out += [f"## Latency, {threads} thread{'s' if threads > 1 else ''}\n", latency(result, threads)]
    out += ["## Behind, wrong or failed\n", behind(result)]
    parts = [
        ("Two threads", scaling(result)),
        ("Per instruction", overhead(result)),
        ("Load and memory", load_and_memory(result) if result["cases"] else ""),
        ("Errors to PyTorch", errors(result) if result["cases"] else ""),
        ("Lowering", lowering(result) if result["lowering"] else ""),
        ("Limits of the machine", limits(result) if result["machine"].get("limits") else ""),
        ("Kernels, one thread", kernels(result) if result.get("kernels") and result["machine"].get("limits") else ""),
    ]
    for heading, text in parts:
        if text:
            out += [f"## {heading}\n", text]
    return "\n".join(out)
