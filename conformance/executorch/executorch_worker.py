"""Answers questions about one model after the other with the real ExecuTorch.

Runs in a Python that has executorch 1.5 (zoo.py starts it and starts it again when it dies). Reads
one JSON object per line and answers with one:

    {"do": "lower", "archive": "model.pt2", "program": "out.pte"}
        -> {"seconds": 3.1} or {"error": "..."}
    {"do": "run", "program": "out.pte", "model": "zoo/mlp"}
        -> {"cases": 2}, {"error": "case 1: output 0: ..."} or {"unrunnable": "why"}
"""

import json
import os
import sys
import time
import warnings

import numpy

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import comparison  # pylint: disable=wrong-import-position


def lower(archive, program):
    """What a user of ExecuTorch does: load, to_edge, to_executorch, write."""
    import torch
    from executorch import exir
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
    start = time.perf_counter()
    exported = torch.export.load(archive)
    edge = exir.to_edge(exported, compile_config=exir.EdgeCompileConfig(_check_ir_validity=False))
    config = exir.ExecutorchBackendConfig(
        passes=[InitializedMutableBufferPass([""])])
    with open(program, "wb") as file:
        edge.to_executorch(config).write_to_file(file)
    return {"seconds": time.perf_counter() - start}


def tensor_of(leaf, folder):
    """A torch tensor of a leaf's file."""
    import torch
    array = numpy.load(os.path.join(folder, leaf["file"]))
    if leaf["dtype"] == "bfloat16":
        return torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16)
    if leaf["dtype"].startswith("float8") and array.dtype == numpy.uint8:
        return torch.from_numpy(array).view(getattr(torch, leaf["dtype"]))
    tensor = torch.from_numpy(array)
    strides = leaf.get("strides_in_torch")
    if strides and tensor.dim() == 4:
        tensor = tensor.to(memory_format=torch.channels_last)
    return tensor


def value_of(leaf, folder):
    if leaf["kind"] == "tensor":
        return tensor_of(leaf, folder)
    return leaf.get("value")


def check(got, leaf, folder, tolerance):
    """None, or how the value differs from the recorded one."""
    import torch
    if leaf["kind"] != "tensor":
        return comparison.difference_of_scalars(got, leaf.get("value"), tolerance)
    if not isinstance(got, torch.Tensor):
        return f"is {got!r}, not a tensor"
    want = tensor_of(leaf, folder)
    if got.dtype != want.dtype:
        return f"is {got.dtype}, not {want.dtype}"
    if not (got.dtype.is_floating_point or got.dtype.is_complex):
        pair = got.numpy(), want.numpy()
    elif got.dtype.is_complex:
        pair = got.to(torch.complex128).numpy(), want.to(torch.complex128).numpy()
    else:
        pair = got.to(torch.float64).numpy(), want.to(torch.float64).numpy()
    return comparison.difference(*pair, tolerance)


def run(program, model, ours):
    """Every case of the model's manifest; `ours`: inputs that the call mutates are looked at, too."""
    from executorch.extension.pybindings import portable_lib
    import executorch.kernels.quantized  # pylint: disable=unused-import
    with open(os.path.join(model, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    tolerance = (manifest["atol"], manifest["rtol"])
    with open(program, "rb") as file:
        content = file.read()
    module = portable_lib._load_for_executorch_from_buffer(content)
    for k, case in enumerate(manifest["cases"]):
        if k > 0 and not manifest.get("stateful_sequence"):
            module = portable_lib._load_for_executorch_from_buffer(content)
        folder = os.path.join(model, f"case_{k}")
        inputs = [value_of(leaf, folder) for leaf in case["inputs"]]
        if any(isinstance(value, str) for value in inputs):
            return {"unrunnable": "ExecuTorch's Python takes no strings"}
        outputs = module.run_method("forward", tuple(inputs), clone_outputs=True)
        named = [(f"output {i}", leaf) for i, leaf in enumerate(case["outputs"])]
        if len(outputs) != len(named):
            # ExecuTorch's own programs give what inputs became before the results.
            mutated = len(manifest.get("mutated_inputs", []))
            if len(outputs) != len(named) + mutated:
                return {"error": f"case {k}: {len(outputs)} outputs, not {len(named)}"}
            outputs = outputs[mutated:]
        for i in manifest.get("mutated_inputs", []):
            path = os.path.join(folder, f"input_{i}_after.npy")
            if ours and os.path.exists(path):
                leaf = dict(case["inputs"][i], file=os.path.basename(path))
                named.append((f"input {i} after the call", leaf))
                outputs.append(inputs[i])
        for (name, leaf), got in zip(named, outputs):
            problem = check(got, leaf, folder, tolerance)
            if problem:
                return {"error": f"case {k}: {name}: {problem}"}
    return {"cases": len(manifest["cases"])}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if question["do"] == "lower":
                answer = lower(question["archive"], question["program"])
            else:
                answer = run(question["program"], question["model"], question.get("ours", False))
        except Exception as error:  # pylint: disable=broad-except
            text = str(error).strip() or type(error).__name__
            answer = {"error": f"{type(error).__name__}: {text}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
