"""Tests the driver: its arithmetic, data files, pages, and a run on a small model, without peers. Started by bench_test.sh."""

import array
import contextlib
import io
import json
import math
import os
import pathlib
import shutil
import stat
import tempfile
import unittest
import xml.etree.ElementTree

import bench
import census
import figures
import measures
import pages


def npy(path, numbers, code="f", descr="<f4", shape=None):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape or (len(numbers),)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + array.array(code, numbers).tobytes()
    pathlib.Path(path).write_bytes(data)


def rounds(*medians):
    return [None if m is None else {"latency_ms_median": m, "others": 0.0} for m in medians]


class MeasuresTest(unittest.TestCase):
    def test_ratio_is_median_of_round_ratios(self):
        # A machine that is twice as slow in the second round does not change ratios.
        self.assertEqual(measures.ratio(rounds(1, 2, 4), rounds(2, 4, 4)), 0.5)
        self.assertNotEqual(measures.ratio(rounds(1, 2, 4), rounds(2, 4, 4)), 2 / 4 + 0.25)

    def test_ratio_skips_unfinished_rounds(self):
        self.assertEqual(measures.ratio(rounds(1, None, 9), rounds(2, 1, None)), 0.5)
        self.assertIsNone(measures.ratio(rounds(None), rounds(1)))

    def test_median_of_even_count_is_mean_of_two(self):
        self.assertEqual(measures.median([4, 1, None, 2, 3]), 2.5)
        self.assertIsNone(measures.median([None]))

    def test_best_is_smallest_median(self):
        self.assertEqual(measures.best({"a": rounds(1, 9, 9), "b": rounds(5, 5, 5), "c": rounds(None)}), "b")
        self.assertIsNone(measures.best({"a": rounds(None)}))

    def test_relative_error(self):
        self.assertEqual(measures.relative_error([3, 4], [3, 4]), 0)
        self.assertAlmostEqual(measures.relative_error([3, 4.5], [3, 4]), 0.1)
        self.assertEqual(measures.relative_error([1], [1, 2]), math.inf)
        self.assertEqual(measures.relative_error([1], [0]), math.inf)
        self.assertEqual(measures.relative_error([0], [0]), 0)
        self.assertTrue(math.isnan(measures.relative_error([math.nan], [1])))

    def test_nan_is_worst_error(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [f"{folder}/{name}.npy" for name in ("good", "nan")]
            npy(paths[0], [1, 2]), npy(paths[1], [1, math.nan])
            self.assertTrue(math.isnan(measures.worst_error(paths, [paths[0], paths[0]])))

    def test_reads_npy_files(self):
        with tempfile.TemporaryDirectory() as folder:
            npy(f"{folder}/x.npy", [1, -2, 3, 4, 5, 6], "q", "<i8", (2, 3))
            shape, numbers = measures.read_npy(f"{folder}/x.npy")
            self.assertEqual((shape, list(numbers)), ((2, 3), [1, -2, 3, 4, 5, 6]))
            npy(f"{folder}/short.npy", [1], shape=(2,))
            with self.assertRaisesRegex(ValueError, "expected 2 elements, got 1"):
                measures.read_npy(f"{folder}/short.npy")
            npy(f"{folder}/big.npy", [1], descr=">f4")
            with self.assertRaisesRegex(ValueError, "little-endian"):
                measures.read_npy(f"{folder}/big.npy")

    def test_kernel_limit_is_compute_or_constants(self):
        rate = lambda best: {"best": best, "median": best}
        limits = {"peak_t1": rate(100), "read_l1_gbs_t1": rate(200), "read_memory_gbs_t1": rate(10)}
        limits["cache_bytes"] = {"l1": 1000, "l2": 1000, "l3": 1000}
        row = {"peak": "peak", "operations": 1e6, "constant_bytes": 1000, "from_memory": False}
        self.assertAlmostEqual(measures.least_microseconds(row, limits), 10)
        self.assertAlmostEqual(measures.least_microseconds({**row, "constant_bytes": 1e6}, limits), 100)
        self.assertAlmostEqual(measures.least_microseconds({**row, "from_memory": True, "operations": 0}, limits), 0.1)
        self.assertIsNone(measures.least_microseconds({**row, "peak": "other"}, limits))


def run_of(verdict, *medians):
    return {"verdict": verdict, "why": "because", "error": 0.5, "rounds": rounds(*medians)}


def case_of(model="net", threads=1, **runners):
    return {"title": model, "threads": threads, "tolerance": 1e-3, "instructions": 0, "runners": runners}


def result_of(*cases, processor="Fast CPU", commit="c0"):
    """A result of bench.py without limits and kernels."""
    return {
        "machine": {"cpu": processor, "cpus": 2, "system": "Linux", "date": "2026-01-01", "load": ["0.1", "0.2"], "priority": "as usual", "limits": None},
        "versions": {"belay": commit},
        "protocol": {"rounds": 2, "warm_up": 1, "seconds": 1, "threads": [1]},
        "lowering": [],
        "cases": [
            {**case, "runners": {name: {**run, "rounds": [{**r, "build_mode": "optimized"} for r in run["rounds"]]} for name, run in case["runners"].items()}}
            for case in cases
        ],
    }


NO_DATA = {name: [] for name in figures.COLUMNS}


def pages_of(*cases):
    return pages.pages_of(figures.add(NO_DATA, result_of(*cases)))


class SummaryTest(unittest.TestCase):
    def test_names_worst_model_and_geometric_mean(self):
        def case(model, threads, ours, theirs, verdict="right"):
            runners = {"belay": {"verdict": "right", "rounds": rounds(*ours)}}
            runners["ort"] = {"verdict": verdict, "rounds": rounds(*theirs)}
            return {"model": model, "threads": threads, "runners": runners}

        cases = [case("a", 1, [1, 1], [2, 2]), case("b", 1, [4, 4], [2, 2]), case("c", 1, [9], [1], "wrong"), case("a", 2, [3], [4])]
        self.assertEqual(
            bench.summary(cases),
            [
                "threads 1: geometric mean 1.00 of the best peer's time, above 1.0: 1 of 2, worst: b 2.00",
                "threads 2: geometric mean 0.75 of the best peer's time, above 1.0: 0 of 1, worst: a 0.75",
            ],
        )
        self.assertEqual(bench.summary([case("c", 1, [9], [1], "wrong")]), [])

    def test_wild_models_are_chosen_by_one_word(self):
        names = [model.name for model in bench.chosen_models("wild", "/nowhere")]
        self.assertEqual(names, bench.wild_models.NAMES)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(bench.chosen_models(names[0], "/nowhere")[0].folder, names[0])


class FiguresTest(unittest.TestCase):
    def test_formats_three_digits(self):
        written = [figures.number(x) for x in (0, 1, 12.345, 1234.5, 0.01234, None)]
        self.assertEqual(written, ["0", "1.00", "12.3", "1234", "0.0123", ""])

    def test_written_files_read_back(self):
        data = figures.add(NO_DATA, result_of(case_of(belay=run_of("right", 3), ort=run_of("right", 2))), note="two\nlines\tand a tab")
        with tempfile.TemporaryDirectory() as folder:
            figures.save(folder, data)
            again = figures.read(folder)
        self.assertEqual(again["latency"], data["latency"])
        self.assertEqual(again["runs"][0]["note"], "two lines and a tab")

    def test_later_run_replaces_models_of_its_cpu(self):
        two_models = result_of(case_of("a", belay=run_of("right", 1)), case_of("b", belay=run_of("right", 2)))
        data = figures.add(NO_DATA, two_models, cpu="Fast")
        data = figures.add(data, result_of(case_of("b", belay=run_of("right", 3)), commit="c1"))
        data = figures.add(data, result_of(case_of("b", belay=run_of("right", 4)), processor="Other"), cpu="Slow")
        self.assertEqual([row["run"] for row in data["runs"]], ["fast-1", "fast-2", "slow-1"])
        self.assertEqual([(r["run"], r["model"], r["ms"]) for r in data["latency"]], [("fast-1", "a", "1.00"), ("fast-2", "b", "3.00"), ("slow-1", "b", "4.00")])
        written = pages.pages_of(data)
        self.assertIn("| b | 3.00 | – | 4.00 | – |", written["latency.md"])
        self.assertIn("| models | all others | b | all |", written["README.md"])

    def test_runs_without_rows_are_dropped(self):
        data = figures.add(NO_DATA, result_of(case_of(belay=run_of("right", 1))))
        data = figures.add(data, result_of(case_of(belay=run_of("right", 2)), commit="c1"))
        self.assertEqual([(row["run"], row["belay"]) for row in data["runs"]], [("fastcpu-2", "c1")])

    def test_names_line_of_malformed_file(self):
        data = figures.add(NO_DATA, result_of(case_of(belay=run_of("right", 1))))
        for change, message in (
            (("fastcpu-1\t", "other\t"), "latency.tsv:2: unknown run 'other'; runs.tsv has: fastcpu-1"),
            (("\tnet\t", "\tweb\t"), "latency.tsv:2: unknown model 'web'; models.tsv has: net"),
            (("\tbelay\t", "\t"), "latency.tsv:2: expected 8 cells, got 7"),
            (("run\t", "\t"), "latency.tsv:1: expected the columns run, threads"),
        ):
            with self.subTest(message), tempfile.TemporaryDirectory() as folder:
                figures.save(folder, data)
                path = pathlib.Path(folder, "latency.tsv")
                path.write_text(path.read_text().replace(*change))
                with self.assertRaisesRegex(figures.BadData, message):
                    figures.read(folder)


class CensusTest(unittest.TestCase):
    def row(self, name, kind, *shapes):
        tensors = [{"dtype": "float32", "shape": list(shape)} for shape in shapes]
        return {"operator": name, "kind": kind, "calls": "1", "models": "1", "arguments": json.dumps({"args": [tensors], "kwargs": {}})}

    def test_selects_from_the_smallest_to_the_largest_of_each_kind(self):
        rows = [self.row("cat.default", "", (size, 2)) for size in (5, 1, 4, 2, 3)] + [self.row("add.Tensor", "", (9,))]
        sizes = lambda count: [census.elements(row) for row in census.selected(rows, count)]
        self.assertEqual(sizes(1), [10, 9])
        self.assertEqual(sizes(2), [6, 10, 9])
        self.assertEqual(sizes(9), [2, 4, 6, 8, 10, 9])

    def test_titles_tell_rows_apart(self):
        row = self.row("conv2d.default", "dense 3x3", (1, 8, 4, 4), (8, 8, 3, 3))
        self.assertEqual(census.title(row, 7), "conv2d.default dense 3x3 1x8x4x4 #7")

    def test_file_has_tensors_with_sizes_in_each_row(self):
        rows = census.read()
        self.assertGreater(len(rows), 1000)
        for row in rows:
            arguments = json.loads(row["arguments"])
            self.assertEqual(sorted(arguments), ["args", "kwargs"])
            self.assertTrue(census.tensors_of(arguments), row)


class OperatorsTest(unittest.TestCase):
    def case(self, name, belay, eager, ratio, roof):
        return {"name": name, "ms": {"belay": belay, "eager": eager}, "best": "eager", "ratio": ratio, "roof_percent": roof}

    def test_page_lists_slow_cases_and_those_far_from_the_roof(self):
        cases = [
            self.case("add.Tensor 8 #0", 0.002, 0.001, 2.0, 1),
            self.case("add.Tensor 900 #1", 0.1, 0.2, 0.5, 90),
            self.case("conv2d.default dense #2", 0.3, 0.2, 1.5, 40),
        ]
        page = pages.pages_of(figures.add(NO_DATA, {**result_of(), "operators": cases}))["operators.md"]
        self.assertIn("3 cases, geometric mean 1.14.", page)
        self.assertIn("| add | 2 | 1.00 | 2.00 | – |", page)
        self.assertIn("| conv2d | 1 | 1.50 | 1.50 | 1 |", page)
        line = "| conv2d.default dense #2 | 300 | 200 | – | – | 1.50 | 40 |"
        self.assertEqual(page.count(line), 2)
        self.assertNotIn("| add.Tensor 8 #0", page)


class LanguageModelsTest(unittest.TestCase):
    def test_page_has_rates_and_ratios_per_test(self):
        rounds = [{"belay": {"pp128": 300, "tg16": 20 + i}, "llama_cpp": {"pp128": 100, "tg16": 40}} for i in range(3)]
        result = {**result_of(), "language_models": [{"title": "Small", "weights": "Q4_0", "threads": 1, "rounds": rounds}]}
        result["protocol"]["build"] = "optimized"
        result["versions"]["llama_cpp"] = "b1"
        written = pages.pages_of(figures.add(NO_DATA, result))
        self.assertIn("| Q4_0 | prompt of 128 | 300 | 100 | 3.00 |", written["language_models.md"])
        self.assertIn("| Q4_0 | generation after 16 | 21.0 | 40.0 | **0.53** |", written["language_models.md"])
        self.assertIn("## Small, 1 thread", written["language_models.md"])
        self.assertIn("| llama.cpp | b1 |", written["README.md"])
        self.assertNotIn("Open to first token", written["language_models.md"])
        self.assertIn("| Belay: build | optimized |", written["README.md"])


    def test_page_compares_weights_of_several_peers(self):
        rounds = [{"belay": {"tg16": 60, "tg512": 50}, "llama_cpp": {"tg16": 30, "tg512": 25}, "openvino": {"tg16": 80, "tg512": 40}}]
        case = {"title": "Small", "weights": "Q8_0", "threads": 2, "peer_weights": {"openvino": "int8"}, "rounds": rounds}
        opened = {"title": "Small", "weights": "Q8_0", "rounds": [{"belay": {"seconds": 0.2, "mb": 330}, "llama_cpp": {"seconds": 0.5, "mb": 300}}]}
        result = {**result_of(), "language_models": [case], "language_open": [opened]}
        written = pages.pages_of(figures.add(NO_DATA, result))
        page = written["language_models.md"]
        self.assertIn("## Small, 2 threads, llama.cpp", page)
        self.assertIn("| Q8_0 | generation after 16 | 60.0 | 30.0 | 2.00 |", page)
        self.assertIn("## Small, 2 threads, OpenVINO", page)
        self.assertIn("| Q8_0, int8 | generation after 16 | 60.0 | 80.0 | **0.75** |", page)
        self.assertIn("| 0.200 | 0.500 | 0.40 | 330 | 300 | 1.10 |", page)
        self.assertIn("(language_models.svg)", page)

    def test_plot_has_a_line_per_weights_and_runner(self):
        rounds = [{"belay": {"pp128": 300, "tg16": 60, "tg512": 50}, "llama_cpp": {"pp128": 9, "tg16": 30, "tg512": 25}}]
        cases = [{"title": "A & B", "weights": weights, "threads": 1, "rounds": rounds} for weights in ("F32", "Q4_0")]
        plot = pages.pages_of(figures.add(NO_DATA, {**result_of(), "language_models": cases}))["language_models.svg"]
        root = xml.etree.ElementTree.fromstring(plot)
        lines = root.findall("{http://www.w3.org/2000/svg}polyline")
        self.assertEqual(len(lines), 4)
        self.assertEqual(sum("stroke-dasharray" in line.attrib for line in lines), 2)
        texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        for expected in ("A & B, Fast CPU, 1 thread", "F32", "Q4_0", "Belay", "llama.cpp", "16", "512", "60"):
            self.assertIn(expected, texts)
        heights = [[float(point.split(",")[1]) for point in line.get("points").split()] for line in lines]
        self.assertGreater(heights[0][1], heights[0][0])  # fewer tokens per second are lower
        self.assertGreater(heights[1][0], heights[0][0])

    def test_writes_and_checks_the_plot(self):
        rounds = [{"belay": {"tg16": 60}, "llama_cpp": {"tg16": 30}}]
        result = {**result_of(), "language_models": [{"title": "Small", "weights": "F32", "threads": 1, "rounds": rounds}]}
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            figures.save(folder / "data", figures.add(NO_DATA, result))
            pages.write(folder)
            self.assertEqual(pages.check(folder), [])
            (folder / "language_models.svg").write_text("<svg/>")
            self.assertIn("language_models.svg", pages.check(folder)[0])


class PagesTest(unittest.TestCase):
    def test_lists_cases_slower_than_best_peer(self):
        written = pages_of(case_of(belay=run_of("right", 3), ort=run_of("right", 2), openvino=run_of("right", 4)))
        self.assertIn("| net | 3.00 | **1.50** slower |", written["latency.md"])
        self.assertIn("| Fast CPU | net | 1 | 1.50 times ONNX Runtime |", written["latency.md"])
        self.assertIn("| net | 4.00 (0.75) |", written["peers.md"])

    def test_wrong_peer_is_not_ranked(self):
        written = pages_of(case_of(belay=run_of("right", 3), ort=run_of("wrong", 1), openvino=run_of("right", 4)))
        self.assertIn("| net | 3.00 | 0.75 |", written["latency.md"])
        self.assertIn("| Fast CPU | net | 1 | ONNX Runtime wrong: because |", written["latency.md"])
        self.assertIn("| net | **wrong** |", written["peers.md"])

    def test_two_threads_are_compared_with_two_processes(self):
        case = {**case_of(threads=2, belay=run_of("right", 5, 6)), "pairs": [8, 9], "line_ns": [99.6, 450]}
        one = case_of(belay=run_of("right", 5))
        page = pages_of(one, case)["two_threads.md"]
        self.assertIn("| net | 5.50 | 8.50 | 0.78 |", page)
        self.assertIn("| net | 100 · 450 |", page)
        del case["line_ns"]
        self.assertIn("| net | – |", pages_of(one, case)["two_threads.md"])

    def test_escapes_bars_in_cells(self):
        self.assertEqual(pages.table(["a|b"], [["c\nd"]]), "| a\\|b |\n| --- |\n| c d |\n")

    def test_check_finds_changed_missing_and_other_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            figures.save(folder / "data", figures.add(NO_DATA, result_of(case_of(belay=run_of("right", 3)))))
            pages.write(folder)
            self.assertEqual(pages.check(folder), [])
            latency = folder / "latency.md"
            latency.write_text(latency.read_text().replace("3.00", "2.00"))
            (folder / "README.md").unlink()
            (folder / "other.md").write_text("")
            self.assertEqual([message.split(":")[0] for message in pages.check(folder)], [str(folder / name) for name in ("README.md", "latency.md", "other.md")])
            with contextlib.redirect_stderr(io.StringIO()) as messages:
                self.assertEqual(pages.main(["--check", str(folder)]), 1)
            self.assertIn("latency.md: expected the page of the data files: run tools/bench/pages.py", messages.getvalue())
            self.assertEqual(pages.main([str(folder)]), 0)
            self.assertEqual(pages.check(folder), [])


class DriverTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = pathlib.Path(folder.name)
        self.add_model("small", 0)

    def add_model(self, name, case):
        """A model of the zoo with case 0's inputs and the given case's outputs."""
        zoo, target = pathlib.Path(os.environ["MODEL"]), self.data / name
        target.mkdir()
        shutil.copy(zoo / "model.pt2", target / "model.pt2")
        for source, stem in ((zoo / "case_0", "input"), (zoo / f"case_{case}", "output")):
            for path in source.glob(f"{stem}_*.npy"):
                shutil.copy(path, target / path.name.replace("input_", "in").replace("output_", "golden"))

    def bench(self, *arguments):
        """The pages, one after another, and the JSON of a run."""
        folder, results = self.data / "pages", self.data / "results.json"
        shutil.rmtree(folder, ignore_errors=True)
        defaults = ["--data", self.data, "--belay", os.environ["BELAY"], "--limits", "", "--kernels", "", "--threads", "1"]
        defaults += ["--rounds", "2", "--warm-up", "0", "--seconds", "0.01", "--output", folder, "--json", results]
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(bench.main(list(map(str, defaults + list(arguments)))), 0)
        self.assertEqual(pages.check(folder), [])
        text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md")))
        return text, json.loads(results.read_text(encoding="utf-8"))

    def expect_well_formed(self, page):
        columns = 0  # of the table that the line is in
        for line in page.splitlines():
            if not line.startswith("|"):
                columns = 0
                continue
            columns = columns or line.count(" |")
            self.assertEqual(line.count(" |") if "---" not in line else line.count(" --- |"), columns, line)

    def test_measures_correct_model(self):
        page, result = self.bench("--models", "small")
        self.expect_well_formed(page)
        self.assertRegex(page, r"\| small \| [0-9.]+ \|")
        self.assertIn("## Slower than the best peer, wrong or failed\n\nNone.\n", page)
        (case,) = result["cases"]
        belay = case["runners"]["belay"]
        self.assertEqual((belay["verdict"], len(belay["rounds"])), ("right", 2))
        self.assertLess(belay["error"], 1e-3)
        self.assertGreater(result["lowering"][0]["belay"]["seconds"], 0)

    def test_measures_belay_with_xnnpack_without_peers(self):
        page, result = self.bench("--models", "small", "--xnnpack")
        self.expect_well_formed(page)
        self.assertRegex(page, r"## Belay\+XNNPACK, 1 thread\n\n.*\n.*\n\| small \| [0-9.]+ \([0-9.]+\) \|")
        self.assertIn("| Belay+XNNPACK | XNNPACK of Debian: ", page)
        self.assertIn("## Slower than the best peer, wrong or failed\n\nNone.\n", page)
        self.assertEqual(len(result["cases"][0]["runners"]["belay_xnnpack"]["rounds"]), 2)
        self.assertGreater(result["lowering"][0]["belay_xnnpack"]["seconds"], 0)
        self.assertGreater(result["lowering"][0]["pte"]["seconds"], 0)
        self.assertRegex(page, r"Belay s \| \.pte s \|")

    def test_wrong_output_has_no_time(self):
        golden = self.data / "small" / "golden0.npy"
        shape, numbers = measures.read_npy(golden)
        npy(golden, [x + 1 for x in numbers], shape=shape)
        page, result = self.bench("--models", "small")
        self.expect_well_formed(page)
        self.assertIn("| small | **wrong** |", page)
        self.assertIn("| small | 1 | Belay wrong: expected an error of at most 0.001, got", page)
        self.assertEqual(result["cases"][0]["runners"]["belay"]["rounds"], [])

    def test_model_without_golden_outputs_fails(self):
        (self.data / "small" / "golden0.npy").unlink()
        page, _ = self.bench("--models", "small")
        self.assertIn("Belay failed: no golden outputs to compare with", page)

    def test_failed_lowering_does_not_affect_other_models(self):
        broken = self.data / "broken"
        shutil.copytree(self.data / "small", broken)
        (broken / "model.pt2").write_bytes(b"no archive")
        page, result = self.bench("--models", "broken,small")
        self.assertIn("| broken | **failed** |", page)
        self.assertIn("| broken | failed |", page)
        self.assertRegex(page, r"\| small \| [0-9.]+ \|")
        self.assertIn("why", result["lowering"][0])

    def test_rewrites_pages_from_json(self):
        page, _ = self.bench("--models", "small")
        again, _ = self.bench("--from-json", self.data / "results.json")
        self.assertEqual(page, again)

    def test_prints_pages_without_output(self):
        page, _ = self.bench("--models", "small")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(bench.main(["--data", str(self.data), "--from-json", str(self.data / "results.json")]), 0)
        self.assertEqual(sorted(printed.getvalue().split()), sorted(page.split()))

    def test_slow_process_times_out(self):
        sleeper = self.data / "sleeper.sh"
        sleeper.write_text("#!/bin/sh\nexec sleep 60\n")
        sleeper.chmod(sleeper.stat().st_mode | stat.S_IXUSR)
        options = bench.parse(["--data", str(self.data), "--timeout", "0.1"])
        driver = bench.Bench(options, self.data)
        with self.assertRaisesRegex(bench.Failed, "took more than 0.1 s"):
            driver.finish(driver.start([sleeper]))

    def test_rejects_bad_options(self):
        for arguments in (["--models", "nothing"], ["--rounds", "0"], ["--peers", "someone"]):
            with self.subTest(arguments), self.assertRaises(SystemExit):
                self.bench(*arguments)


if __name__ == "__main__":
    unittest.main()
