"""Tests of zoo.py that need no ExecuTorch."""

import json
import os
import tempfile
import unittest

import zoo


def row(belay, executorch, seconds=(0.01, 1.0)):
    """Outcomes by letter: m matched, f other results, x could not be executed, l or lowered."""
    result = {}
    for who, what, time in (("belay", belay, seconds[0]), ("executorch", executorch, seconds[1])):
        if what == "l":
            result[who] = {"error": "no operator"}
            continue
        result[who] = {"seconds": time}
        result[who + "_run"] = {"cases": 1} if what == "m" else {"error": "case 0: differs"}
        result[who + "_run"]["ran"] = what != "x"
    if executorch != "l":
        result["reader"], result["reader_run"] = {}, {"cases": 1}
    return result


class ZooTest(unittest.TestCase):
    def test_outcomes(self):
        self.assertEqual(zoo.outcome(row("m", "l"), "belay"), "matched")
        self.assertEqual(zoo.outcome(row("m", "l"), "executorch"), "refused: no operator")
        self.assertEqual(zoo.outcome(row("f", "m"), "belay"), "failed: case 0: differs")
        strings = {"belay": {"seconds": 1}, "belay_run": {"unrunnable": "strings"}}
        self.assertEqual(zoo.outcome(strings, "belay"), "unrunnable: strings")
        crashed = {"belay": {"error": "signal", "refused": False}}
        self.assertEqual(zoo.outcome(crashed, "belay"), "failed: signal")

    def test_summary(self):
        rows = {"a": row("m", "m", (0.02, 1.0)), "b": row("l", "m"), "c": row("m", "f", (0.01, 1.0)),
                "d": row("m", "l"), "e": row("f", "l"), "g": row("l", "x")}
        total = zoo.summary(rows)
        self.assertEqual(total["belay"], {"matched": 3, "refused": 2, "failed": 1, "unrunnable": 0})
        self.assertEqual(total["executorch"], {"lowered": 4, "executed": 3, "matched": 2})
        self.assertEqual(total["reader"], {"matched": 3, "refused": 0, "failed": 0})
        self.assertEqual(total["share_of_executorch_read"], 1.0)
        self.assertEqual(total["only_belay_matched"], ["c", "d"])
        self.assertEqual(total["only_executorch_matched"], ["b"])
        self.assertEqual(total["share_of_executorch_matched"], 0.5)
        self.assertAlmostEqual(total["median_time_ratio"], 0.015)
        self.assertAlmostEqual(total["total_time_ratio"], 0.015)

    def test_refusal_and_crash_of_belay_are_told_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            for status, refused in ((4, True), (139, False)):
                belay = os.path.join(folder, f"belay{status}")
                with open(belay, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\necho no operator >&2\nexit {status}\n")
                os.chmod(belay, 0o755)
                answer = zoo.belay_lower(belay, "a.pt2", "a.pte")
                self.assertEqual(answer, {"error": "no operator", "refused": refused})

    def test_sizes_without_a_bound_get_one(self):
        with tempfile.TemporaryDirectory() as folder:
            belay = os.path.join(folder, "belay")
            with open(belay, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n"
                           "case \"$*\" in\n"
                           "*--max-size=64*) echo '{\"delegation\": []}' > $5.json ;;\n"
                           "*) echo \"no upper bound; give one with --max-size\" >&2; exit 3\n"
                           "esac\n")
            os.chmod(belay, 0o755)
            answer = zoo.belay_lower(belay, "a.pt2", os.path.join(folder, "a.pte"))
            self.assertEqual((answer["max_size"], answer["delegated"]), (64, [0, 0]))

    def test_a_folder_of_the_benchmarks_is_a_model(self):
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "net")
            os.mkdir(data)
            for name, descr in (("in0", "<f4"), ("golden_q8_0", "<f4"), ("in1", "<i8")):
                header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (0,), }}\n".encode()
                with open(os.path.join(data, name + ".npy"), "wb") as file:
                    file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
            model = zoo.model_of_bench(data + ":_q8", folder)
            with open(os.path.join(model, "manifest.json"), encoding="utf-8") as file:
                manifest = json.load(file)
            leaf = {"kind": "tensor", "dtype": "float32", "file": "input_0.npy"}
            self.assertEqual(manifest["cases"][0]["inputs"],
                             [leaf, dict(leaf, dtype="int64", file="input_1.npy")])
            self.assertEqual(manifest["cases"][0]["outputs"], [dict(leaf, file="output_0.npy")])
            self.assertTrue(os.path.islink(os.path.join(model, "model.pt2")))

    def test_a_python_without_executorch_is_skipped(self):
        self.assertIsNone(zoo.find_python("/bin/false"))


try:
    import numpy
    import comparison
    import language_models

    class LanguageModelsTest(unittest.TestCase):
        def test_calls_follow_the_sizes_of_the_file(self):
            shapes = [[array.shape for array in call]
                      for call in language_models.calls_of([(1, 127), (1,)])]
            self.assertEqual(shapes[:2], [[(1, 12), (1,)], [(1, 1), (1,)]])
            self.assertEqual(len(shapes), 37)
            one_by_one = language_models.calls_of([(1, 1), (1,)])
            self.assertEqual([int(call[1][0]) for call in one_by_one], list(range(48)))
            self.assertEqual([len(call) for call in language_models.calls_of([(1, 127)])], [1, 1])

        def test_differences_are_relative(self):
            want = numpy.float32([[3, 4]])
            self.assertEqual(language_models.difference(numpy.float32([3, 4]), want), 0)
            self.assertAlmostEqual(language_models.difference(numpy.float32([3, 4.5]), want), 0.1)

    class ComparisonTest(unittest.TestCase):
        def test_tolerance_is_of_reals_alone(self):
            one = numpy.array([1.0, numpy.nan, numpy.inf])
            self.assertIsNone(comparison.difference(one + 1e-6, one, (1e-5, 0)))
            self.assertIn("1 of 3 differ, at [0]", comparison.difference(one + 1e-3, one, (1e-5, 0)))
            self.assertIn("differ", comparison.difference(numpy.array([1]), numpy.array([2]), (9, 9)))
            self.assertIn("sizes", comparison.difference(one, one[:2], (1, 1)))

        def test_shares_are_of_the_whole(self):
            one = numpy.array([3.0, 4.0])
            self.assertIsNone(comparison.relative_difference(one + [0, 0.5], one, 0.1))
            self.assertIn("has a relative error of 0.1, expected at most 0.09", comparison.relative_difference(one + [0, 0.5], one, 0.09))
            self.assertIsNotNone(comparison.relative_difference(one * numpy.nan, one, 1))

        def test_scalars(self):
            self.assertIsNone(comparison.difference_of_scalars(None, None, (0, 0)))
            self.assertIsNone(comparison.difference_of_scalars(1.0, 1.0, (0, 0)))
            self.assertIn("is 2", comparison.difference_of_scalars(2, 3, (9, 9)))
except ImportError:
    pass

try:
    import numpy
    import torch  # pylint: disable=unused-import
    import executorch_worker

    class WorkerTest(unittest.TestCase):
        def test_an_output_matches_the_recorded_or_the_saved_one(self):
            with tempfile.TemporaryDirectory() as folder:
                case, saved = os.path.join(folder, "case_0"), os.path.join(folder, "saved")
                os.makedirs(case)
                os.makedirs(os.path.join(saved, "0"))
                leaf = {"kind": "tensor", "dtype": "float32", "file": "output_0.npy"}
                with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
                    json.dump({"atol": 0, "rtol": 0, "cases": [{"inputs": [], "outputs": [leaf]}]},
                              file)
                numpy.save(os.path.join(case, "output_0.npy"), numpy.float32([1]))
                numpy.save(os.path.join(saved, "0", "0.npy"), numpy.float32([2]))
                for value, reference, same in ((1, None, True), (1, saved, True), (2, saved, True),
                                               (2, None, False), (3, saved, False)):
                    got = os.path.join(folder, "got.npy")
                    numpy.save(got, numpy.float32([value]))
                    answer = executorch_worker.compare([[got]], folder, reference)
                    self.assertEqual("error" not in answer, same, (value, reference))
except ImportError:
    pass

if __name__ == "__main__":
    unittest.main()
