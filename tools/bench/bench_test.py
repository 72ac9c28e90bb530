"""Tests the driver: its arithmetic, its tables, and a run on a small model, without peers. Started by bench_test.sh."""

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

import bench
import measures
import table


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


class TableTest(unittest.TestCase):
    def test_formats_three_digits(self):
        written = [table.number(x) for x in (0, 1, 12.345, 1234.5, 0.01234, None)]
        self.assertEqual(written, ["0", "1.00", "12.3", "1234", "0.0123", "–"])

    def run_of(self, verdict, *medians):
        return {"verdict": verdict, "why": "because", "error": 0.5, "rounds": rounds(*medians)}

    def case(self, **runners):
        case = {"title": "net", "threads": 1, "tolerance": 1e-3, "instructions": 0}
        return {**case, "runners": runners}

    def test_names_losing_cases(self):
        case = self.case(belay=self.run_of("right", 3), ort=self.run_of("right", 2), openvino=self.run_of("right", 4))
        result = {"runners": ["belay", "ort", "openvino"], "cases": [case]}
        self.assertIn("| net | 3.00 | 2.00 (1.50) | 4.00 (0.75) | **1.50** behind |", table.latency(result, 1))
        self.assertEqual(table.behind(result), "- net, 1 thread: 1.50 times ONNX Runtime\n")

    def test_wrong_peer_is_not_ranked(self):
        case = self.case(belay=self.run_of("right", 3), ort=self.run_of("wrong", 1), openvino=self.run_of("right", 4))
        result = {"runners": ["belay", "ort", "openvino"], "cases": [case]}
        self.assertIn("| net | 3.00 | **wrong** | 4.00 (0.75) | 0.75 |", table.latency(result, 1))
        self.assertEqual(table.behind(result), "- net, 1 thread: ONNX Runtime wrong: because\n")

    def test_two_threads_are_compared_with_two_processes(self):
        case = {**self.case(belay=self.run_of("right", 5, 6)), "pairs": [8, 9], "line_ns": [99.6, 450]}
        result = {"runners": ["belay"], "cases": [case, self.case(belay=self.run_of("right", 5))]}
        self.assertEqual(table.scaling(result).splitlines()[2:], ["| net | 5.50 | 8.50 | 0.78 | 100 · 450 |"])
        del case["line_ns"]
        self.assertIn("| 0.78 | – |", table.scaling(result))

    def test_escapes_bars_in_cells(self):
        self.assertEqual(table.rows(["a|b"], [["c\nd"]]), "| a\\|b |\n| --- |\n| c d |\n")


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
        """The page and the JSON of a run."""
        page, results = self.data / "page.md", self.data / "results.json"
        defaults = ["--data", self.data, "--belay", os.environ["BELAY"], "--limits", "", "--kernels", "", "--threads", "1"]
        defaults += ["--rounds", "2", "--warm-up", "0", "--seconds", "0.01", "--output", page, "--json", results]
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(bench.main(list(map(str, defaults + list(arguments)))), 0)
        return page.read_text(encoding="utf-8"), json.loads(results.read_text(encoding="utf-8"))

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
        self.assertIn("## Behind, wrong or failed\n\nNone.\n", page)
        (case,) = result["cases"]
        belay = case["runners"]["belay"]
        self.assertEqual((belay["verdict"], len(belay["rounds"])), ("right", 2))
        self.assertLess(belay["error"], 1e-3)
        self.assertGreater(result["lowering"][0]["belay"]["seconds"], 0)

    def test_measures_belay_with_xnnpack_without_peers(self):
        page, result = self.bench("--models", "small", "--xnnpack")
        self.expect_well_formed(page)
        self.assertRegex(page, r"\| small \| [0-9.]+ \| [0-9.]+ \([0-9.]+\) \| – \|")
        self.assertIn("| Belay+XNNPACK | XNNPACK of Debian: ", page)
        self.assertIn("## Behind, wrong or failed\n\nNone.\n", page)
        self.assertEqual(len(result["cases"][0]["runners"]["belay_xnnpack"]["rounds"]), 2)
        self.assertGreater(result["lowering"][0]["belay_xnnpack"]["seconds"], 0)
        self.assertGreater(result["lowering"][0]["pte"]["seconds"], 0)
        self.assertIn("| Belay's .pte s | .pte to ExecuTorch |", page)

    def test_wrong_output_has_no_time(self):
        golden = self.data / "small" / "golden0.npy"
        shape, numbers = measures.read_npy(golden)
        npy(golden, [x + 1 for x in numbers], shape=shape)
        page, result = self.bench("--models", "small")
        self.expect_well_formed(page)
        self.assertIn("| small | **wrong** |", page)
        self.assertIn("- small, 1 thread: Belay wrong: expected an error of at most 0.001, got", page)
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
        self.assertRegex(page, r"\| small \| [0-9.]+ \|")
        self.assertIn("why", result["lowering"][0])

    def test_rewrites_page_from_json(self):
        page, _ = self.bench("--models", "small")
        again, _ = self.bench("--from-json", self.data / "results.json")
        self.assertEqual(page, again)

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
