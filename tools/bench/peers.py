"""Runs in the peers' Python: lowers a model for a peer, or times the peer.

  python peers.py lower PEER FOLDER SUFFIX               writes the peer's file next to the archive
  python peers.py run PEER FOLDER SUFFIX THREADS WARM_UP SECONDS OUTPUT_FOLDER
  python peers.py versions

Prints one line of JSON: {"seconds", "peak_mb"}; the JSON of `belay bench --json`; or {name: version}.
"""

import importlib.metadata
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

FILES = {"et_xnn": "et_xnn{}.pte", "ort": "model{}.onnx", "openvino": "model{}.xml"}
PACKAGES = {"et_xnn": "executorch", "ort": "onnxruntime", "openvino": "openvino"}


def peak_rss_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def inputs_of(folder):
    import numpy

    return [numpy.load(p) for p in sorted(pathlib.Path(folder).glob("in[0-9]*.npy"), key=lambda p: int(p.stem[2:]))]


# ---- lowering ----


def lower_executorch(folder, suffix):
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    if suffix:
        import executorch.kernels.quantized  # noqa: F401  registers operators

    def lower(program):
        return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()

    # Lazy imports of Python do not count.
    toy = torch.export.export(torch.nn.Linear(4, 4).eval(), (torch.ones(2, 4),))
    lower(toy.run_decompositions({}))
    start = time.perf_counter()
    program = lower(torch.export.load(folder / f"model{suffix}.pt2"))
    with open(folder / FILES["et_xnn"].format(suffix), "wb") as file:
        program.write_to_file(file)
    return time.perf_counter() - start


def lower_onnx(folder, suffix):
    """The input of ONNX Runtime and of OpenVINO's conversion; the quantized model comes from ONNX Runtime's calibration."""
    import torch

    start = time.perf_counter()
    path = folder / "model.onnx"
    if not path.exists():
        torch.onnx.export(torch.export.load(folder / "model.pt2"), dynamo=True, verbose=False).save(str(path), external_data=False)
    if suffix == "_q8":
        quantize_onnx(folder, path, folder / f"model{suffix}.onnx")
    return time.perf_counter() - start


def quantize_onnx(folder, source, target):
    import numpy
    import onnx
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    name = onnx.load(str(source)).graph.input[0].name
    (image,) = inputs_of(folder)
    random = numpy.random.default_rng(7)
    samples = [image] + [random.standard_normal(image.shape).astype(image.dtype) for _ in range(7)]

    class Samples(quantization.CalibrationDataReader):
        def __init__(self):
            self.rest = iter(samples)

        def get_next(self):
            sample = next(self.rest, None)
            return None if sample is None else {name: sample}

    with tempfile.TemporaryDirectory() as scratch:
        prepared = os.path.join(scratch, "prepared.onnx")
        quant_pre_process(str(source), prepared, skip_symbolic_shape=True)
        # Unsigned activations, signed weights: as ONNX Runtime recommends for CPUs with VNNI.
        quantization.quantize_static(
            prepared,
            str(target),
            Samples(),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
        )


def lower_openvino(folder, suffix):
    import openvino

    # It selects bfloat16 itself when it loads the float32 model.
    source = folder / ("model.onnx" if suffix == "_bf16" else f"model{suffix}.onnx")
    if not source.exists():
        lower_onnx(folder, suffix)
    start = time.perf_counter()
    model = openvino.convert_model(str(source))
    openvino.save_model(model, str(folder / f"model{suffix}.xml"), compress_to_fp16=False)
    return time.perf_counter() - start


# ---- running ----


def executorch_program():
    """The timing program, compiled once, in the temporary files of the peers' environment."""
    import executorch

    source = pathlib.Path(__file__).with_name("executorch_bench.cc")
    package = pathlib.Path(list(executorch.__path__)[0])
    version = importlib.metadata.version("executorch")
    binary = pathlib.Path(tempfile.gettempdir()) / f"belay_executorch_bench_{os.getuid()}_{version}"
    if binary.exists() and binary.stat().st_mtime > source.stat().st_mtime:
        return binary
    libraries = ["", "_kernels_optimized", "_kernels_quantized", "_backend_xnnpack", "_threadpool"]
    building = f"{binary}.{os.getpid()}"
    subprocess.run(
        ["g++", "-O2", "-std=c++17", "-DC10_USING_CUSTOM_GENERATED_MACROS", f"-I{package}/include"]
        + [f"-I{package}/include/executorch/runtime/core/portable_type/c10", str(source), "-o", building]
        + [f"-L{package}/lib", f"-Wl,-rpath,{package}/lib", "-Wl,--no-as-needed"]
        + [f"-lexecutorch{name}" for name in libraries]
        + ["-lpthread"],
        check=True,
        stdout=sys.stderr,
    )
    os.replace(building, binary)
    return binary


def run_executorch(folder, suffix, threads, warm_up, seconds, output):
    import numpy

    arguments = []
    for i, x in enumerate(inputs_of(folder)):
        path = output / f"input{i}.raw"
        x.tofile(path)
        dtype = {"float32": "f32", "int64": "i64"}[str(x.dtype)]
        arguments.append(f"{dtype}:{','.join(map(str, x.shape))}:{path}")
    program = folder / FILES["et_xnn"].format(suffix)
    command = [executorch_program(), program, threads, warm_up, seconds, output / "raw"] + arguments
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"status {done.returncode}: {done.stderr[-300:]}")
    result = json.loads(done.stdout)
    for i, sizes in enumerate(result.pop("output_sizes")):
        numpy.save(output / f"{i}.npy", numpy.fromfile(output / f"raw{i}", numpy.float32).reshape(sizes))
    return result


def time_calls(call, warm_up, seconds):
    """The first call's time, then the sorted times of the calls after the warm-up, in milliseconds."""

    def once():
        start = time.perf_counter()
        call()
        return 1e3 * (time.perf_counter() - start)

    first = once()
    end = time.perf_counter() + warm_up
    while time.perf_counter() < end:
        call()
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        times.append(once())
    return first, sorted(times)


def open_ort(path, inputs, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    load = time.perf_counter() - start
    # Bound once: calls do not copy inputs or outputs.
    binding = session.io_binding()
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(x) for x in inputs]
    for declared, value in zip(session.get_inputs(), values):
        binding.bind_ortvalue_input(declared.name, value)
    for declared in session.get_outputs():
        binding.bind_output(declared.name)
    return load, lambda: session.run_with_iobinding(binding), binding.copy_outputs_to_cpu


def open_openvino(path, inputs, threads):
    import openvino

    # Without the hint it computes in bfloat16 where the CPU has it.
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "bf16" if path.stem.endswith("_bf16") else "f32",
    }
    start = time.perf_counter()
    model = openvino.Core().compile_model(str(path), "CPU", settings)
    load = time.perf_counter() - start
    request = model.create_infer_request()
    for i, x in enumerate(inputs):
        request.set_input_tensor(i, openvino.Tensor(x, shared_memory=True))
    return load, request.infer, lambda: [request.get_output_tensor(i).data for i in range(len(model.outputs))]


def run_python(opener, path, folder, threads, warm_up, seconds, output):
    import numpy

    inputs = inputs_of(folder)  # whose memory OpenVINO reads at every call
    load, call, outputs = opener(path, inputs, threads)
    first, times = time_calls(call, warm_up, seconds)
    for i, result in enumerate(outputs()):
        numpy.save(output / f"{i}.npy", numpy.ascontiguousarray(result))
    return {
        "latency_ms_median": times[len(times) // 2],
        "latency_ms_p10": times[len(times) // 10],
        "runs": len(times),
        "load_ms": 1e3 * load,
        "first_inference_ms": first,
        "peak_rss_mb": peak_rss_mb(),
    }


def main():
    command, *arguments = sys.argv[1:]
    if command == "versions":
        versions = {distribution.name: distribution.version for distribution in importlib.metadata.distributions()}
        print(json.dumps({peer: f"{package} {versions[package]}" for peer, package in PACKAGES.items() if package in versions}))
        return
    peer, folder, suffix = arguments[0], pathlib.Path(arguments[1]), arguments[2]
    if command == "lower":
        lower = {"et_xnn": lower_executorch, "ort": lower_onnx, "openvino": lower_openvino}[peer]
        seconds = lower(folder, suffix)
        print(json.dumps({"seconds": seconds, "peak_mb": peak_rss_mb()}))
        return
    threads, warm_up, seconds, output = int(arguments[3]), float(arguments[4]), float(arguments[5]), pathlib.Path(arguments[6])
    if peer == "et_xnn":
        print(json.dumps(run_executorch(folder, suffix, threads, warm_up, seconds, output)))
        return
    opener = {"ort": open_ort, "openvino": open_openvino}[peer]
    path = folder / FILES[peer].format(suffix)
    print(json.dumps(run_python(opener, path, folder, threads, warm_up, seconds, output)))


if __name__ == "__main__":
    main()
