#!/usr/bin/env python3
"""Measures a language model beside llama.cpp, OpenVINO and ExecuTorch: tokens per second of prompts and of generation, time to the first token.

  tools/bench/language_models.py --gguf DIR --llama-cpp PREFIX --title NAME [--output docs/benchmarks]

DIR has the model as one or more files NAME.gguf, such as Q4_K_M.gguf; missing files NAME.belay are
imported from them. PREFIX is an installed llama.cpp (include/llama.h, lib/libllama.so), built for
this CPU. openvino_llm.py and executorch_llm.py write the models of --openvino and --executorch. Each round runs all in fresh
processes, alternately; figures are medians over the rounds.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

import bench
import figures
import measures
import pages

HERE = pathlib.Path(__file__).resolve().parent
TESTS = ("pp128", "pp512", "pp2048", "tg16", "tg512", "tg4000")
GENERATED = 24
CONTEXT_LENGTH = 4352
PROMPT = "Once upon a time"


class LanguageBench(bench.Bench):
    def __init__(self, options, work):
        super().__init__(options, work)
        self.llama_bench = work / "llama_bench"

    def compile_peer(self):
        prefix = pathlib.Path(self.options.llama_cpp).resolve()
        libraries = [f"-l{name}" for name in ("llama", "ggml", "ggml-base", "ggml-cpu") if (prefix / f"lib/lib{name}.so").exists()]
        # The libraries' own dependencies are found by the path, not by the runpath of this binary.
        os.environ["LD_LIBRARY_PATH"] = str(prefix / "lib")
        self.finish(self.start([
            "g++", "-O2", "-std=c++17", HERE / "llama_bench.cc", f"-I{prefix / 'include'}", f"-L{prefix / 'lib'}", *libraries,
            "-o", self.llama_bench]))

    def program(self, gguf):
        path = gguf.with_suffix(".belay")
        if not path.exists():
            saved = self.work / "model.bir"
            self.finish(self.start([self.options.belay, "import-gguf", gguf, "-o", saved, "--context-length", CONTEXT_LENGTH]))
            self.finish(self.start([self.options.belay, "lower", saved, "-o", path]))
        return path

    def belay_tests(self, program, threads, tests):
        """{test: tokens per second} of one run."""
        result = {}
        for kind, other, sizes in (("pp", ("--tg", 0), "--pp"), ("tg", ("--pp", 0, "--tg", GENERATED), "--depth")):
            numbers = [test[2:] for test in tests if test.startswith(kind)]
            if not numbers:
                continue
            command = [self.options.belay, "bench", program, "--llm", *other, sizes, ",".join(numbers), "--repetitions", 1]
            for row in self.json_of([*command, "--threads", threads, "--json"], self.cpus(threads)):
                result[f"{kind}{row['n_prompt' if kind == 'pp' else 'n_depth']}"] = row["avg_ts"]
        return result

    def llama_tests(self, gguf, threads):
        command = [self.llama_bench, gguf, threads, CONTEXT_LENGTH, ",".join(self.options.tests), GENERATED]
        return self.json_of(command, self.cpus(threads))["tests"]

    def openvino_tests(self, model, threads):
        command = [self.options.peers_python, HERE / "openvino_llm.py", "bench", model, threads, ",".join(self.options.tests), GENERATED]
        return self.json_of(command, self.cpus(threads))["tests"]

    def opened(self, command):
        """Wall time and peak memory of a process."""
        start = time.perf_counter()
        process = self.start(command, self.cpus(1))
        # wait4 reports the peak memory of this child only.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        self.finish(process)
        return {"seconds": seconds, "mb": usage.ru_maxrss / 1024}

    def open_case(self, gguf, program):
        ours = [self.options.belay, "generate", program, "--prompt", PROMPT, "--max-tokens", 1, "--threads", 1]
        theirs = [self.llama_bench, gguf, 1, CONTEXT_LENGTH, "first", PROMPT]
        # The first of each reads the file into the cache.
        rounds = [{"belay": self.opened(ours), "llama_cpp": self.opened(theirs)} for _ in range(1 + self.options.rounds)]
        return {"title": self.options.title, "weights": gguf.stem, "rounds": rounds[1:]}

    def case(self, gguf, program, threads):
        runners = {
            "belay": lambda: self.belay_tests(program, threads, self.options.tests),
            "llama_cpp": lambda: self.llama_tests(gguf, threads),
        }
        case = {"title": self.options.title, "weights": gguf.stem, "threads": threads}
        if openvino := self.options.openvino.get(gguf.stem):
            case["peer_weights"] = {"openvino": openvino.stem}
            runners["openvino"] = lambda: self.openvino_tests(openvino, threads)
        case["rounds"] = [{name: run() for name, run in runners.items()} for _ in range(self.options.rounds)]
        return case

    def executorch_case(self, program, model, threads):
        """One token after 16: the only test of executorch_llm.py."""
        command = [self.options.peers_python, HERE / "executorch_llm.py", "bench", model, threads, 2]
        rounds = [
            {"belay": self.belay_tests(program, threads, ["tg16"]), "et_xnn": self.json_of(command, self.cpus(threads))["tests"]}
            for _ in range(self.options.rounds)
        ]
        return {"title": self.options.title, "weights": program.stem, "threads": threads, "rounds": rounds}

    def log_case(self, case):
        for peer, tests in list(case["rounds"][0].items())[1:]:
            bench.log(f"{case['weights']}, {case['threads']} threads, {peer}: " + ", ".join(
                f"{test} {measures.median([r['belay'][test] / r[peer][test] for r in case['rounds']]):.2f}" for test in tests))

    def measure_files(self, save):
        result = self.measure([], save)
        result["versions"]["llama_cpp"] = self.options.llama_cpp_version
        result["language_models"], result["language_open"] = [], []
        self.compile_peer()
        for gguf in sorted(self.data.glob("*.gguf"), key=lambda path: path.stat().st_size):
            program = self.program(gguf)
            result["language_open"].append(self.open_case(gguf, program))
            for threads in self.options.threads:
                case = self.case(gguf, program, threads)
                result["language_models"].append(case)
                save(result)
                self.log_case(case)
        for program, model in self.options.executorch:
            for threads in self.options.threads:
                case = self.executorch_case(program, model, threads)
                result["language_models"].append(case)
                save(result)
                self.log_case(case)
        return result


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gguf", dest="data", required=True, help="the folder of GGUF files")
    parser.add_argument("--llama-cpp", required=True, metavar="PREFIX", help="an installed llama.cpp")
    parser.add_argument("--llama-cpp-version", default="unknown", help="for the table of runs")
    parser.add_argument("--title", required=True, help="the name of the model")
    parser.add_argument("--openvino", action="append", default=[], metavar="NAME=FILE.xml", help="compared with NAME.gguf; repeatable")
    parser.add_argument(
        "--executorch", action="append", default=[], metavar="PROGRAM.belay=FILE.pte",
        help="the same quantized model, lowered by both; repeatable")
    parser.add_argument("--peers-python", help="a Python with openvino, executorch")
    parser.add_argument("--tests", default=",".join(TESTS), help="pp: tokens of a prompt; tg: generation after so many tokens")
    parser.add_argument("--threads", default="1,2", help="comma separated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=1800, help="seconds of each process")
    parser.add_argument("--real-time", type=int, default=0, metavar="PRIORITY", help="chrt -f PRIORITY; recorded in the table of runs")
    parser.add_argument("--belay", default="bazel-bin/tools/belay/belay")
    parser.add_argument("--build", default="optimized", help="for the table of runs")
    parser.add_argument("--version", help="version of Belay in the table of runs; default: the commit of these sources")
    parser.add_argument("--output", help="folder of pages and data/, to which the run is added; default: the page on stdout")
    parser.add_argument("--cpu", default="", help="short name of the CPU in the pages")
    parser.add_argument("--note", default="", help="text in the table of runs")
    parser.add_argument("--json", help="everything measured, after every file")
    options = parser.parse_args(arguments)
    options.threads = [int(threads) for threads in options.threads.split(",")]
    options.tests = options.tests.split(",")
    options.openvino = {name: pathlib.Path(path).resolve() for name, path in (text.split("=", 1) for text in options.openvino)}
    options.executorch = [tuple(pathlib.Path(path).resolve() for path in text.split("=", 1)) for text in options.executorch]
    peers = {"openvino": options.openvino, "et_xnn": options.executorch}
    options.peers, options.xnnpack = ",".join(peer for peer, files in peers.items() if files), False
    options.limits = options.kernels = ""
    options.warm_up = options.seconds = ""
    return options


def main(arguments):
    options = parse(arguments)

    def save(result):
        if options.json:
            figures.write(options.json, json.dumps(result, indent=1))

    with tempfile.TemporaryDirectory() as work:
        result = LanguageBench(options, pathlib.Path(work)).measure_files(save)
    result["protocol"]["build"] = options.build
    if options.output:
        bench.add_run(pathlib.Path(options.output), result, options)
    else:
        no_data = {name: [] for name in figures.COLUMNS}
        print(pages.pages_of(figures.add(no_data, result, options.cpu, options.note))["language_models.md"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
