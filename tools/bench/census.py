#!/usr/bin/env python3
"""Counts the operator calls of the models of wild_models.py.

    tools/bench/census.py --output tools/bench/census.tsv [--match REGEX]

Needs the peers' Python. Every model is exported; census.tsv gets a row per distinct call: operator, arguments with
shapes and data types, how many calls and how many models have it. Views, mutations (counted as their functional
operators) and dropout are left out. operators.py --census times the calls.

An argument is JSON. A tensor is {"dtype", "shape"}, with "weight": 1 if it is a parameter or buffer, and "order" if its
dimensions lie in memory in another order: outermost first.
"""

import argparse
import collections
import json
import math
import pathlib
import re
import sys

import figures

COLUMNS = ("operator", "kind", "calls", "models", "arguments")
HERE = pathlib.Path(__file__).resolve().parent
# Not calls of kernels at inference.
_SKIPPED = ("dropout", "feature_dropout", "lift_fresh_copy", "_assert_tensor_metadata", "_assert_scalar", "sym_size", "alias")


# ---- the file ----


def read(path=HERE / "census.tsv"):
    return figures.read_table(pathlib.Path(path), COLUMNS)


def tensors_of(arguments):
    """All tensors of an "arguments" value, in order."""
    if isinstance(arguments, dict):
        if "dtype" in arguments and "shape" in arguments:
            return [arguments]
        return [t for value in arguments.values() for t in tensors_of(value)]
    return [t for value in arguments for t in tensors_of(value)] if isinstance(arguments, list) else []


def elements(row):
    return sum(math.prod(tensor["shape"]) for tensor in tensors_of(json.loads(row["arguments"])))


def selected(rows, per_kind):
    """At most `per_kind` calls of each operator and kind, from the smallest to the largest in equal steps."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["operator"], row["kind"]].append(row)
    chosen = []
    for group in groups.values():
        group.sort(key=lambda row: (elements(row), row["arguments"]))
        steps = min(per_kind, len(group))
        # The largest is always one of them.
        chosen += [group[len(group) - 1 - i * len(group) // steps] for i in reversed(range(steps))]
    return chosen


def title(row, number):
    """A name of the call: operator, kind, shape of the first tensor."""
    shapes = [t["shape"] for t in tensors_of(json.loads(row["arguments"]))]
    text = "x".join(map(str, shapes[0])) if shapes else ""
    return " ".join(part for part in (row["operator"], row["kind"], text, f"#{number}") if part)


# ---- a program of a row ----


def _tensor(torch, spec, low):
    dtype, shape = getattr(torch, spec["dtype"]), spec["shape"]
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(0, 2, shape, dtype=dtype)
    value = torch.randn(shape).to(dtype)
    if "weight" in spec and len(shape) > 1:
        value /= max(1, value[0].numel()) ** 0.5
    return value.abs() + 0.1 if low else value


def case(torch, row):
    """The module of a row, and its inputs."""
    name, overload = row["operator"].split(".")
    target = getattr(getattr(torch.ops.aten, name), overload)
    arguments = json.loads(row["arguments"])
    # Arguments of roots and logarithms, and variances.
    low = name in ("sqrt", "rsqrt", "log", "log2", "log1p", "pow", "div", "batch_norm", "reciprocal")

    class Call(torch.nn.Module):
        def forward(self, *inputs):
            inputs = iter(inputs)

            def value(x):
                if isinstance(x, list):
                    return [value(y) for y in x]
                if not isinstance(x, dict):
                    return x
                if "parameter" in x:
                    return getattr(self, x["parameter"])
                if "torch" in x:
                    return getattr(torch, x["torch"])
                tensor = next(inputs)
                return tensor.permute(x["inverse"]) if "inverse" in x else tensor

            args = [value(x) for x in arguments["args"]]
            return target(*args, **{key: value(x) for key, x in arguments["kwargs"].items()})

    module, inputs = Call(), []
    for i, spec in enumerate(tensors_of(arguments)):
        if "weight" in spec:
            spec["parameter"] = f"weight{i}"
            module.register_buffer(spec["parameter"], _tensor(torch, spec, low))
            continue
        order = spec.get("order")
        stored = {**spec, "shape": [spec["shape"][d] for d in order] if order else spec["shape"]}
        if order:
            spec["inverse"] = [order.index(d) for d in range(len(order))]
        inputs.append(_tensor(torch, stored, low))
    return module.eval(), inputs


# ---- counting ----


def _functional(torch, target):
    """The operator without mutation, or None."""
    if not target._schema.is_mutable:
        return target
    name, overload = target._schema.name.split("::")[1], target._overloadname
    if not name.endswith("_"):
        return None
    return getattr(getattr(torch.ops.aten, name[:-1], None), overload, None)


def _order(tensor):
    """Dimensions from the outermost in memory; None for a contiguous tensor, and for one that is not dense."""
    if tensor.is_contiguous():
        return None
    order = sorted(range(tensor.dim()), key=lambda d: (-tensor.stride(d), d))
    return order if tensor.permute(order).is_contiguous() else None


def _argument(torch, value, weights):
    """JSON of an argument of a node; TypeError for kinds that a program of its own cannot have."""
    if isinstance(value, torch.fx.Node):
        tensor = value.meta.get("val")
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(type(tensor))
        if any(not isinstance(size, int) for size in tensor.shape):
            raise TypeError("symbolic sizes")
        spec = {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
        if value.name in weights:
            spec["weight"] = 1
        elif order := _order(tensor):
            spec["order"] = order
        return spec
    if isinstance(value, (list, tuple)):
        return [_argument(torch, x, weights) for x in value]
    if isinstance(value, (torch.dtype, torch.memory_format)):
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, (torch.device, torch.layout)):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(type(value))


def _kind(name, arguments):
    """What selects a kernel of a convolution."""
    tensors = tensors_of(arguments)
    if not name.startswith(("conv", "_convolution")) or len(tensors) < 2:
        return ""
    channels, weight = tensors[0]["shape"][1], tensors[1]["shape"]
    transposed = "transpose" in name
    groups = channels // weight[1] if not transposed else arguments["args"][6] if len(arguments["args"]) > 6 else 1
    stride = arguments["args"][3] if len(arguments["args"]) > 3 else [1]
    dilation = arguments["args"][7 if transposed else 5] if len(arguments["args"]) > (7 if transposed else 5) else [1]
    parts = ["dense" if groups == 1 else "depthwise" if groups == channels else "grouped", "x".join(map(str, weight[2:]))]
    largest = lambda x: max(x) if isinstance(x, list) else x
    parts += [f"s{largest(stride)}"] if largest(stride) > 1 else []
    parts += [f"d{largest(dilation)}"] if largest(dilation) > 1 else []
    return " ".join(parts)


def calls_of(torch, program):
    """(operator, kind, arguments as text) of every call."""
    signature = program.graph_signature
    weights = {spec.arg.name for spec in signature.input_specs if spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")}
    for node in program.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != "aten":
            continue
        target = _functional(torch, node.target)
        name = node.target._schema.name.split("::")[1].rstrip("_") if target is not None else ""
        # The outputs of views alias their operands.
        if target is None or name in _SKIPPED or any(r.alias_info is not None for r in target._schema.returns):
            continue
        try:
            arguments = {
                "args": _argument(torch, node.args, weights),
                "kwargs": {key: _argument(torch, value, weights) for key, value in node.kwargs.items()},
            }
        except TypeError:
            continue
        if tensors_of(arguments):
            operator_name = f"{target._schema.name.split('::')[1]}.{target._overloadname or 'default'}"
            yield operator_name, _kind(name, arguments), json.dumps(arguments, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--match", default=".", help="a regular expression of models")
    options = parser.parse_args()

    import logging
    import warnings

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import torch

    import wild_models
    import wild_networks

    calls, models = collections.Counter(), collections.defaultdict(set)
    for model in wild_models.NAMES:
        if not re.search(options.match, model):
            continue
        try:
            module, inputs = wild_networks.build(model)
            with torch.no_grad():
                program = torch.export.export(module.eval(), inputs)
        except Exception as error:  # of a library or of the exporter
            print(f"{model}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            continue
        found = collections.Counter(calls_of(torch, program))
        calls.update(found)
        for call in found:
            models[call].add(model)
        print(f"{model}: {sum(found.values())} calls, {len(found)} distinct", file=sys.stderr, flush=True)
    lines = ["\t".join(COLUMNS)]
    for call in sorted(calls, key=lambda call: (call[0], call[1], -calls[call], call[2])):
        lines.append("\t".join((call[0], call[1], str(calls[call]), str(len(models[call])), call[2])))
    figures.write(options.output, "\n".join(lines) + "\n")
    print(f"{len(lines) - 1} distinct calls of {len(set().union(*models.values()))} models", file=sys.stderr)


if __name__ == "__main__":
    main()
