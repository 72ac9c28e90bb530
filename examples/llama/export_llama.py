"""Exports a Llama-style decoder with random weights: methods `prefill` and `decode` over one cache.

    python export_llama.py --size small --output data          # the fixture of the test
    python export_llama.py --size 110m --output /tmp/llama     # 12 layers, 768 wide, 32000 tokens

Writes llama.pt2 (an archive with the models `prefill` and `decode`), and PyTorch's greedy generation
from a prompt: prompt.npy, tokens.npy. The fixture was created with PyTorch 2.13.0 (CPU).
The same seed gives the same weights.
"""

import argparse
import dataclasses
import pathlib
import re

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim, export
from torch.export.pt2_archive._package import package_pt2


@dataclasses.dataclass
class Config:
    width: int = 768
    layers: int = 12
    heads: int = 12
    kv_heads: int = 4
    hidden: int = 2048
    vocab: int = 32000
    length: int = 256  # of the cache: prompt and answer
    epsilon: float = 1e-5
    base: float = 10000.0


SIZES = {
    "110m": Config(),
    "small": Config(
        width=48, layers=2, heads=4, kv_heads=2, hidden=64, vocab=64, length=40
    ),
}


class RmsNorm(nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x):
        return (
            x
            * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon)
            * self.weight
        )


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Attention(nn.Module):
    """Grouped heads over a cache that is a buffer: rows of new tokens are written, all are read."""

    def __init__(self, c):
        super().__init__()
        self.heads, self.kv_heads, self.size = c.heads, c.kv_heads, c.width // c.heads
        self.q = nn.Linear(c.width, c.heads * self.size, bias=False)
        self.k = nn.Linear(c.width, c.kv_heads * self.size, bias=False)
        self.v = nn.Linear(c.width, c.kv_heads * self.size, bias=False)
        self.o = nn.Linear(c.heads * self.size, c.width, bias=False)
        cache = torch.zeros(1, c.kv_heads, c.length, self.size)
        self.register_buffer("k_cache", cache.clone())
        self.register_buffer("v_cache", cache.clone())

    def split(self, x, heads):
        return x.view(1, x.shape[1], heads, self.size).transpose(1, 2)

    def forward(self, x, position, cos, sin, mask):
        q = rotate(self.split(self.q(x), self.heads), cos, sin)
        k = rotate(self.split(self.k(x), self.kv_heads), cos, sin)
        v = self.split(self.v(x), self.kv_heads)
        self.k_cache.index_copy_(2, position, k)
        self.v_cache.index_copy_(2, position, v)
        group = self.heads // self.kv_heads
        y = F.scaled_dot_product_attention(
            q,
            self.k_cache.repeat_interleave(group, 1),
            self.v_cache.repeat_interleave(group, 1),
            attn_mask=mask,
        )
        return self.o(y.transpose(1, 2).reshape(1, x.shape[1], -1))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm1, self.norm2 = (
            RmsNorm(c.width, c.epsilon),
            RmsNorm(c.width, c.epsilon),
        )
        self.attention = Attention(c)
        self.gate = nn.Linear(c.width, c.hidden, bias=False)
        self.up = nn.Linear(c.width, c.hidden, bias=False)
        self.down = nn.Linear(c.hidden, c.width, bias=False)

    def forward(self, x, *rest):
        x = x + self.attention(self.norm1(x), *rest)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """tokens [1, n] at position [n] -> logits [1, vocab] of the next token."""

    def __init__(self, c):
        super().__init__()
        self.embed = nn.Embedding(c.vocab, c.width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = RmsNorm(c.width, c.epsilon)
        self.head = nn.Linear(c.width, c.vocab, bias=False)
        size = c.width // c.heads
        inverse = 1.0 / c.base ** (torch.arange(0, size, 2).float() / size)
        angles = torch.outer(torch.arange(c.length).float(), inverse)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self.register_buffer("slots", torch.arange(c.length), persistent=False)

    def forward(self, tokens, position):
        cos, sin = self.cos[position], self.sin[position]
        mask = self.slots[None, :] <= position[:, None]
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, position, cos, sin, mask)
        return self.head(self.norm(x[:, -1]))

    def forget(self):
        for block in self.blocks:
            block.attention.k_cache.zero_()
            block.attention.v_cache.zero_()


def generate(model, prompt, count):
    """Greedy generation; also returns the minimum margin between the best and the second-best token."""
    model.forget()
    tokens, margin = [], float("inf")
    step, first = torch.tensor([prompt]), 0
    with torch.no_grad():
        while len(tokens) < count:
            logits = model(step, torch.arange(first, first + step.shape[1]))[0]
            best = logits.topk(2).values
            margin = min(margin, float(best[0] - best[1]))
            tokens.append(int(logits.argmax()))
            first += step.shape[1]
            step = torch.tensor([[tokens[-1]]])
    model.forget()
    return tokens, margin


def shorten_sources(program):
    """Keeps only the innermost frame of each node's source, without its folder."""
    for node in program.graph.nodes:
        trace = node.meta.get("stack_trace")
        if trace and 'File "' in trace:
            frame = trace[trace.rindex('File "') :]
            node.meta["stack_trace"] = re.sub('File "[^"]*/', 'File "', frame)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--prompt", type=int, default=7, help="tokens of the prompt")
    parser.add_argument("--count", type=int, default=32, help="tokens to generate")
    args = parser.parse_args()
    c = SIZES[args.size]
    torch.manual_seed(args.seed)
    model = Llama(c).eval()
    for p in model.parameters():
        if p.dim() == 2:
            # Large enough that attention matters, and that generation does not repeat in short cycles.
            nn.init.normal_(p, std=2 * p.shape[1] ** -0.5)
    prompt = torch.randint(0, c.vocab, (args.prompt,)).tolist()
    tokens, margin = generate(model, prompt, args.count)
    print(f"prompt {prompt}\ntokens {tokens}\nminimum margin {margin:.4f}")

    args.output.mkdir(parents=True, exist_ok=True)
    numpy.save(args.output / "prompt.npy", numpy.array(prompt, numpy.int64))
    numpy.save(args.output / "tokens.npy", numpy.array(tokens, numpy.int64))
    n = Dim("n", min=1, max=c.length)
    inputs = lambda k: (torch.zeros(1, k, dtype=torch.int64), torch.arange(k))
    methods = {
        "prefill": export(model, inputs(5), dynamic_shapes=({1: n}, {0: n})),
        "decode": export(model, inputs(1)),
    }
    for program in methods.values():
        shorten_sources(program)
    package_pt2(args.output / "llama.pt2", exported_programs=methods)


main()
