"""Writes the five small models of eras/ with the installed version of torch.

    python make_eras.py --out eras

Each model is a folder torch<version>_<name>/ with model.pt2 (ATEN), training.pt2, manifest.json, and inputs and results of each case.
"""

import argparse
import json
import pathlib

import numpy
import torch


class Mlp(torch.nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.a = torch.nn.Linear(inputs, hidden)
        self.n = torch.nn.LayerNorm(hidden)
        self.b = torch.nn.Linear(hidden, outputs)

    def forward(self, x):
        return torch.softmax(self.b(torch.nn.functional.gelu(self.n(self.a(x)))), -1)


class Conv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.c = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.bn = torch.nn.BatchNorm2d(8)
        self.d = torch.nn.Conv2d(8, 8, 3, stride=2, groups=8)
        self.l = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.l(torch.relu(self.d(torch.relu(self.bn(self.c(x))))).mean((2, 3)))


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))
        self.register_buffer("scale", torch.tensor([0.5, 1.5, 2.5]), persistent=False)

    def forward(self, x):
        self.n.add_(x.sum(0))
        return x * self.scale + self.n


class Branch(torch.nn.Module):
    def forward(self, x, p):
        return torch.cond(p.sum() > 0, lambda x: x.sin() * 2, lambda x: x.cos() - 1, (x,))


def random(*sizes, seed):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


def models():
    """Yields name, module, inputs of each case, dynamic shapes, mutated buffers."""
    yield "mlp", Mlp(12, 16, 5), [(random(4, 12, seed=1),)], None, []
    yield ("dynamic_mlp", Mlp(8, 16, 3), [(random(n, 8, seed=n),) for n in (4, 2, 17)],
           {"x": {0: torch.export.Dim("batch", min=2, max=32)}}, [])
    yield "conv", Conv(), [(random(2, 3, 16, 16, seed=3),)], None, []
    yield "counter", Counter(), [(random(2, 3, seed=k),) for k in (4, 5)], None, ["n"]
    yield "branch", Branch(), [(random(3, 4, seed=6), torch.tensor([s, 0.5])) for s in (1.0, -1.0)], None, []


def write(folder, name, module, cases, shapes, buffers, version):
    folder.mkdir(parents=True, exist_ok=True)
    module.eval()
    with torch.no_grad():
        training = torch.export.export(module, cases[0], dynamic_shapes=shapes)
        torch.export.save(training, folder / "training.pt2")
        torch.export.save(training.run_decompositions(), folder / "model.pt2")

        def tensors(values, kind, case):
            described = []
            for i, value in enumerate(values):
                file = f"{kind}_{i}.npy"
                (folder / case).mkdir(exist_ok=True)
                numpy.save(folder / case / file, value.detach().numpy())
                described.append({"kind": "tensor", "dtype": str(value.dtype).removeprefix("torch."),
                                  "shape": list(value.shape), "file": file})
            return described

        described = []
        for k, inputs in enumerate(cases):
            entry = {"inputs": tensors(inputs, "input", f"case_{k}")}
            entry["outputs"] = tensors([module(*inputs)], "output", f"case_{k}")
            described.append(entry)
    manifest = {"name": folder.name, "description": f"{name}, archive written by torch {version}", "dialect": "ATEN",
                "archives": {"training.pt2": "TRAINING", "model.pt2": "ATEN"}, "torch_version": version,
                "inputs": described[0]["inputs"], "outputs": described[0]["outputs"], "cases": described,
                "atol": 1e-4, "rtol": 1e-4, "stateful_sequence": bool(buffers), "mutated_buffers": buffers,
                "mutated_inputs": [], "bf16_as_uint16": False}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="DIR", help="where the model folders go")
    out = pathlib.Path(parser.parse_args().out)
    version = torch.__version__.split("+")[0]
    torch.set_num_threads(1)
    for name, module, cases, shapes, buffers in models():
        torch.manual_seed(7)
        write(out / f"torch{version}_{name}", name, module, cases, shapes, buffers, version)


if __name__ == "__main__":
    main()
