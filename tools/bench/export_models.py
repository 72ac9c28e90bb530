"""Creates deterministic models with random weights, their inputs and PyTorch's outputs. Runs in the peers' Python.

  python export_models.py DIR FOLDER SUFFIX

Writes DIR/FOLDER/{model.pt2, in<i>.npy, golden<i>.npy}; with a suffix, model<suffix>.pt2 and golden<suffix>_<i>.npy next to them:
"_q8" is statically quantized to int8 (PT2E), "_w8" and "_w4" have torchao's weights of 8 bits, and of 4 in groups of 32, "_bf16" computes in
bfloat16 between inputs and outputs of float32.
"""

import pathlib
import sys

import numpy
import torch
from torch import nn
from torch.nn import functional

import wild_networks


class BertEncoder(wild_networks.Entry):
    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask)[self.key]


def with_statistics(model, *inputs):
    """Batch norms as after training: otherwise activations become subnormal, which slows everything."""
    norms = [module for module in model.modules() if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))]
    if not norms:
        return model
    model.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean over all batches
        norm.train()
    with torch.no_grad():
        for _ in range(2):
            model(*[torch.randn(4, *x.shape[1:]) for x in inputs])
    return model.eval()


class InBFloat16(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model.to(torch.bfloat16)

    def forward(self, *inputs):
        narrow = [x.to(torch.bfloat16) if x.is_floating_point() else x for x in inputs]
        outputs = self.model(*narrow)
        return tuple(y.float() for y in outputs) if isinstance(outputs, tuple) else outputs.float()


class Additions(nn.Module):
    def forward(self, x, y):
        for _ in range(1000):
            x = x + y
        return x


def depthwise_chain(channels, count):
    layers = [nn.Conv2d(channels, channels, 3, padding=1, groups=channels) for _ in range(count)]
    for layer in layers:
        nn.init.normal_(layer.weight, std=1 / 3)  # 9 products: the variance stays
    return nn.Sequential(*layers)


class Decoder(nn.Module):
    """One step of a language model: 12 layers of grouped attention and gated feed-forward, the cache as inputs."""

    WIDTH, LAYERS, HEADS, KV_HEADS, HIDDEN, TOKENS, PAST = 768, 12, 12, 4, 2048, 32000, 127
    SIZE = WIDTH // HEADS

    def __init__(self):
        super().__init__()
        linear = lambda k, n: nn.Linear(k, n, bias=False)
        self.embedding = nn.Embedding(self.TOKENS, self.WIDTH)
        self.layers = nn.ModuleList()
        for _ in range(self.LAYERS):
            layer = nn.Module()
            layer.attention_norm, layer.gate_norm = nn.RMSNorm(self.WIDTH, 1e-5), nn.RMSNorm(self.WIDTH, 1e-5)
            layer.query, layer.out = linear(self.WIDTH, self.WIDTH), linear(self.WIDTH, self.WIDTH)
            layer.key = linear(self.WIDTH, self.KV_HEADS * self.SIZE)
            layer.value = linear(self.WIDTH, self.KV_HEADS * self.SIZE)
            layer.gate, layer.up = linear(self.WIDTH, self.HIDDEN), linear(self.WIDTH, self.HIDDEN)
            layer.down = linear(self.HIDDEN, self.WIDTH)
            self.layers.append(layer)
        self.norm, self.head = nn.RMSNorm(self.WIDTH, 1e-5), linear(self.WIDTH, self.TOKENS)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)
        angle = self.PAST / 10000 ** (torch.arange(0, self.SIZE, 2) / self.SIZE)
        self.register_buffer("cosine", angle.cos())
        self.register_buffer("sine", angle.sin())

    def rotate(self, x):
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * self.cosine - b * self.sine, a * self.sine + b * self.cosine], dim=-1)

    def forward(self, ids, past_keys, past_values):
        x, keys, values = self.embedding(ids), [], []
        heads = lambda y, count: y.view(1, 1, count, self.SIZE).transpose(1, 2)
        for i, layer in enumerate(self.layers):
            normed = layer.attention_norm(x)
            query = self.rotate(heads(layer.query(normed), self.HEADS))
            keys.append(self.rotate(heads(layer.key(normed), self.KV_HEADS)))
            values.append(heads(layer.value(normed), self.KV_HEADS))
            shared = self.HEADS // self.KV_HEADS
            key = torch.cat([past_keys[i], keys[-1]], dim=2).repeat_interleave(shared, dim=1)
            value = torch.cat([past_values[i], values[-1]], dim=2).repeat_interleave(shared, dim=1)
            attended = functional.scaled_dot_product_attention(query, key, value)
            x = x + layer.out(attended.transpose(1, 2).reshape(1, 1, self.WIDTH))
            normed = layer.gate_norm(x)
            x = x + layer.down(functional.silu(layer.gate(normed)) * layer.up(normed))
        return self.head(self.norm(x)), torch.stack(keys), torch.stack(values)


def build(folder):
    """The model and its inputs."""
    image = torch.randn(1, 3, 224, 224)
    if folder == "mobilenet_v2":
        from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

        model = MobileNetV2ForImageClassification(MobileNetV2Config(num_labels=1000))
        return with_statistics(wild_networks.Entry(model.eval(), "logits"), image), (image,)
    if folder == "resnet50":
        from transformers import ResNetConfig, ResNetForImageClassification

        model = ResNetForImageClassification(ResNetConfig(num_labels=1000))
        return with_statistics(wild_networks.Entry(model.eval(), "logits"), image), (image,)
    if folder == "vit_b16":
        from transformers import ViTConfig, ViTForImageClassification

        return wild_networks.Entry(ViTForImageClassification(ViTConfig(num_labels=1000)), "logits"), (image,)
    if folder == "bert_base_128":
        from transformers import BertConfig, BertModel

        ids = torch.randint(0, 30522, (1, 128))
        return BertEncoder(BertModel(BertConfig(), add_pooling_layer=False), "last_hidden_state"), (ids, torch.ones_like(ids))
    if folder == "llama110m_decode":
        cache = (Decoder.LAYERS, 1, Decoder.KV_HEADS, Decoder.PAST, Decoder.SIZE)
        return Decoder(), (torch.randint(0, Decoder.TOKENS, (1, 1)), torch.randn(cache), torch.randn(cache))
    if folder == "dw3x3_c144_56":
        return depthwise_chain(144, 8), (torch.randn(1, 144, 56, 56),)
    if folder == "gemm1024":
        return nn.Linear(1024, 1024, bias=False), (torch.randn(1024, 1024),)
    if folder == "chain1000":
        return Additions(), (torch.ones(1), torch.full((1,), 0.5))
    if wild := wild_networks.build(folder):
        return with_statistics(wild[0], *wild[1]), wild[1]
    raise SystemExit(f"export_models.py: no model {folder}")


def quantized(model, inputs):
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
    prepared(*inputs)
    for _ in range(7):
        prepared(*[torch.randn_like(x) for x in inputs])
    return convert_pt2e(prepared)


def with_small_weights(model, suffix):
    from torchao.quantization import Int8WeightOnlyConfig, IntxWeightOnlyConfig, PerGroup, quantize_

    small = {"_w8": Int8WeightOnlyConfig(), "_w4": IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))}
    quantize_(model, small[suffix])
    return model


def main(data, folder, suffix):
    torch.manual_seed(20)
    target = pathlib.Path(data) / folder
    target.mkdir(parents=True, exist_ok=True)
    model, inputs = build(folder)
    model.eval()
    # Existing inputs also belong to the other archive's golden outputs.
    for i, x in enumerate(inputs):
        if not (target / f"in{i}.npy").exists():
            numpy.save(target / f"in{i}.npy", x.numpy())
    inputs = tuple(torch.from_numpy(numpy.load(target / f"in{i}.npy")) for i in range(len(inputs)))
    with torch.no_grad():
        if suffix == "_q8":
            model = quantized(model, inputs)
        elif suffix == "_bf16":
            model = InBFloat16(model)
        elif suffix:
            model = with_small_weights(model, suffix)
        outputs = model(*inputs)
        program = torch.export.export(model, inputs).run_decompositions({})
    stem = f"golden{suffix}_" if suffix else "golden"
    for i, y in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
        numpy.save(target / f"{stem}{i}.npy", y.contiguous().numpy())
    torch.export.save(program, target / f"model{suffix}.pt2")  # last: it says that all is there


if __name__ == "__main__":
    main(*sys.argv[1:4])
