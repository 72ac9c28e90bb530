"""Writes a program that Belay quantized for XNNPACK, and the outputs of ExecuTorch's runtime.

python3 make_quantized_sample.py BELAY FOLDER

Needs torch 2.13 and executorch 1.5. Writes belay_static_int8.bir, the quantized program, .pte, the
program that Belay lowered from it, and the input and outputs of a call.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from executorch.runtime import Runtime
from torch import nn

NAME = "belay_static_int8"


class Net(nn.Module):
    """Returns the results of each quantized node."""

    def __init__(self):
        super().__init__()
        self.strided = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.pointwise = nn.Conv2d(8, 8, 1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.linear = nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.strided(x))
        y = self.pointwise(x)
        total = x + y
        filtered = nn.functional.relu6(self.depthwise(total))
        mean = torch.mean(filtered, (2, 3), keepdim=True).flatten(1)
        return x, y, total, filtered, mean, self.linear(mean)


def main(belay, folder):
    folder = pathlib.Path(folder)
    torch.manual_seed(0)
    inputs = [torch.randn(1, 3, 12, 12) for _ in range(9)]
    saved, program = folder / f"{NAME}.bir", folder / f"{NAME}.pte"
    with tempfile.TemporaryDirectory() as temporary:
        archive = pathlib.Path(temporary) / "model.pt2"
        torch.export.save(torch.export.export(Net().eval(), (inputs[0],)), archive)
        calibration = pathlib.Path(temporary) / "calibration"
        calibration.mkdir()
        for i, x in enumerate(inputs[1:]):
            np.save(calibration / f"{i}.npy", x.numpy())
        subprocess.run([belay, "quantize", archive, "-o", saved, "--recipe", "int8-static", "--backend", "xnnpack",
                        "--calibration", calibration], check=True)
    subprocess.run([belay, "lower", saved, "-o", program, "--format", "pte", "--backend", "xnnpack", "--compile-spec",
                    "xnnpack:target=executorch-1.5"], check=True)
    outputs = Runtime.get().load_program(program).load_method("forward").execute([inputs[0]])
    np.save(folder / f"{NAME}.forward.call0.in0.npy", inputs[0].numpy())
    for i, output in enumerate(outputs):
        np.save(folder / f"{NAME}.forward.call0.out{i}.npy", output.numpy())


if __name__ == "__main__":
    main(*sys.argv[1:])
