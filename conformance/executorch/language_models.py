"""Compares language-model files of ExecuTorch's export_llm in Belay and in ExecuTorch.

    PYTHON language_models.py --belay BELAY [--only FORM]... [--folder FOLDER]

PYTHON is one that has executorch 1.5. Exports a Llama of random weights in each form (FORMS), and
prefills and decodes in both runtimes. Prints per form: the largest relative difference of the
logits of a call, the share of calls with the same most likely token, and the largest relative
difference of an instruction that both execute with ExecuTorch's inputs.

The last figure decides. Activations that are quantized per token amplify a difference in the last
bit: one element that is rounded to the next integer changes all logits by about 1 %. ExecuTorch's
own logits change as much if its embeddings are changed by 5e-7. So a form matches if the logits, or
else the results of each instruction, agree within ROUNDING. Exit status 1 if one does not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy

VOCABULARY, CONTEXT, PREFILL, CALLS = 2048, 128, 12, 48
MODEL = {"dim": 256, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "hidden_dim": 512,
         "vocab_size": VOCABULARY, "norm_eps": 1e-5, "multiple_of": 32, "rope_theta": 10000.0}
ROUNDING = 2e-6
WEIGHTS = {"quantization.qmode": "8da4w", "quantization.group_size": 32}
SDPA = {"model.use_sdpa_with_kv_cache": True}
FORMS = {
    "f32": SDPA,
    "f32_without_custom_sdpa": {},
    "f32_without_cache": {"model.use_kv_cache": False},
    "8da4w": {**SDPA, **WEIGHTS},
    "8da4w_embeddings_8": {**SDPA, **WEIGHTS, "quantization.embedding_quantize": "8,0"},
    "8da4w_embeddings_4": {**SDPA, **WEIGHTS, "quantization.embedding_quantize": "4,32"},
    "8da4w_int8_cache": {**SDPA, **WEIGHTS, "model.quantize_kv_cache": True},
    "8da4w_attention_sink": {**SDPA, **WEIGHTS, "model.use_attention_sink": "4,28",
                             "export.max_seq_length": 24},
    "8da4w_sliding_window": {**SDPA, **WEIGHTS, "model.local_global_attention": [0, 16],
                             "export.max_seq_length": 16},
    "spin_quant": {**SDPA, "quantization.use_spin_quant": "native", "base.preq_group_size": 32,
                   "base.preq_mode": "8da4w_output_8da8w", "base.preq_embedding_quantize": "8,0"},
}


def rows_of_int8(weight):
    """int8 elements and the scales of their rows."""
    scales = weight.abs().amax(1, keepdim=True) / 127
    return (weight / scales).round().char(), scales


def spin_quant_checkpoint(weights):
    """The weights as SpinQuant's checkpoints have them: 4 bits in groups of 32, 8 bits elsewhere."""
    result = {}
    for name, weight in weights.items():
        stem = name.removesuffix("weight")
        if name in ("tok_embeddings.weight", "output.weight"):
            result[name], result[stem + "scales"] = rows_of_int8(weight)
        elif weight.dim() == 2 and name.endswith("weight"):
            groups = weight.reshape(weight.shape[0], -1, 32)
            scales = groups.abs().amax(-1) / 7.5
            elements = (groups / scales[..., None]).round().clamp(-8, 7)
            result[name], result[stem + "scales"] = elements.char().reshape(weight.shape), scales
        else:
            result[name] = weight
    result["output.zeros"] = 0 * result["output.scales"]
    # The exporter reads the checkpoint's type from its first tensor.
    return dict(sorted(result.items(), key=lambda item: not item[1].is_floating_point()))


def write_checkpoints(folder):
    import torch
    from executorch.examples.models.llama.llama_transformer import construct_transformer
    from executorch.examples.models.llama.model_args import ModelArgs
    torch.manual_seed(0)
    sizes = {"max_seq_len": CONTEXT, "max_context_len": CONTEXT, "max_batch_size": 1}
    weights = dict(construct_transformer(ModelArgs(**MODEL, **sizes)).state_dict())
    torch.save(weights, os.path.join(folder, "float.pth"))
    torch.save(spin_quant_checkpoint(weights), os.path.join(folder, "spin.pth"))
    for name, more in (("float", {}), ("spin", {"quantization_args": {"group_size": 32}})):
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump({**MODEL, **more}, file)


def export(form, folder):
    """Exports a form; the path of its file."""
    from executorch.examples.models.llama import export_llama_lib
    from executorch.extension.llm.export.config import llm_config
    checkpoint = os.path.join(folder, "spin" if form == "spin_quant" else "float")
    settings = {"base.model_class": "llama3", "base.checkpoint": checkpoint + ".pth",
                "base.params": checkpoint + ".json", "model.use_kv_cache": True,
                "export.max_seq_length": CONTEXT, "export.max_context_length": CONTEXT,
                "export.output_name": form, "export.output_dir": folder,
                "backend.xnnpack.enabled": True, "backend.xnnpack.extended_ops": True}
    enums = {"model_class": llm_config.ModelType, "preq_mode": llm_config.PreqMode,
             "use_spin_quant": llm_config.SpinQuant}
    config = llm_config.LlmConfig()
    for path, value in {**settings, **FORMS[form]}.items():
        part, name = path.rsplit(".", 1)
        target = config
        for step in part.split("."):
            target = getattr(target, step)
        setattr(target, name, enums[name](value) if name in enums else value)
    export_llama_lib.export_llama(config)
    return os.path.join(folder, form + ".pte")


class ExecuTorch:
    """A loaded program; keeps its bytes, which the runtime only views."""

    def __init__(self, content):
        from executorch.extension.pybindings import portable_lib
        import executorch.extension.llm.custom_ops.custom_ops  # pylint: disable=unused-import
        import executorch.kernels.quantized  # pylint: disable=unused-import
        self._content = content
        self._module = portable_lib._load_for_executorch_from_buffer(content)

    def sizes(self):
        meta = self._module.method_meta("forward")
        return [meta.input_tensor_meta(i).sizes() for i in range(meta.num_inputs())]

    def run(self, arrays):
        import torch
        inputs = tuple(torch.from_numpy(array.copy()) for array in arrays)
        results = self._module.run_method("forward", inputs, clone_outputs=True)
        return [result.numpy() for result in results]


def belay_run(belay, program, calls, folder):
    """The outputs of each call of a sequence."""
    command = [belay, "run", program, "--output-dir", os.path.join(folder, "outputs")]
    for k, arrays in enumerate(calls):
        case = os.path.join(folder, f"call_{k}")
        os.makedirs(case)
        for i, array in enumerate(arrays):
            numpy.save(os.path.join(case, f"input_{i}.npy"), array)
        command += ["--sequence", case]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    results = []
    for k in range(len(calls)):
        case = os.path.join(folder, "outputs", str(k))
        results.append([numpy.load(os.path.join(case, f"{i}.npy"))
                        for i in range(len(os.listdir(case)))])
    return results


def difference(got, want):
    """Norm of the difference, relative to that of `want`."""
    want = want.astype(numpy.float64)
    size = numpy.linalg.norm(want)
    return numpy.linalg.norm(got.astype(numpy.float64).reshape(want.shape) - want) / (size or 1)


def calls_of(sizes):
    """A prefill and tokens one by one, as far as the file supports them."""
    tokens = numpy.random.RandomState(0).randint(0, VOCABULARY, (1, CALLS)).astype(numpy.int64)
    if len(sizes) == 1:
        return [(tokens[:, :count],) for count in (5, PREFILL)]
    first = PREFILL if sizes[0][1] >= PREFILL else 1
    return [(tokens[:, :first], numpy.array([0]))] + [
        (tokens[:, k:k + 1], numpy.array([k])) for k in range(first, CALLS)]


class Instructions:
    """The instructions of a file, each as a program of its own."""

    def __init__(self, path):
        from executorch.exir._serialize import _program
        self._serialize = _program.serialize_pte_binary
        with open(path, "rb") as file:
            self._file = _program.deserialize_pte_binary(file.read())
        self._plan = self._file.program.execution_plan[0]
        self._inputs = list(self._plan.inputs)
        self._all = list(self._plan.chains[0].instructions)

    def _activations(self, ids):
        """The tensors in the arena among values and lists of values."""
        values = [self._plan.values[i].val for i in ids]
        for i, value in zip(ids, values):
            if type(value).__name__ == "TensorList":
                yield from self._activations(value.items)
            elif type(value).__name__ == "Tensor" and value.allocation_info is not None:
                yield i

    def _is_view(self, call):
        """Whether a call only computes sizes and offsets, from scalars."""
        return (type(call).__name__ == "KernelCall" and
                self._plan.operators[call.op_index].name.startswith("executorch_prim"))

    def _program(self, instructions, inputs, outputs):
        self._plan.chains[0].instructions = instructions
        self._plan.inputs, self._plan.outputs = inputs, outputs
        return bytes(self._serialize(self._file))

    def each(self, inputs):
        """Yields for instructions that only read tensors: index, program, inputs and results."""
        written = set(self._inputs)
        for k, instruction in enumerate(self._all):
            call = instruction.instr_args
            if not hasattr(call, "args"):
                continue
            last = call.args if type(call).__name__ == "DelegateCall" else call.args[-1:]
            used = list(dict.fromkeys(self._activations(call.args)))
            results = [i for i in self._activations(last) if i not in written]
            reads = [i for i in used if i not in results]
            reading = all(i in written for i in reads)
            written.update(used)
            if not results or not reads or not reading or self._is_view(call):
                continue
            try:
                values = ExecuTorch(self._program(self._all[:k], self._inputs, reads)).run(inputs)
                program = self._program([instruction], reads, results)
                yield k, program, values, ExecuTorch(program).run(values)
            except RuntimeError:  # scalars computed by other instructions; float64 results
                continue


def examine(form, belay, folder):
    """Prints a form's row. Returns whether it matches."""
    path = export(form, folder)
    with open(path, "rb") as file:
        program = ExecuTorch(file.read())
    calls = calls_of(program.sizes())
    want = [program.run(call)[0] for call in calls]
    with tempfile.TemporaryDirectory(dir=folder) as results:
        got = [outputs[0] for outputs in belay_run(belay, path, calls, results)]
    worst = max(difference(g, w) for g, w in zip(got, want))
    same = numpy.mean([(g.reshape(w.shape).argmax(-1) == w.argmax(-1)).all()
                       for g, w in zip(got, want)])
    row = f"{form:24} {len(calls)} calls: {worst:.1e}, same token {same:.3f}"
    if worst <= ROUNDING:
        print(row, flush=True)
        return True
    count, step = 0, 0
    for _, one, values, results in Instructions(path).each(calls[0]):
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            file = os.path.join(scratch, "one.pte")
            with open(file, "wb") as output:
                output.write(one)
            outputs = belay_run(belay, file, [values], scratch)[0]
        step = max([step] + [difference(g, w) for g, w in zip(outputs, results)])
        count += 1
    print(f"{row}; {count} instructions: {step:.1e}", flush=True)
    return count > 0 and step <= ROUNDING


def in_child(call, *arguments):
    """Whether call(*arguments) returns True, or nothing, in a process of its own.

    Exports keep their memory, and threads of torch that exist before a fork block it.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if call(*arguments) in (True, None) else 1
        except Exception as error:  # pylint: disable=broad-except
            print(f"{arguments[0]:24} {type(error).__name__}: {str(error)[:300]}", flush=True)
        os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--belay", required=True, help="the binary")
    parser.add_argument("--only", action="append", choices=FORMS, help="a form")
    parser.add_argument("--folder", help="keeps the files there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.abspath(arguments.folder or scratch)
        os.makedirs(folder, exist_ok=True)
        if not in_child(write_checkpoints, folder):
            return 1
        matched = [in_child(examine, form, arguments.belay, folder)
                   for form in arguments.only or FORMS]
    print(f"{sum(matched)} of {len(matched)} forms match")
    return 0 if all(matched) else 1


if __name__ == "__main__":
    sys.exit(main())
