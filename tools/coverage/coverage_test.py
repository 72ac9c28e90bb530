"""Tests the tables and the open branch sides on a small program that is compiled and run."""

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
# Each instance of the template takes other sides, one condition is known when it is compiled, and a macro is used twice.
INSTANCES = """#define RETURN_IF_NEGATIVE(x) do { if ((x) < 0) return 0; } while (false)
#define ABSL_CHECK(condition) do { if (!(condition)) __builtin_trap(); } while (false)
template <bool kWide>
int Narrow(int x, bool low) {
  if (kWide && x > 9) return 9;
  if (low && x < 0) return 0;
  return x;
}
int Root(int x) {
  RETURN_IF_NEGATIVE(x);
  RETURN_IF_NEGATIVE(x - 1);
  ABSL_CHECK(x < 1000);
  return x > 100 ? 10 : 1;
}
int main() {
  return Narrow<true>(10, false) + Narrow<true>(3, false) + Narrow<false>(-1, true) + Narrow<false>(1, true) +
         Narrow<false>(-1, false) + Root(-1) + Root(4);
}
"""


@unittest.skipUnless(shutil.which("clang++-19") and shutil.which("llvm-cov-19"), "no compiler")
class ExportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = {}
        for path, text in {"runtime/x/clamp.cc": SOURCE, "exir/y/narrow.cc": INSTANCES}.items():
            with tempfile.TemporaryDirectory() as folder:
                cls.exported = cls.run_program(pathlib.Path(folder), path, text)
                cls.found |= coverage.sources(cls.exported, ["runtime", "exir"], pathlib.Path(folder))

    @staticmethod
    def run_program(folder, path, text):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text)
        flags = [f for f in coverage.COMPILING if f.startswith("-f")]
        subprocess.run(["clang++-19", "-std=c++20", *flags, path, "-o", "program"], cwd=folder, check=True)
        profiles = folder / "profiles"
        profiles.mkdir()
        (profiles / "damaged.profraw").write_bytes(b"no profile")
        environment = os.environ | {"LLVM_PROFILE_FILE": f"{profiles}/%m_%p.profraw"}
        subprocess.run([folder / "program"], env=environment)
        with contextlib.redirect_stderr(io.StringIO()):
            return coverage.export([folder / "program"], profiles)

    def test_groups_shares_by_folder(self):
        table = coverage.shares({"runtime/x/clamp.cc": self.found["runtime/x/clamp.cc"]}, coverage.folder_of)
        self.assertEqual(sorted(table), ["all", "runtime/x"])
        self.assertEqual((table["all"]["branches"].covered, table["all"]["branches"].count), (7, 10))
        self.assertEqual((table["all"]["mcdc"].covered, table["all"]["mcdc"].count), (2, 4))
        self.assertEqual(coverage.sources(self.exported, ["runtime"]), {})

    def test_open_sides_have_position_and_side(self):
        self.assertEqual(
            self.found["runtime/x/clamp.cc"].open_sides(),
            [
                (3, 7, "condition 1, 2 of 2 never decides"),
                (3, 7, "never true"),
                (3, 15, "never true"),
                (4, 10, "never true"),
            ],
        )

    def test_merges_instances_and_counts_macro_uses(self):
        narrow = self.found["exir/y/narrow.cc"]
        self.assertEqual(narrow.open_sides(), [(11, 3, "in its macro, never true"), (13, 10, "never true")])
        # x > 9, low, x < 0, the macro twice, x > 100; kWide is known beforehand, and a check that fails leaves no profile.
        self.assertEqual(narrow.share("branches"), (10, 12))
        # x > 9 decides, and in the other instance low and x < 0.
        self.assertEqual(narrow.share("mcdc"), (3, 3))

    def test_prints_all_first(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            table = coverage.shares({"runtime/x/clamp.cc": self.found["runtime/x/clamp.cc"]}, coverage.folder_of)
            coverage.print_table(table, "folder")
        rows = text.getvalue().splitlines()
        self.assertEqual(rows[0], "| folder | lines | branches | MC/DC |")
        self.assertTrue(rows[2].startswith("| all (7 lines) | "), rows[2])
        self.assertEqual(rows[3], "| runtime/x | 100.0 | 70.0 | 50.0 |")


class FlagsTest(unittest.TestCase):
    def test_lean_builds_compile_only_counted_sources(self):
        (flag,) = coverage.compiling(["tools/belay", "exir/op_definition.cc"])
        chosen, options = flag.removeprefix("--per_file_copt=").split("@")
        self.assertEqual(chosen, r"^(tools/belay|exir/op_definition\.cc),-_test\.cc$")
        self.assertEqual(options.split(","), coverage.COMPILING)
        self.assertIn("--copt=-fcoverage-mcdc", coverage.compiling(None))


class ProductTest(unittest.TestCase):
    def test_excludes_tests_and_their_helpers(self):
        for path in ("runtime/a/b.cc", "exir/ir/text.h", "tools/belay/main.cc"):
            self.assertTrue(coverage.is_product(path), path)
        for path in ("runtime/a/b_test.cc", "bindings/c/b_test.c", "exir/testing/programs.cc", "exir/passes/pass_testing.cc", "fuzz/x.cc", "runtime/schema/program.pb.h", "/usr/include/x.h", "runtime/core/test_in_directory.h", "runtime/kernels/kernel_comparison.cc"):
            self.assertFalse(coverage.is_product(path), path)


if __name__ == "__main__":
    unittest.main()
