"""Tests of the tables and of the open sides, on a small program that is compiled and run."""

import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import coverage

SOURCE = """int Clamp(int x, bool low, bool high) {
  if (low && x < 0) return 0;
  if (high || x > 9) return 9;
  while (x == 100) ++x;
  return x;
}
int main() { return Clamp(-1, true, false) + Clamp(3, true, false) + Clamp(3, false, false); }
"""


@unittest.skipUnless(shutil.which("clang++-19") and shutil.which("llvm-cov-19"), "no compiler")
class ExportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        (folder / "runtime/x").mkdir(parents=True)
        (folder / "runtime/x/clamp.cc").write_text(SOURCE)
        flags = [f.removeprefix("--copt=") for f in coverage.FLAGS if f.startswith("--copt=-f")]
        command = ["clang++-19", "-std=c++20", *flags, "runtime/x/clamp.cc", "-o", "clamp"]
        subprocess.run(command, cwd=folder, check=True)
        profiles = folder / "profiles"
        profiles.mkdir()
        (profiles / "damaged.profraw").write_bytes(b"no profile")
        environment = os.environ | {"LLVM_PROFILE_FILE": f"{profiles}/%m_%p.profraw"}
        subprocess.run([folder / "clamp"], env=environment)
        with contextlib.redirect_stderr(io.StringIO()):
            cls.export = coverage.export([folder / "clamp"], profiles)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_shares_are_by_folder(self):
        table = coverage.shares(self.export, ["runtime"], coverage.folder_of)
        self.assertEqual(sorted(table), ["all", "runtime/x"])
        self.assertEqual((table["all"]["branches"].covered, table["all"]["branches"].count), (7, 10))
        self.assertEqual((table["all"]["mcdc"].covered, table["all"]["mcdc"].count), (2, 4))
        self.assertEqual(coverage.shares(self.export, ["exir"], coverage.folder_of), {})

    def test_open_sides_name_place_and_side(self):
        [source] = self.export["data"][0]["files"]
        self.assertEqual(
            coverage.open_sides(source),
            [
                (3, 7, "condition 1, 2 of 2 never decides"),
                (3, 7, "never true"),
                (3, 15, "never true"),
                (4, 10, "never true"),
            ],
        )

    def test_prints_all_first(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            coverage.print_table(coverage.shares(self.export, [""], coverage.folder_of), "folder")
        rows = text.getvalue().splitlines()
        self.assertEqual(rows[0], "| folder | lines | branches | MC/DC |")
        self.assertTrue(rows[2].startswith("| all (7 lines) | "), rows[2])
        self.assertEqual(rows[3], "| runtime/x | 100.0 | 70.0 | 50.0 |")


class ProductTest(unittest.TestCase):
    def test_tests_and_what_serves_them_do_not_count(self):
        for path in ("runtime/a/b.cc", "exir/ir/text.h", "tools/belay/main.cc"):
            self.assertTrue(coverage.is_product(path), path)
        for path in ("runtime/a/b_test.cc", "exir/testing/programs.cc", "exir/passes/pass_testing.cc", "fuzz/x.cc", "runtime/schema/program.pb.h", "/usr/include/x.h"):
            self.assertFalse(coverage.is_product(path), path)


if __name__ == "__main__":
    unittest.main()
