"""Lowers a model zoo to .pte with Belay and with the real ExecuTorch, and has either run both.

    zoo.py --belay BELAY [--python PYTHON] [--zoo DIR]... [--bench FOLDER[:SUFFIX]]...
           [--only NAME]... [--xnnpack] [--json FILE]

For each model: whether the .pte file of `belay lower --format=pte` gives the recorded results in
ExecuTorch's runtime and in Belay's own, whether ExecuTorch can lower the archive itself and gets
them, and whether Belay gets them from ExecuTorch's file. With --xnnpack both have delegates of XNNPACK, and the row
says how many of the nodes are in them. Prints a row per model, the counts, and the time of both
lowerings, taken in turns. If ExecuTorch's own file executes but has other results than the recorded
ones, Belay is to have the recorded ones or those of ExecuTorch. Exit status 1 when a file fails, or fewer than 95 % of what ExecuTorch can
do match, either way.

--bench is a model of tools/bench: FOLDER/modelSUFFIX.pt2 with in<i>.npy and goldenSUFFIX_<i>.npy.

PYTHON is one that has executorch 1.5. Without it a virtual environment is made in
~/.cache/belay/executorch-1.5 (once, from PyPI); where that fails, it says so and does nothing.
"""

import argparse
import ast
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ZOOS = [os.path.join(HERE, "..", "models", name) for name in ("zoo", "more")]
ENVIRONMENT = os.path.expanduser("~/.cache/belay/executorch-1.5")
SECONDS = 300  # for one question
MAX_SIZE = 64  # of sizes that the archive has no bound for
XNNPACK = ["--backend=xnnpack", "--compile-spec=xnnpack:target=executorch-1.5"]


def find_python(given):
    """A Python with executorch 1.5. If there is none, prints the reason and returns None."""
    python = given or os.path.join(ENVIRONMENT, "bin", "python")
    if not given and not os.path.exists(python):
        made = subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=False)
        made = made.returncode or subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "executorch==1.5.1"],
            check=False).returncode
        if made:
            print("skipped: executorch 1.5.1 can't be installed")
            return None
    probe = subprocess.run([python, "-c", "import executorch.extension.pybindings.portable_lib"],
                           capture_output=True, check=False)
    if probe.returncode:
        print(f"skipped: {python} has no executorch")
        return None
    return python


class Worker:
    """executorch_worker.py, started when it is asked and again when it died."""

    def __init__(self, python):
        self._command = [python, os.path.join(HERE, "executorch_worker.py")]
        self._process = None

    def ask(self, **question):
        """The answer; {"error": …} also when the process dies or takes too long."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True)
        process = self._process
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        timer.cancel()
        if not line:
            return {"error": f"the process ended with status {process.wait()}"}
        return json.loads(line)

    def close(self):
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()


def belay_lower(belay, archive, program, options=()):
    """{"seconds": s} or {"error": message, "refused": whether Belay named what is missing}.

    Sizes without a bound get one of MAX_SIZE, as the error suggests: "max_size" says so then.
    """
    start = time.perf_counter()
    done = subprocess.run([belay, "lower", archive, "--format=pte", "-o", program,
                           f"--report={program}.json", *options],
                          capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode == 0:
        with open(f"{program}.json", encoding="utf-8") as file:
            parts = json.load(file)["delegation"]
        nodes = [sum(part["nodes"] for part in parts if part["backend"] or everything)
                 for everything in (False, True)]
        return {"seconds": seconds, "delegated": nodes}
    bound = f"--max-size={MAX_SIZE}"
    if "give one with --max-size" in done.stderr and bound not in options:
        return {**belay_lower(belay, archive, program, [*options, bound]), "max_size": MAX_SIZE}
    return {"error": done.stderr.strip(), "refused": done.returncode in range(1, 6)}


def belay_run(belay, program, model, folder):
    """{"outputs": files of each case} or {"error": message, "refused": as of belay_lower}."""
    with open(os.path.join(model, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    cases = [os.path.join(model, f"case_{k}") for k in range(len(manifest["cases"]))]
    outputs = []
    # One call sequence per case, except cases that continue with the state of earlier ones.
    for calls in [cases] if manifest.get("stateful_sequence") else [[case] for case in cases]:
        to = os.path.join(folder, f"outputs_{len(outputs)}")
        command = [belay, "run", program, "--json", "--output-dir", to]
        for case in calls:
            command += ["--sequence", case]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return {"error": done.stderr.strip(), "refused": done.returncode == 4}
        for k, call in enumerate(json.loads(done.stdout)["calls"]):
            files = [os.path.join(to, str(k), f"{i}.npy") for i in range(len(call["outputs"]))]
            outputs.append([file if os.path.exists(file) else None for file in files])
    return {"outputs": outputs}


def examine(model, belay, worker, folder, xnnpack=False):
    """One row: what became of the model both ways."""
    # Some models have only the TRAINING archive.
    archive = next((path for name in ("model.pt2", "training.pt2")
                    if os.path.exists(path := os.path.join(model, name))),
                   os.path.join(model, "model.pt2"))
    ours, theirs = os.path.join(folder, "belay.pte"), os.path.join(folder, "executorch.pte")
    row = {"belay": belay_lower(belay, archive, ours, XNNPACK if xnnpack else ())}
    if "error" not in row["belay"]:
        row["belay_run"] = worker.ask(do="run", program=ours, model=model, ours=True)
        row.update(examine_reader("own", ours, model, belay, worker, folder))
    row["executorch"] = worker.ask(do="lower", archive=archive, program=theirs, xnnpack=xnnpack)
    if "error" in row["executorch"]:
        return row
    with tempfile.TemporaryDirectory(dir=folder) as reference:
        run = row["executorch_run"] = worker.ask(do="run", program=theirs, model=model,
                                                 save=reference)
        row.update(examine_reader("reader", theirs, model, belay, worker, folder,
                                  reference if run.get("ran") and "error" in run else None))
    return row


def examine_reader(who, program, model, belay, worker, folder, reference=None):
    """The parts `who` and `who`_run of a row: Belay's run of a .pte file."""
    with tempfile.TemporaryDirectory(dir=folder) as results:
        run = belay_run(belay, program, model, results)
        if "error" in run:
            return {who: run}
        outputs = run.pop("outputs")
        return {who: run, who + "_run": worker.ask(do="compare", outputs=outputs, model=model,
                                                   reference=reference)}


def description_of(path):
    """The leaf of a manifest that says what is in a .npy file."""
    with open(path, "rb") as file:
        length = 2 if file.read(8)[6] == 1 else 4
        header = ast.literal_eval(file.read(int.from_bytes(file.read(length), "little")).decode())
    kinds = {"f4": "float32", "f8": "float64", "i8": "int64", "i4": "int32", "b1": "bool"}
    return {"kind": "tensor", "dtype": kinds[header["descr"][1:]], "file": os.path.basename(path)}


def model_of_bench(text, to):
    """A folder like those of the zoo in `to`, of FOLDER or FOLDER:SUFFIX; its path."""
    folder, _, suffix = text.partition(":")
    model = os.path.join(to, os.path.basename(folder.rstrip("/")) + suffix)
    os.makedirs(os.path.join(model, "case_0"))
    os.symlink(os.path.abspath(os.path.join(folder, f"model{suffix}.pt2")),
               os.path.join(model, "model.pt2"))
    case = {}
    for leaves, there, here in (("inputs", "in", "input_"),
                                ("outputs", f"golden{suffix}_" if suffix else "golden", "output_")):
        case[leaves] = []
        for i in range(len(glob.glob(os.path.join(folder, f"{there}[0-9]*.npy")))):
            link = os.path.join(model, "case_0", f"{here}{i}.npy")
            os.symlink(os.path.abspath(os.path.join(folder, f"{there}{i}.npy")), link)
            case[leaves].append(description_of(link))
    # As in tools/bench: roundings of quantized models differ from PyTorch's.
    manifest = {"relative": 0.3 if suffix else 1e-3, "cases": [case]}
    with open(os.path.join(model, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    return model


def outcome(row, who):
    """"matched", "failed: …", "refused: …", "unrunnable: …", "nothing" where none ran."""
    if who not in row:
        return "nothing"
    if "error" in row[who]:
        word = "refused" if row[who].get("refused", True) else "failed"
        return f"{word}: {row[who]['error']}"
    run = row[who + "_run"]
    if "unrunnable" in run:
        return f"unrunnable: {run['unrunnable']}"
    return f"failed: {run['error']}" if "error" in run else "matched"


def summary(rows):
    """Counts over all rows, and the ratio of the times where both lowered."""
    def names(who, word):
        return {name for name, row in rows.items() if outcome(row, who).startswith(word)}
    ours, theirs = names("belay", "matched"), names("executorch", "matched")
    lowered = {name for name, row in rows.items() if "error" not in row["executorch"]}
    executed = {name for name, row in rows.items() if row.get("executorch_run", {}).get("ran")}
    times = [(row["belay"]["seconds"], row["executorch"]["seconds"]) for row in rows.values()
             if "error" not in row["belay"] and "error" not in row["executorch"]]
    ratios = [ours_seconds / theirs_seconds for ours_seconds, theirs_seconds in times]
    return {
        "models": len(rows),
        "belay": {word: len(names("belay", word))
                  for word in ("matched", "refused", "failed", "unrunnable")},
        "executorch": {"lowered": len(lowered), "executed": len(executed), "matched": len(theirs)},
        "own": {word: len(names("own", word)) for word in ("matched", "refused", "failed")},
        # Files that ExecuTorch itself does not execute have no expectation.
        "reader": {word: len(names("reader", word) & executed)
                   for word in ("matched", "refused", "failed")},
        "share_of_executorch_read":
            len(executed & names("reader", "matched")) / len(executed) if executed else 1.0,
        "both_matched": len(ours & theirs),
        "only_belay_matched": sorted(ours - theirs),
        "only_executorch_matched": sorted(theirs - ours),
        "share_of_executorch_matched": len(ours & theirs) / len(theirs) if theirs else 1.0,
        "share_of_executorch_lowered": len(ours & lowered) / len(lowered) if lowered else 1.0,
        "total_seconds": [sum(column) for column in zip(*times)],
        "total_time_ratio": sum(t[0] for t in times) / sum(t[1] for t in times) if times else None,
        "median_time_ratio": statistics.median(ratios) if ratios else None,
        "largest_time_ratio": max(ratios) if ratios else None,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--belay", required=True, help="the binary")
    parser.add_argument("--python", help="one that has executorch 1.5")
    parser.add_argument("--zoo", action="append", help="folder of models")
    parser.add_argument("--bench", action="append", help="a model of tools/bench")
    parser.add_argument("--only", action="append", help="a model's name")
    parser.add_argument("--xnnpack", action="store_true", help="with delegates of XNNPACK")
    parser.add_argument("--json", help="writes all rows and the summary to this file")
    arguments = parser.parse_args()
    python = find_python(arguments.python)
    if python is None:
        return 0
    zoos = arguments.zoo or ([] if arguments.bench else ZOOS)
    models = [os.path.join(zoo, name) for zoo in zoos for name in sorted(os.listdir(zoo))
              if os.path.exists(os.path.join(zoo, name, "manifest.json"))]
    worker = Worker(python)
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        models += [model_of_bench(text, folder) for text in arguments.bench or []]
        for model in models:
            name = os.path.basename(model)
            if arguments.only and name not in arguments.only:
                continue
            row = rows[name] = examine(model, arguments.belay, worker, folder, arguments.xnnpack)
            for who in ("belay", "own", "executorch", "reader"):
                lines = outcome(row, who).splitlines()
                nodes = row.get(who, {}).get("delegated", [0])
                share = f" ({nodes[0]} of {nodes[1]} nodes in delegates)" if nodes[0] else ""
                bound = row.get(who, {}).get("max_size")
                share += f" (sizes without a bound: up to {bound})" if bound else ""
                print(f"{name:28} {who:10} {lines[0][:140]}{share}")
                for line in lines[1:] if who == "belay" else []:
                    print(f"{'':40}{line.strip()[:140]}")
            sys.stdout.flush()
    worker.close()
    total = summary(rows)
    print(json.dumps(total, indent=1))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "summary": total}, file, indent=1)
    failed = (any(total[who]["failed"] > 0 for who in ("belay", "own", "reader")) or
              min(total["share_of_executorch_matched"], total["share_of_executorch_read"]) < 0.95)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
