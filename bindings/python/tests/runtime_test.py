"""The runtime wheel: runs programs, and names the package that lowers. runtime_test.py PROGRAM"""

import array
import sys
import unittest

import belay

PROGRAM = sys.argv.pop(1)


class RuntimeTest(unittest.TestCase):
    def test_runs_programs(self):
        program = belay.load(PROGRAM)
        self.assertEqual(program.methods, ["forward"])
        image = memoryview(array.array("f", [0.0] * 64)).cast("B").cast("f", [1, 1, 8, 8])
        self.assertEqual(program(image).shape, (1, 10))
        copy = program.fork()
        self.assertEqual(bytes(copy(image)), bytes(program(image)))

    def test_lowering_names_the_package(self):
        for function in (belay.lower, belay.inspect, lambda x: belay.verify(x, x), lambda x: belay.backends()):
            with self.assertRaises(belay.Error) as caught:
                function("x.pt2")
            self.assertEqual(caught.exception.status, "UNIMPLEMENTED")
            self.assertIn("needs the package 'belay'", caught.exception.message)


if __name__ == "__main__":
    unittest.main()
