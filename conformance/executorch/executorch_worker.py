"""Answers requests about models with the real ExecuTorch.

Runs in a Python that has executorch 1.5 (zoo.py starts it and starts it again when it dies). Reads
one JSON object per line and answers with one:

    {"do": "lower", "archive": "model.pt2", "program": "out.pte", "xnnpack": true}
        -> {"seconds": 3.1, "delegated": [7, 9]} (nodes, of all) or {"error": "..."}
    {"do": "run", "program": "out.pte", "model": "zoo/mlp", "save": "folder"}
        -> {"cases": 2}, {"error": "case 1: output 0: ..."} or {"unrunnable": "why"}; with
           "ran": true if all cases were executed, whose results are in the folder then
    {"do": "compare", "outputs": [["0.npy", null], ["1.npy"]], "model": "zoo/mlp",
     "reference": "folder"}
        -> the same for results computed elsewhere: the files of each case, null for None. They are
           compared with the recorded ones. Outputs that differ are compared with those that "run"
           saved in the folder: ExecuTorch's kernels differ from PyTorch's in places
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


def lower(archive, program, xnnpack):
    """What a user of ExecuTorch does: load, to_edge, to_executorch, write."""
    import torch
    from executorch import exir
    from executorch.devtools.backend_debug import get_delegation_info
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
    import executorch.kernels.quantized  # pylint: disable=unused-import
    partitioners = []
    if xnnpack:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        partitioners = [XnnpackPartitioner()]
    start = time.perf_counter()
    exported = torch.export.load(archive)
    checks = exir.EdgeCompileConfig(_check_ir_validity=False)
    edge = (exir.to_edge_transform_and_lower(
        exported, partitioner=partitioners, compile_config=checks)
            if xnnpack else exir.to_edge(exported, compile_config=checks))
    info = get_delegation_info(edge.exported_program().graph_module)
    delegated = [info.num_delegated_nodes, info.num_delegated_nodes + info.num_non_delegated_nodes]
    config = exir.ExecutorchBackendConfig(
        passes=[InitializedMutableBufferPass([""])])
    with open(program, "wb") as file:
        edge.to_executorch(config).write_to_file(file)
    return {"seconds": time.perf_counter() - start, "delegated": delegated}


def tensor_of(leaf, folder, file=None):
    """A torch tensor of a leaf's file, or of another."""
    import torch
    array = numpy.load(file or os.path.join(folder, leaf["file"]))
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


def save(outputs, folder):
    """Writes the tensors of a call; torch.bfloat16 as their bits."""
    import torch
    os.makedirs(folder)
    for i, value in enumerate(outputs):
        if isinstance(value, torch.Tensor):
            bits = value.view(torch.int16) if value.dtype == torch.bfloat16 else value
            numpy.save(os.path.join(folder, f"{i}.npy"), bits.numpy())


def check(got, leaf, folder, tolerance, file=None):
    """None, or how the value differs from the recorded one, or from that of a file."""
    import torch
    if leaf["kind"] != "tensor":
        return comparison.difference_of_scalars(got, leaf.get("value"), tolerance)
    if not isinstance(got, torch.Tensor):
        return f"is {got!r}, not a tensor"
    want = tensor_of(leaf, folder, file)
    if got.dtype != want.dtype:
        return f"is {got.dtype}, not {want.dtype}"
    if not (got.dtype.is_floating_point or got.dtype.is_complex):
        pair = got.numpy(), want.numpy()
    elif got.dtype.is_complex:
        pair = got.to(torch.complex128).numpy(), want.to(torch.complex128).numpy()
    else:
        pair = got.to(torch.float64).numpy(), want.to(torch.float64).numpy()
    if len(tolerance) == 1:
        return comparison.relative_difference(*pair, tolerance[0])
    return comparison.difference(*pair, tolerance)


def manifest_of(model):
    with open(os.path.join(model, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    if "relative" in manifest:
        return manifest, (manifest["relative"],)
    return manifest, (manifest["atol"], manifest["rtol"])


def expected(manifest, case, outputs):
    """The results, without the preceding new values of mutated inputs that ExecuTorch's own programs return."""
    mutated = len(manifest.get("mutated_inputs", []))
    if len(outputs) == len(case["outputs"]) + mutated:
        return outputs[mutated:]
    return outputs if len(outputs) == len(case["outputs"]) else None


def compare(outputs, model, reference=None):
    """Files that hold the results of each case."""
    import torch
    manifest, tolerance = manifest_of(model)
    for k, (case, files) in enumerate(zip(manifest["cases"], outputs)):
        folder = os.path.join(model, f"case_{k}")
        files = expected(manifest, case, files)
        if files is None:
            return {"error": f"case {k}: not {len(case['outputs'])} outputs"}
        for i, (leaf, file) in enumerate(zip(case["outputs"], files)):
            got = None
            if file is not None and leaf["kind"] == "tensor":
                got = tensor_of(leaf, folder, file)
            elif file is not None:
                got = numpy.load(file).item()
            if isinstance(got, torch.Tensor) and leaf["dtype"] == "bool":
                got = got.to(torch.bool)
            problem = check(got, leaf, folder, tolerance)
            if problem and reference:
                saved = os.path.join(reference, str(k), f"{i}.npy")
                problem = check(got, leaf, folder, tolerance, saved)
            if problem:
                return {"error": f"case {k}: output {i}: {problem}"}
    return {"cases": len(manifest["cases"])}


def run(program, model, ours, folder_of_results=None):
    """Every case of the model's manifest; `ours`: inputs that the call mutates are looked at, too."""
    from executorch.extension.pybindings import portable_lib
    import executorch.kernels.quantized  # pylint: disable=unused-import
    manifest, tolerance = manifest_of(model)
    with open(program, "rb") as file:
        content = file.read()
    module = portable_lib._load_for_executorch_from_buffer(content)
    problems = []
    for k, case in enumerate(manifest["cases"]):
        if k > 0 and not manifest.get("stateful_sequence"):
            module = portable_lib._load_for_executorch_from_buffer(content)
        folder = os.path.join(model, f"case_{k}")
        inputs = [value_of(leaf, folder) for leaf in case["inputs"]]
        if any(isinstance(value, str) for value in inputs):
            return {"unrunnable": "ExecuTorch's Python takes no strings"}
        outputs = module.run_method("forward", tuple(inputs), clone_outputs=True)
        named = [(f"output {i}", leaf) for i, leaf in enumerate(case["outputs"])]
        outputs = expected(manifest, case, outputs)
        if outputs is None:
            return {"error": f"case {k}: not {len(named)} outputs"}
        if folder_of_results:
            save(outputs, os.path.join(folder_of_results, str(k)))
        for i in manifest.get("mutated_inputs", []):
            path = os.path.join(folder, f"input_{i}_after.npy")
            if ours and os.path.exists(path):
                leaf = dict(case["inputs"][i], file=os.path.basename(path))
                named.append((f"input {i} after the call", leaf))
                outputs.append(inputs[i])
        for (name, leaf), got in zip(named, outputs):
            problem = check(got, leaf, folder, tolerance)
            if problem:
                problems.append(f"case {k}: {name}: {problem}")
    if problems:
        return {"error": problems[0], "ran": True}
    return {"cases": len(manifest["cases"]), "ran": True}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries is not an answer
    for line in sys.stdin:
        question = json.loads(line)
        try:
            if question["do"] == "lower":
                answer = lower(question["archive"], question["program"], question["xnnpack"])
            elif question["do"] == "compare":
                answer = compare(question["outputs"], question["model"], question.get("reference"))
            else:
                answer = run(question["program"], question["model"], question.get("ours", False),
                             question.get("save"))
        except Exception as error:  # pylint: disable=broad-except
            text = str(error).strip() or type(error).__name__
            answer = {"error": f"{type(error).__name__}: {text}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
