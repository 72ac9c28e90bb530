"""Writes ExecuTorch programs with XNNPACK delegates, and the outputs of ExecuTorch's runtime.

python3 make_samples.py FOLDER [NAME...]

Needs torch 2.13, executorch 1.5 and torchao 0.18. For each sample: NAME.pte, and per call of the
method NAME.forward.callC.inI.npy and .outO.npy.
"""

import copy
import pathlib
import subprocess
import sys

import numpy as np
import torch
from executorch.backends.xnnpack.partition import xnnpack_partitioner
from executorch.backends.xnnpack.quantizer import xnnpack_quantizer
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime
from torch import nn
from torchao import quantization
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e import quantize_pt2e

F = nn.functional


class Net(nn.Module):
    """A module whose forward is `function` over `parts`."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def pt2e(module, inputs, dynamic):
    config = xnnpack_quantizer.get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
    quantizer = xnnpack_quantizer.XNNPACKQuantizer().set_global(config)
    prepared = quantize_pt2e.prepare_pt2e(torch.export.export(module, inputs).module(), quantizer)
    prepared(*inputs)
    return quantize_pt2e.convert_pt2e(prepared)


def int4(module, granularity):
    module = copy.deepcopy(module)
    config = quantization.Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=granularity)
    quantization.quantize_(module, config)
    return module


def linears(sizes, bias=True):
    layers = []
    for i in range(len(sizes) - 1):
        layers += [nn.Linear(sizes[i], sizes[i + 1], bias=bias), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def pointwise(net, x, y):
    a = torch.minimum(x + y, x * y)
    b = torch.maximum(x - y, x / (y.abs() + 1.5))
    c = torch.sigmoid(a) + torch.tanh(b) + F.gelu(a) + F.hardswish(b) + F.leaky_relu(a, 0.2)
    d = torch.sqrt(x.abs()) + torch.exp(-y.abs()) + torch.log(x.abs() + 1.0) + torch.rsqrt(y.abs() + 1.0)
    e = torch.floor(x) + torch.ceil(y) + torch.sin(x) + torch.cos(y) + x.pow(2) + torch.clamp(y, -0.5, 0.5)
    return torch.softmax(c, -1), d, e - c


def images(net, x):
    x = F.relu(net.a(x))
    x = net.prelu(net.depthwise(x))
    y = F.max_pool2d(x, 2) + F.avg_pool2d(x, 2)
    y = net.transposed(y)
    z = torch.cat([y, x[:, :, :10, :10], y], 1)
    z = F.pad(z, (1, 2, 0, 1))
    z = net.grouped(z)
    z = F.interpolate(z, size=(9, 7), mode="bilinear", align_corners=False)
    return net.end(torch.mean(z, (2, 3), keepdim=True).flatten(1)), z


def image_parts():
    return dict(
        a=nn.Conv2d(3, 8, 3, padding=1, stride=1), depthwise=nn.Conv2d(8, 16, 3, padding=1, groups=8),
        prelu=nn.PReLU(16, 0.3), transposed=nn.ConvTranspose2d(16, 4, 2, stride=2),
        grouped=nn.Conv2d(24, 6, (3, 2), groups=2), end=nn.Linear(6, 5))


def attention(net, x):
    q, k, v = net.qkv(x).view(1, 6, 3, 2, 8).permute(2, 0, 3, 1, 4).reshape(3, 2, 6, 8).unbind(0)
    s = torch.softmax(torch.bmm(q, k.transpose(1, 2)) * 0.35, -1)
    return net.out(torch.bmm(s, v).permute(1, 0, 2).reshape(1, 6, 16)) + x


def static_int8(net, x):
    x = F.relu(net.a(x))
    x = net.b(x) + x
    x = F.max_pool2d(F.relu(net.depthwise(x)), 2)
    return net.end(torch.mean(x, (2, 3), keepdim=True).flatten(1))


def samples():
    torch.manual_seed(0)
    r = torch.randn
    mlp = linears([16, 8, 4])
    rows = torch.export.Dim("rows", min=1, max=8)
    yield "xnn_pointwise", Net(pointwise), [(r(2, 3, 5), r(2, 3, 5)), (r(2, 3, 5), r(2, 3, 5))], {}
    yield "xnn_images", Net(images, **image_parts()), [(r(1, 3, 10, 10),)], {}
    yield "xnn_attention", Net(attention, qkv=nn.Linear(16, 48), out=nn.Linear(16, 16)), [(r(1, 6, 16),)], {}
    yield "xnn_half", mlp.half(), [(r(3, 16).half(),)], {}
    mlp = mlp.float()
    yield "xnn_rows", mlp, [(r(8, 16),), (r(3, 16),)], dict(dynamic_shapes=({0: rows},))
    yield "xnn_dynamic_int8", pt2e(linears([32, 16, 8]), (r(4, 32),), True), [(r(4, 32),)], {}
    yield "xnn_int4_groups", int4(linears([64, 32, 32], bias=False), PerGroup(32)), [(r(1, 4, 64),)], {}
    yield "xnn_int4_channels", int4(linears([64, 32, 16]), PerAxis(0)), [(r(4, 64),)], {}
    yield "xnn_int4_rows", int4(linears([64, 32, 32]), PerGroup(32)), [(r(8, 64),), (r(2, 64),)], dict(
        dynamic_shapes=({0: rows},))
    net = Net(static_int8, a=nn.Conv2d(3, 8, 3, padding=1, stride=2), b=nn.Conv2d(8, 8, 1),
              depthwise=nn.Conv2d(8, 8, 3, padding=1, groups=8), end=nn.Linear(8, 5)).eval()
    yield "xnn_static_int8", pt2e(net, (r(1, 3, 12, 12),), False), [(r(1, 3, 12, 12),)], {}


def partitioners(name):
    if "dynamic" in name or "int4" in name:
        dynamic = xnnpack_partitioner.XnnpackDynamicallyQuantizedPartitioner()
        return [dynamic, xnnpack_partitioner.XnnpackPartitioner()]
    return [xnnpack_partitioner.XnnpackPartitioner()]


def write(folder, name):
    for known, module, calls, options in samples():
        if known == name:
            break
    module = module if isinstance(module, torch.fx.GraphModule) else module.eval()
    exported = torch.export.export(module, calls[0], **options)
    edge = to_edge_transform_and_lower(exported, partitioner=partitioners(name))
    file = folder / f"{name}.pte"
    file.write_bytes(edge.to_executorch().buffer)
    program = Runtime.get().load_program(file)
    method = program.load_method("forward")
    for c, inputs in enumerate(calls):
        outputs = method.execute(list(inputs))
        for i, tensor in enumerate(inputs):
            np.save(folder / f"{name}.forward.call{c}.in{i}.npy", tensor.numpy())
        for o, tensor in enumerate(outputs):
            np.save(folder / f"{name}.forward.call{c}.out{o}.npy", tensor.numpy())
        with torch.no_grad():
            eager = module(*inputs)
        eager = eager if isinstance(eager, tuple) else (eager,)
        errors = [float((a.float() - b.float()).abs().max()) for a, b in zip(outputs, eager)]
        print(name, c, "difference to eager:", errors)


def main(folder, names):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if len(names) == 1:
        return write(folder, names[0])
    # One process each: ExecuTorch's runtime keeps state of earlier programs.
    for name in names or [sample[0] for sample in samples()]:
        subprocess.run([sys.executable, __file__, str(folder), name], check=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
