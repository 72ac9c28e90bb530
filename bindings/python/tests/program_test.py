"""Programs, state, errors and reports, without torch and NumPy. program_test.py ZOO"""

import array
import ctypes
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import belay

ZOO = sys.argv.pop(1)


def archive(name):
    return f"{ZOO}/{name}/model.pt2"


def floats(*values):
    return array.array("f", values)


class ProgramTest(unittest.TestCase):
    def assert_error(self, status, part, function, *args, **kwargs):
        with self.assertRaises(belay.Error) as caught:
            function(*args, **kwargs)
        self.assertEqual(caught.exception.status, status)
        self.assertIn(part, caught.exception.message)
        return caught.exception

    def test_lowers_from_path_bytes_and_dict(self):
        program = belay.lower(archive("mlp"))
        with open(archive("mlp"), "rb") as file:
            self.assertEqual(belay.lower(file.read()).to_bytes(), program.to_bytes())
        several = belay.lower({"a": archive("mlp"), "b": archive("gru")}, backends="none")
        self.assertEqual(sorted(several.methods), ["a", "b"])
        self.assertEqual(several.inputs("a")[0]["dtype"], "float32")
        self.assertTrue(belay.verify(archive("mlp"), program))

    def test_converts_executorch_programs(self):
        pte = belay.lower(archive("mlp"), format="pte").to_bytes()
        program = belay.lower(pte, threads=2)
        self.assertEqual(program.to_bytes()[:5], b"BELAY")
        self.assertEqual(program.report.json["phases"][0]["name"], "convert")
        self.assertTrue(belay.verify(archive("mlp"), program))
        self.assert_error("INVALID_ARGUMENT", "only converted", belay.lower, pte, quantize="weights-int8")

    def test_quantizes_by_recipe(self):
        program = belay.lower(archive("mlp"), quantize="weights-int8")
        self.assertEqual(program.report.json["quantization"]["recipe"], "weights-int8")
        self.assertIn("quantized", str(program.report))

    def test_quantizes_with_calibration_data(self):
        data = os.path.join(os.path.dirname(archive("digits_cnn")), "case_0")
        program = belay.lower(archive("digits_cnn"), quantize="int8-static", calibration=data, max_loss="snr=10")
        measured = program.report.json["quantization"]["methods"][0]["measured"]
        self.assertGreaterEqual(measured["loss"], 10)
        self.assert_error("INVALID_ARGUMENT", "psnr", belay.lower, archive("mlp"), quantize="8da4w", max_loss="psnr=1")

    def test_quantizes_without_lowering(self):
        data = os.path.join(os.path.dirname(archive("digits_cnn")), "case_0")
        quantized = belay.quantize(archive("digits_cnn"), "int8-static", calibration=data, node_losses=True)
        method = quantized.report.json["methods"][0]
        self.assertEqual(method["node_losses"]["calls"], 1)
        self.assertGreater(len(method["modules"]), 0)
        self.assertIn("activations, lowest SNR first", str(quantized.report))
        self.assertIn("<html", quantized.report.html)
        program = belay.lower(quantized.to_bytes())
        self.assertTrue(belay.verify(quantized.to_bytes(), program))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "digits.q.bir")
            quantized.save(path)
            self.assertEqual(belay.lower(path).to_bytes(), program.to_bytes())
        self.assert_error("INVALID_ARGUMENT", "needs --calibration", belay.quantize, archive("mlp"), "int8-static")
        lowered = belay.lower(archive("digits_cnn"), quantize="int8-static", calibration=data, node_losses=True)
        self.assertEqual(lowered.report.json["quantization"]["methods"][0]["node_losses"], method["node_losses"])

    def test_options_reach_the_compiler(self):
        program = belay.lower(archive("mlp"), backends=["xnnpack", "cpu"], constant_methods={"size": [3, True, "x"]})
        self.assertIn("size", program.methods)
        self.assertEqual(program.size(), (3, True, "x"))
        self.assert_error("NOT_FOUND", "gpu", belay.lower, archive("mlp"), backends="gpu")
        self.assert_error("RESOURCE_EXHAUSTED", "nodes", belay.lower, archive("mlp"), limit_nodes=1)
        self.assert_error("DEADLINE_EXCEEDED", "", belay.lower, archive("mlp"), timeout=1e-9)
        self.assert_error("INVALID_ARGUMENT", "int9", belay.lower, archive("mlp"), quantize="int9")
        program = belay.lower(archive("digits_cnn"), backends="none", banks=["dtcm=256K", "sram=unlimited:128"])
        self.assertEqual([b["name"] for b in program.report.json["memory"][0]["banks"]], ["dtcm", "sram"])
        self.assert_error("RESOURCE_EXHAUSTED", "capacity 4096", belay.lower, archive("digits_cnn"), banks=["a=4K"])
        phases = []
        belay.lower(archive("mlp"), progress=lambda phase, done: phases.append(phase))
        self.assertIn("import", phases)
        self.assertIn("cpu", belay.backends())

    def test_memory_banks_of_the_caller(self):
        image = memoryview(array.array("f", [0.5] * 64)).cast("B").cast("f", [1, 1, 8, 8])
        source = archive("digits_cnn")
        expected = bytes(belay.lower(source, backends="none")(image))
        content = belay.lower(source, backends="none", banks=["dtcm=8K", "sram=unlimited:128"]).to_bytes()
        described = belay.load(content).banks()
        self.assertEqual([bank["name"] for bank in described], ["dtcm", "sram"])
        self.assertEqual(described[1]["alignment"], 128)
        sizes = {bank["name"]: bank["bytes"] for bank in described}
        memory = bytearray(sizes["sram"] + 128)
        at = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % 128
        sram = memoryview(memory)[at : at + sizes["sram"]]
        program = belay.load(content, banks={"sram": sram})
        self.assertEqual(bytes(program(image)), expected)
        self.assertNotEqual(bytes(sram), bytes(len(sram)))
        self.assertEqual(bytes(program.fork()(image)), expected)
        self.assert_error("INVALID_ARGUMENT", "unknown bank 'ram'", belay.load, content, banks={"ram": sram})
        small = belay.load(content, banks={"sram": sram[:64]})
        self.assert_error("INVALID_ARGUMENT", "memory of bank 'sram': expected at least", small, image)
        shifted = belay.load(content, banks={"sram": memoryview(memory)[at + 1 :]})
        self.assert_error("INVALID_ARGUMENT", "multiple of 128", shifted, image)
        fixed = belay.load(content, banks={"sram": bytes(memory)})
        self.assert_error("INVALID_ARGUMENT", "bank 'sram': expected writable contiguous memory", fixed, image)
        self.assertEqual([bank["name"] for bank in belay.lower(archive("mlp")).banks()], [""])

    def test_weight_cache(self):
        pte = belay.lower(archive("mlp"), format="pte", backends="xnnpack").to_bytes()
        image = memoryview(array.array("f", [0.5] * 64)).cast("B").cast("f", [4, 16])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mlp.pte")
            with open(path, "wb") as file:
                file.write(pte)
            cache = os.path.join(folder, "cache")
            self.assert_error("NOT_FOUND", "is not a folder", belay.load, path, weight_cache=cache)
            os.mkdir(cache)
            expected = bytes(belay.load(path, weight_cache=cache)(image))
            files = sorted(os.listdir(cache))
            self.assertEqual([os.path.splitext(name)[1] for name in files], [".belay", ".key"])
            self.assertEqual(bytes(belay.load(path, weight_cache=cache)(image)), expected)
            with open(os.path.join(cache, files[0]), "r+b") as file:
                file.seek(-1, os.SEEK_END)
                file.write(b"?")
            self.assertEqual(bytes(belay.load(path, weight_cache=cache)(image)), expected)
            self.assertEqual(sorted(os.listdir(cache)), files)
        self.assert_error("INVALID_ARGUMENT", "weight_cache for a program in memory", belay.load, pte, weight_cache=".")

    def test_options_of_backends(self):
        content = belay.lower(archive("mlp"), backends="cpu").to_bytes()
        program = belay.load(content, threads=2, backend_options={"cpu": {"threads": 1}})
        self.assertEqual(program.backend_option("cpu", "threads"), 1)
        program.set_backend_option("cpu", "threads", 2)
        self.assertEqual(program.fork().backend_option("cpu", "threads"), 1)
        self.assertEqual(program.backend_option("cpu", "threads"), 2)
        self.assertEqual(belay.load(content).backend_option("cpu", "threads"), 256)
        self.assert_error("INVALID_ARGUMENT", "got 0", program.set_backend_option, "cpu", "threads", 0)
        self.assert_error("INVALID_ARGUMENT", "got bool true", program.set_backend_option, "cpu", "threads", True)
        self.assert_error("INVALID_ARGUMENT", "bool, int of 64", program.set_backend_option, "cpu", "threads", 1.5)
        self.assert_error("INVALID_ARGUMENT", "threads: int", program.backend_option, "cpu", "speed")
        self.assert_error("INVALID_ARGUMENT", "has delegates of cpu", program.backend_option, "demo", "speed")
        wrong = belay.load(content, backend_options={"npu": {"threads": 1}})
        self.assert_error("INVALID_ARGUMENT", "'npu', which is not registered", wrong.inputs)

    def test_refusals_list_nodes(self):
        error = self.assert_error("UNIMPLEMENTED", "zoo.scaled_swish", belay.lower, archive("custom_operator"))
        self.assertEqual(error.nodes[0]["operator"], "zoo.scaled_swish.default")
        self.assertIn("make_models.py:", error.nodes[0]["source"])
        self.assertTrue(error.nodes[0]["reason"])

    def test_state_is_viewed_saved_and_forked(self):
        program = belay.lower(archive("counter_buffer"))
        self.assertEqual(program.state.keys(), ["calls", "scratch", "total"])
        name = "total"
        [given] = program.inputs()
        x = array.array("f", [1.0] * self.count(given))
        before = bytes(program.state[name])
        program(memoryview(x).cast("B").cast("f", given["sizes"]))
        after = bytes(program.state[name])
        self.assertNotEqual(before, after)
        saved = program.save_state()
        copy = program.fork()
        copy(memoryview(x).cast("B").cast("f", given["sizes"]))
        self.assertNotEqual(bytes(copy.state[name]), after)
        self.assertEqual(bytes(program.state[name]), after)
        copy.restore_state(saved)
        self.assertEqual(bytes(copy.state[name]), after)
        program.reset_state()
        self.assertEqual(bytes(program.state[name]), before)
        program.state[name] = copy.state[name]
        self.assertEqual(bytes(program.state[name]), after)
        self.assertIn(name, program.state)
        self.assert_error("NOT_FOUND", "none", lambda: program.state["none"])
        self.assert_error("INVALID_ARGUMENT", "", program.restore_state, b"x")

    @staticmethod
    def count(given):
        count = 1
        for size in given["sizes"]:
            count *= size
        return count

    def test_inputs_are_checked(self):
        program = belay.lower(archive("mlp"))
        [given] = program.inputs()
        self.assert_error("INVALID_ARGUMENT", "expected 1 arguments, got 0", program)
        self.assert_error("INVALID_ARGUMENT", f"input 0 '{given['name']}': expected a tensor, got float", program, 1.0)
        self.assert_error("INVALID_ARGUMENT", "got object", program, object())
        self.assert_error("INVALID_ARGUMENT", given["name"], program, floats(1))
        with self.assertRaises(AttributeError):
            program.no_such_method
        self.assert_error("NOT_FOUND", "none", lambda: program["none"])

    def test_dynamic_sizes(self):
        program = belay.lower(archive("dynamic_batch_cnn"))
        [given] = program.inputs()
        (least, most), *others = given["sizes"]

        def images(count):
            elements = array.array("f", [0.5] * (count * self.count({"sizes": others})))
            return memoryview(elements).cast("B").cast("f", [count, *others])

        for count in {max(least, 1), 2, most}:
            self.assertEqual(program(images(count)).shape[0], count)
        self.assert_error("OUT_OF_RANGE", given["name"], program, images(most + 1))

    def test_saves_and_loads(self):
        program = belay.lower(archive("mlp"))
        self.assertIn("cpu: ", str(program.report))
        self.assertIn("delegation", program.report.json)
        self.assertIn("iframe", program.report._repr_html_())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mlp.belay")
            program.save(path)
            loaded = belay.load(path, threads=2)
            self.assertEqual(os.listdir(folder), ["mlp.belay"])
            self.assertEqual(belay.inspect(path)["kind"], "program")
            self.assertEqual(loaded.to_bytes(), program.to_bytes())
            self.assertTrue(belay.verify(archive("mlp"), loaded))
            self.assert_error("FAILED_PRECONDITION", "no report", lambda: loaded.report)
            with self.assertRaises(OSError):
                program.save(os.path.join(folder, "none", "x"))
        self.assertEqual(belay.load(program.to_bytes()).methods, ["forward"])
        self.assert_error("DATA_LOSS", "", belay.load, b"no program")
        self.assert_error("NOT_FOUND", "no/such", belay.load, "no/such")
        limited = lambda: belay.load(program.to_bytes(), limit_arena_bytes=1)["forward"]
        self.assert_error("RESOURCE_EXHAUSTED", "", limited)
        with self.assertRaises(TypeError):
            belay.load(3)
        with self.assertRaises(TypeError):
            belay.lower(3)

    def test_verify_and_inspect(self):
        program = belay.lower(archive("mlp"))
        self.assertEqual(belay.inspect(program)["producer"], f"belay {belay.__version__}")
        result = belay.verify(archive("mlp"), program, seed=7)
        self.assertTrue(result.equal and result.first_node is None)
        self.assert_error("INVALID_ARGUMENT", "another archive", belay.verify, archive("gru"), program)
        self.assertEqual(belay.inspect(archive("mlp"))["kind"], "archive")

    def test_profile(self):
        program = belay.lower(archive("mlp"))
        [given] = program.inputs()
        x = memoryview(array.array("f", [1.0] * self.count(given))).cast("B").cast("f", given["sizes"])
        profile = program.profile(x, runs=3)
        self.assertEqual(profile.json["runs"], 3)
        self.assertAlmostEqual(sum(row["share"] for row in profile.by_operator()), 1, places=6)

    def test_a_program_is_used_by_one_thread(self):
        program = belay.lower(archive("mlp"))
        [given] = program.inputs()
        x = memoryview(array.array("f", [1.0] * self.count(given))).cast("B").cast("f", given["sizes"])
        expected = bytes(program(x))
        with program._method("forward").lock:
            self.assert_error("FAILED_PRECONDITION", "another thread", program, x)
        copies = [program.fork() for _ in range(4)]
        results = [None] * len(copies)

        def run(i):
            for _ in range(50):
                results[i] = bytes(copies[i](x))

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(copies))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [expected] * len(copies))

    def test_command(self):
        listed = subprocess.run(["belay", "inspect", archive("mlp")], stdout=subprocess.PIPE, check=True)
        self.assertIn(b"model", listed.stdout)
        wrong = subprocess.run(["belay", "none"], stderr=subprocess.PIPE)
        self.assertEqual(wrong.returncode, 2)


if __name__ == "__main__":
    unittest.main()
