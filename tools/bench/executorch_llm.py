#!/usr/bin/env python3
"""ExecuTorch's side of language_models.py. Needs executorch; `export` also needs transformers and torchao.

  executorch_llm.py export FOLDER OUTPUT.pte           FOLDER: a model of transformers
  executorch_llm.py bench FILE.pte THREADS SECONDS

`export` lowers a single token, with a cache of 512 tokens, for XNNPACK: weights of 4 bits in groups of 32, activations quantized to 8 bits
(8da4w). The export is strict: the lowering rejects the aliases of a cache in others. `bench` prints {"tests": {"tg16": tokens per second}}.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def export(folder, output):
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from transformers import AutoModelForCausalLM

    sys.path.insert(0, str(HERE.parents[1] / "examples/llm"))
    import export_llm

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    export_llm.quantize(model, "8da4w")
    with torch.no_grad():
        cached = export_llm.CachedModel(model.eval(), 512)
        program = torch.export.export(cached, (torch.tensor([[2]]), torch.arange(1)), strict=True)
    with open(output, "wb") as file:
        to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().write_to_file(file)


def bench(path, threads, seconds):
    import peers

    with tempfile.TemporaryDirectory() as work:
        inputs = []
        for name, sizes, number in (("ids", "1,1", 1234), ("position", "1", 16)):
            pathlib.Path(work, name).write_bytes(struct.pack("<q", number))
            inputs.append(f"i64:{sizes}:{work}/{name}")
        command = [peers.executorch_program(), path, threads, seconds, seconds, f"{work}/out", *inputs]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    print(json.dumps({"tests": {"tg16": 1e3 / json.loads(done.stdout)["latency_ms_median"]}}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["export"] and len(sys.argv) == 4:
        export(*sys.argv[2:])
    elif sys.argv[1:2] == ["bench"] and len(sys.argv) == 5:
        bench(*sys.argv[2:])
    else:
        sys.exit(__doc__)
