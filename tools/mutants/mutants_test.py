"""Tests rewriting and the report on small sources; compiles and runs a rewritten file."""

import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock

import mutants
import rewrite


def conditions(text):
    return [condition for _, _, condition, _, _ in rewrite.guards(text)[0]]


class BlankTest(unittest.TestCase):
    def test_blanks_comments_literals_and_directives(self):
        text = 'a(); // if (x)\n/* if\n(y) */ b("if (z)", \'(\', R"t(if (u))")t");\n#define M(x) \\\n  if (x) {}\nint c = 1\'000;\n'
        code = rewrite.blank(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertNotIn("if", code)
        self.assertIn("int c = 1'000;", code)


class GuardsTest(unittest.TestCase):
    def test_finds_each_condition(self):
        self.assertEqual(conditions("if (a(b, c) && d) return;\nelse if (e) [[likely]] {}"), ["a(b, c) && d", "e"])

    def test_skips_compile_time_conditions(self):
        found, skipped = rewrite.guards("if constexpr (x) { if (y) {} }\nif consteval {}\n")
        self.assertEqual([f[2] for f in found], ["y"])
        self.assertEqual(skipped, 2)

    def test_declarations_precede_condition(self):
        [(_, _, condition, _, changed)] = rewrite.guards("if (const int* p = f(a == b)) g();")[0]
        self.assertEqual(condition, "const int* p = f(a == b)")
        self.assertTrue(changed.startswith("const int* p = f(a == b); ::belay_mutants::Guard("), changed)
        self.assertTrue(changed.endswith("static_cast<bool>(p))"), changed)

    def test_keeps_initializer_before_condition(self):
        [(_, _, _, _, changed)] = rewrite.guards("if (Status s = f(); !s.ok()) g();")[0]
        self.assertTrue(changed.startswith("Status s = f();::belay_mutants::Guard("), changed)

    def test_comparisons_are_not_declarations(self):
        for text in ("a == b", "a <= b", "a != b", "(a = b) > c", "f([x = y] { return x; })"):
            self.assertIsNone(rewrite._declared(text), text)


class FaultsTest(unittest.TestCase):
    LIST = "# About the list\n\n# what goes wrong\nx.cc\n- return a;\n+ return FAULT ? b : a;\n"

    def test_reads_blocks(self):
        [fault] = rewrite.read_faults(self.LIST)
        self.assertEqual((fault.path, fault.says, fault.old), ("x.cc", "what goes wrong", "return a;"))

    def test_rejects_block_without_switch(self):
        with self.assertRaisesRegex(rewrite.Stale, "line 3"):
            rewrite.read_faults(self.LIST.replace("FAULT", "c"))

    def test_fault_text_must_occur_once(self):
        faults = rewrite.read_faults(self.LIST)
        for text in ("return c;", "return a; return a;"):
            with self.assertRaisesRegex(rewrite.Stale, "expected once"):
                rewrite.rewrite("x.cc", text, faults, 0)

    def test_keeps_line_numbers(self):
        faults = rewrite.read_faults("# f\nx.cc\n- a;\n- b;\n+ if (!FAULT) b;\n")
        text, made, _ = rewrite.rewrite("x.cc", "a;\nb;\nif (c) d();\n", faults, 7)
        self.assertEqual([(m.number, m.line, m.kind) for m in made], [(7, 1, "fault"), (8, 3, "guard")])
        self.assertEqual(text[text.index('#line 1 "x.cc"') :].count("\n"), 4)

    def test_lists_match_sources(self):
        here = pathlib.Path(mutants.HERE)
        faults = rewrite.read_faults((here / "faults.txt").read_text())
        self.assertGreater(len(faults), 30)
        known = rewrite.read_known((here / "equivalent.txt").read_text())
        root = here.parent.parent
        for path in {f.path for f in faults} | {k.path for k in known}:
            _, made, _ = rewrite.rewrite(path, (root / path).read_text(), [f for f in faults if f.path == path], 0)
            for row in known:
                if row.path == path:
                    self.assertTrue(any(m.text.startswith(row.text) for m in made), f"equivalent.txt:{row.line}: {row.text}")


class RunTest(unittest.TestCase):
    SOURCE = """
    #include <cstdio>
    #include <memory>
    constexpr int Sign(int x) { if (x < 0) return -1; return 1; }
    static_assert(Sign(-3) == -1);
    int main(int argc, char** argv) {
      std::unique_ptr<int> p;
      if (const char* word = argv[1]) std::printf("word ");
      if (p) return 3;
      if (int n = argc; n > 1) std::printf("more ");
      std::printf("%d\\n", Sign(-argc));
    }
    """

    @unittest.skipUnless(shutil.which("clang++-19"), "no compiler")
    def test_switch_disables_guard_and_records_it(self):
        text, made, skipped = rewrite.rewrite("x.cc", self.SOURCE, [], 10)
        self.assertEqual(([m.number for m in made], skipped), ([10, 11, 12, 13], 0))
        with tempfile.TemporaryDirectory() as folder:
            source, program, reached = (pathlib.Path(folder) / n for n in ("x.cc", "x", "reached"))
            source.write_text(text)
            command = ["clang++-19", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wglobal-constructors", source, "-o", program]
            subprocess.run([*command, "-Wno-unused-variable"], check=True)

            def output(**environment):
                environment["PATH"] = os.environ["PATH"]
                return subprocess.run([program, "a"], env=environment, capture_output=True, text=True, check=True).stdout

            reached.write_bytes(bytes(20))
            self.assertEqual(output(BELAY_MUTANTS_REACHED=str(reached)), "word more -1\n")
            self.assertEqual([i for i, b in enumerate(reached.read_bytes()) if b], [10, 11, 13])
            self.assertEqual(output(BELAY_MUTANT="10"), "word more 1\n")
            self.assertEqual(output(BELAY_MUTANT="11"), "more -1\n")
            self.assertEqual(output(BELAY_MUTANT="13"), "word -1\n")

    @unittest.skipUnless(shutil.which("clang++-19"), "no compiler")
    def test_unguarded_null_access_ends_program(self):
        source_text = """
        #include <optional>
        struct Node { int kind; };
        int KindOf(const Node* node) { if (node == nullptr) return 0; return node->kind & 64; }
        int Twice(const std::optional<int>& x) { if (!x.has_value()) return 0; return *x & 64; }
        int main(int argc, char**) { return KindOf(argc > 5 ? new Node{argc} : nullptr) + Twice(std::nullopt); }
        """
        text, made, _ = rewrite.rewrite("x.cc", source_text, [], 10)
        self.assertEqual([m.number for m in made], [10, 11])
        with tempfile.TemporaryDirectory() as folder:
            source, program = (pathlib.Path(folder) / n for n in ("x.cc", "x"))
            source.write_text(text)
            subprocess.run(["clang++-19", "-std=c++20", "-O1", *mutants.ENDING, source, "-o", program], check=True)

            def ends(**environment):
                run = subprocess.run([program], env=environment, stderr=subprocess.DEVNULL)
                return run.returncode < 0

            self.assertFalse(ends())
            self.assertTrue(ends(BELAY_MUTANT="10"))
            self.assertTrue(ends(BELAY_MUTANT="11"))

    def test_flags_apply_only_to_sources(self):
        self.assertEqual(
            mutants.ending(["a/b.cc", "c.cc"]),
            "--per_file_copt=^(a/b\\.cc|c\\.cc)$@-D_GLIBCXX_ASSERTIONS,-fno-delete-null-pointer-checks",
        )


class PassesTest(unittest.TestCase):
    def passes(self, script, seconds=1):
        with tempfile.TemporaryDirectory() as folder:
            binary = pathlib.Path(folder) / "a_test"
            binary.write_text(f"#!/bin/sh\n{script}\n")
            binary.chmod(0o755)
            with unittest.mock.patch.object(mutants, "guard", lambda: []):
                return mutants.passes(mutants.Test("//:a_test", binary, []), seconds, mutant=7)

    def test_result_follows_exit_status(self):
        self.assertTrue(self.passes('test "$BELAY_MUTANT" = 7')[0])
        self.assertFalse(self.passes("exit 3")[0])
        self.assertFalse(self.passes("kill -9 $$")[0])

    def test_counts_only_own_cpu_time(self):
        passed, seconds = self.passes("sleep 2")
        self.assertTrue(passed)
        self.assertLess(seconds, 1)
        passed, seconds = self.passes("while :; do :; done")
        self.assertFalse(passed)
        self.assertLess(seconds, 3)

    def test_ends_waiting_processes(self):
        self.assertFalse(self.passes("sleep 100", seconds=0.05)[0])


class ReportTest(unittest.TestCase):
    def test_known_mutants_do_not_count(self):
        made = [rewrite.Mutant(i, "d/x.cc", i, "guard", f"c{i} → return;") for i in range(4)]
        known = rewrite.read_known("# why\nequivalent | d/x.cc | c1 → | a shortcut\nunreached | d/x.cc | c3 → | no memory\n")
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            mutants.report(made, made[:3], made[1:3], made[3:], known)
        self.assertIn("d/x.cc:2: c2 → return;", text.getvalue())
        self.assertNotIn("c1", text.getvalue())
        self.assertNotIn("c3", text.getvalue())
        self.assertRegex(text.getvalue(), r"d +4 +3 +1 +1 +50\.0 %")

    def test_finds_harmful_mutants(self):
        known = rewrite.read_known("harmful | d/x.cc | c1 → | a device is replaced")
        self.assertIsNotNone(rewrite.find_known(known, rewrite.Mutant(1, "d/x.cc", 1, "guard", "c1 → return;"), "harmful"))
        self.assertIsNone(rewrite.find_known(known, rewrite.Mutant(2, "d/x.cc", 2, "guard", "c2 → return;"), "harmful"))

    def test_row_requires_reason(self):
        with self.assertRaisesRegex(rewrite.Stale, "line 1"):
            rewrite.read_known("equivalent | x.cc | c → |  ")


if __name__ == "__main__":
    unittest.main()
