"""Lowers a model zoo to .pte with Belay and has the real ExecuTorch run it.

    zoo.py --belay BELAY [--python PYTHON] [--zoo DIR]... [--only NAME]... [--xnnpack] [--json FILE]

For each model: whether the .pte file of `belay lower --format=pte` gives the recorded results in
ExecuTorch's runtime, and whether ExecuTorch can lower the archive itself and gets them. With
--xnnpack Belay's have delegates of XNNPACK. Prints a
row per model, the counts, and the time of both lowerings, taken in turns. Exit status 1 when a file
that Belay wrote fails, or fewer than 95 % of what ExecuTorch can do match.

PYTHON is one that has executorch 1.5. Without it a virtual environment is made in
~/.cache/belay/executorch-1.5 (once, from PyPI); where that fails, it says so and does nothing.
"""

import argparse
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
XNNPACK = ["--backend=xnnpack", "--compile-spec=xnnpack:target=executorch-1.5"]


def find_python(given):
    """A Python with executorch 1.5; None, with a line that says why, where there is none."""
    python = given or os.path.join(ENVIRONMENT, "bin", "python")
    if not given and not os.path.exists(python):
        made = subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=False)
        made = made.returncode or subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "executorch==1.5.0"],
            check=False).returncode
        if made:
            print("skipped: executorch 1.5.0 can't be installed")
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
    """{"seconds": s} or {"error": message, "refused": whether Belay named what is missing}."""
    start = time.perf_counter()
    done = subprocess.run([belay, "lower", archive, "--format=pte", "-o", program, *options],
                          capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode == 0:
        return {"seconds": seconds}
    return {"error": done.stderr.strip(), "refused": done.returncode in range(1, 6)}


def examine(model, belay, worker, folder, options=()):
    """One row: what became of the model both ways."""
    archive = os.path.join(model, "model.pt2")
    ours, theirs = os.path.join(folder, "belay.pte"), os.path.join(folder, "executorch.pte")
    row = {"belay": belay_lower(belay, archive, ours, options)}
    if "error" not in row["belay"]:
        row["belay_run"] = worker.ask(do="run", program=ours, model=model, ours=True)
    row["executorch"] = worker.ask(do="lower", archive=archive, program=theirs)
    if "error" not in row["executorch"]:
        row["executorch_run"] = worker.ask(do="run", program=theirs, model=model)
    return row


def outcome(row, who):
    """"matched", "failed: …", "refused: …" or "unrunnable: …"."""
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
    times = [(row["belay"]["seconds"], row["executorch"]["seconds"]) for row in rows.values()
             if "error" not in row["belay"] and "error" not in row["executorch"]]
    ratios = [ours_seconds / theirs_seconds for ours_seconds, theirs_seconds in times]
    return {
        "models": len(rows),
        "belay": {word: len(names("belay", word))
                  for word in ("matched", "refused", "failed", "unrunnable")},
        "executorch": {"lowered": len(lowered), "matched": len(theirs)},
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
    parser.add_argument("--only", action="append", help="a model's name")
    parser.add_argument("--xnnpack", action="store_true", help="with delegates of XNNPACK")
    parser.add_argument("--json", help="writes all rows and the summary to this file")
    arguments = parser.parse_args()
    python = find_python(arguments.python)
    if python is None:
        return 0
    models = [os.path.join(zoo, name) for zoo in arguments.zoo or ZOOS
              for name in sorted(os.listdir(zoo))
              if os.path.exists(os.path.join(zoo, name, "manifest.json"))]
    worker = Worker(python)
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            name = os.path.basename(model)
            if arguments.only and name not in arguments.only:
                continue
            row = rows[name] = examine(model, arguments.belay, worker, folder,
                                       XNNPACK if arguments.xnnpack else ())
            for who in ("belay", "executorch"):
                lines = outcome(row, who).splitlines()
                print(f"{name:28} {who:10} {lines[0][:140]}")
                for line in lines[1:] if who == "belay" else []:
                    print(f"{'':40}{line.strip()[:140]}")
            sys.stdout.flush()
    worker.close()
    total = summary(rows)
    print(json.dumps(total, indent=1))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "summary": total}, file, indent=1)
    failed = total["belay"]["failed"] > 0 or total["share_of_executorch_matched"] < 0.95
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
