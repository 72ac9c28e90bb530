"""Tensors of NumPy and torch. tensors_test.py ZOO"""

import array
import ctypes
import gc
import sys
import unittest

import belay

ZOO = sys.argv.pop(1)
try:
    import numpy
except ImportError:
    numpy = None
    print("skipped: NumPy is not installed (--test_env=BELAY_PYTHON=<interpreter with NumPy>)")
try:
    import torch
except ImportError:
    torch = None
    print("skipped: torch is not installed (--test_env=BELAY_PYTHON=<interpreter with torch>)")


class BufferTest(unittest.TestCase):
    def test_argument_types_of_pythonapi_do_not_matter(self):
        program = belay.lower(f"{ZOO}/mlp/model.pt2")
        sizes = program.inputs()[0]["sizes"]
        elements = 1
        for size in sizes:
            elements *= size
        x = memoryview(array.array("f", [0.5] * elements)).cast("B").cast("f", sizes)
        expected = program(x).tolist()
        function = ctypes.pythonapi.PyObject_GetBuffer
        original, function.argtypes = function.argtypes, [ctypes.c_int]
        try:
            self.assertEqual(program(x).tolist(), expected)
        finally:
            function.argtypes = original


@unittest.skipIf(numpy is None, "NumPy is not installed")
class NumpyTest(unittest.TestCase):
    def setUp(self):
        self.program = belay.lower(f"{ZOO}/dynamic_batch_cnn/model.pt2")
        self.sizes = self.program.inputs()[0]["sizes"][1:]

    def test_results_are_arrays(self):
        x = numpy.random.default_rng(1).standard_normal((4, *self.sizes), dtype=numpy.float32)
        y = self.program(x)
        self.assertIsInstance(y, numpy.ndarray)
        # Views in any order are used without being changed.
        for view in (x[::-1], numpy.asfortranarray(x), x[..., ::-1], x[::2]):
            numpy.testing.assert_array_equal(self.program(view), self.program(numpy.ascontiguousarray(view)))
        # Results are independent of later calls.
        kept = y.copy()
        self.program(x + 1)
        numpy.testing.assert_array_equal(y, kept)

    def test_wrong_dtypes_are_errors(self):
        with self.assertRaisesRegex(belay.Error, "expected f32.*f64"):
            self.program(numpy.zeros((2, *self.sizes)))
        with self.assertRaisesRegex(belay.Error, "unsupported dtype"):
            self.program(numpy.zeros((2, *self.sizes), ">f4"))
        with self.assertRaisesRegex(belay.Error, "unsupported dtype"):
            self.program(numpy.zeros((2, *self.sizes), object))

    def test_contiguous_inputs_are_used_in_place(self):
        x = numpy.zeros((4, *self.sizes), numpy.float32)
        self.program(x)
        method = self.program._method("forward")
        self.assertEqual(method.inputs[0].tensor.data, x.ctypes.data)

    def test_static_results_are_not_copied(self):
        program = belay.lower(f"{ZOO}/mlp/model.pt2")
        x = numpy.zeros(program.inputs()[0]["sizes"], numpy.float32)
        y = program(x)
        self.assertEqual(program._method("forward").outputs[0].tensor.data, y.ctypes.data)

    def test_state_is_a_view(self):
        program = belay.lower(f"{ZOO}/counter_buffer/model.pt2")
        name = "total"
        view = program.state[name]
        view[...] = 5
        numpy.testing.assert_array_equal(program.state[name], view)
        del program
        gc.collect()
        self.assertEqual(view.ravel()[0], 5)


@unittest.skipIf(torch is None, "torch is not installed")
class TorchTest(unittest.TestCase):
    def assert_equals_eager(self, module, args, kwargs=None, **options):
        module = module.eval()
        exported = torch.export.export(module, args, kwargs)
        program = belay.lower(exported, **options)
        with torch.no_grad():
            torch.testing.assert_close(program(*args, **(kwargs or {})), module(*args, **(kwargs or {})))
        return program, exported

    def test_structures_of_arguments_and_results(self):
        class Model(torch.nn.Module):
            def forward(self, x, pair, *, scale):
                return {"sum": x + pair[0], "rest": (pair[1] * scale["a"], [x.sum()])}

        t = torch.randn(2, 3)
        program, exported = self.assert_equals_eager(Model(), (t, (t, t)), {"scale": {"a": t}})
        self.assertEqual([output["name"] for output in program.outputs()], ["sum", "rest.0", "rest.1.0"])
        self.assertTrue(belay.verify(exported, program))
        with self.assertRaisesRegex(belay.Error, "expected 2 arguments and the keywords"):
            program(t)
        with self.assertRaisesRegex(belay.Error, r"keywords\['scale'\]"):
            program(t, (t, t), scale={"b": t})

    def test_dtypes(self):
        class Add(torch.nn.Module):
            def forward(self, x):
                return x + x

        for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.int8):
            self.assert_equals_eager(Add(), (torch.ones(3, 4).to(dtype),))

    def test_kind_of_results(self):
        class Constant(torch.nn.Module):
            def forward(self):
                return torch.ones(3, dtype=torch.bfloat16)

        program = belay.lower(torch.export.export(Constant(), ()))
        self.assertEqual(program().dtype, torch.bfloat16)
        self.assertEqual(program.fork()().dtype, torch.bfloat16)
        content = program.to_bytes()
        self.assertEqual(belay.load(content, returns="torch")().dtype, torch.bfloat16)
        with self.assertRaisesRegex(belay.Error, "NumPy has no bfloat16.*returns='torch'"):
            belay.load(content)()
        with self.assertRaisesRegex(belay.Error, "expected 'numpy' or 'torch', got 'jax'"):
            belay.load(content, returns="jax")

        class Add(torch.nn.Module):
            def forward(self, x):
                return x + 1

        one = torch.ones(2)
        exported = torch.export.export(Add(), (one,))
        self.assertIsInstance(belay.lower(exported, returns="numpy")(one), numpy.ndarray)
        self.assertIsInstance(belay.lower(exported, returns="torch")(one.numpy()), torch.Tensor)
        self.assertIsInstance(belay.lower(exported)(one.numpy()), numpy.ndarray)

    def test_channels_last(self):
        model = torch.nn.Conv2d(3, 4, 3)
        x = torch.randn(1, 3, 8, 8).to(memory_format=torch.channels_last)
        self.assert_equals_eager(model.to(memory_format=torch.channels_last), (x,))

    def test_mutated_inputs(self):
        class Add(torch.nn.Module):
            def forward(self, x):
                x.add_(1)
                return x * 2

        program = belay.lower(torch.export.export(Add(), (torch.zeros(4),)))
        x = torch.zeros(4)
        program(x)
        torch.testing.assert_close(x, torch.ones(4))
        with self.assertRaisesRegex(belay.Error, "read-only"):
            program(b"\0" * 16)

    def test_devices_and_layouts_are_checked(self):
        program = belay.lower(f"{ZOO}/mlp/model.pt2")
        sizes = program.inputs()[0]["sizes"]
        with self.assertRaisesRegex(belay.Error, "meta"):
            program(torch.zeros(sizes, device="meta"))
        with self.assertRaisesRegex(belay.Error, "layout"):
            program(torch.zeros(sizes).to_sparse())

    def test_compile(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
        with torch.no_grad():
            fixed = torch.compile(model, backend=belay.compile)
            torch.testing.assert_close(fixed(torch.ones(3, 4)), model(torch.ones(3, 4)))
            dynamic = torch.compile(model, backend=belay.compile, dynamic=True, options={"max_size": 64})
            for rows in (3, 5, 9):
                x = torch.randn(rows, 4)
                torch.testing.assert_close(dynamic(x), model(x))


if __name__ == "__main__":
    unittest.main()
