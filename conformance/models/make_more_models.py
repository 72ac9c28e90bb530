#!/usr/bin/env python3
"""Builds the models of more/: programs that the zoo of make_models.py does not have.

    make_more_models.py --out more                  # all
    make_more_models.py --out more --only svd_values

Options, folder format and requirements are those of make_models.py.
"""

import collections
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops import associative_scan, while_loop
from torch.export import Dim

import make_models
from make_models import Call, randint, randn

REGISTRY = collections.OrderedDict()


def model(description, **options):
    def register(fn):
        options.setdefault("training", True)
        REGISTRY[fn.__name__] = make_models.Entry(fn, description, dict(options))
        return fn

    return register


class Function(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, *args):
        return self.fn(*args)


@model("batch norm in training: running statistics move", stateful=True, keep_mode=True)
def train_batch_norm():
    net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.BatchNorm1d(27))
    return net.train(), [(randn(4, 2, 5, 5, seed=k),) for k in range(3)], None


@model("bags of embeddings: sums, means, maxima, by offsets and with weights")
def embedding_bags():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.sum = nn.EmbeddingBag(10, 4, mode="sum", include_last_offset=True)
            self.mean = nn.EmbeddingBag(10, 4, mode="mean", padding_idx=3)
            self.max = nn.EmbeddingBag(10, 4, mode="max")

        def forward(self, rows, flat, offsets, weights):
            return (
                self.sum(flat, offsets, per_sample_weights=weights), self.mean(flat, offsets[:-1]),
                self.max(rows),
            )

    return Net(), [
        (randint(0, 10, (3, 5), seed=k), randint(0, 10, (8,), seed=k), torch.tensor([0, 3, 8]), randn(8, seed=k))
        for k in range(2)
    ], None


@model("activations that write, randomized ReLU in evaluation")
def activations_in_place():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                nn.ReLU(True), nn.ELU(inplace=True), nn.LeakyReLU(inplace=True), nn.RReLU(inplace=True),
                nn.SELU(True), nn.SiLU(True), nn.Mish(True), nn.Hardswish(True), nn.Dropout(inplace=True),
            )

        def forward(self, x):
            return self.layers(x.clone()), F.rrelu(x, 0.1, 0.5)

    return Net(), [(randn(4, 3, seed=k),) for k in range(2)], None


@model("numbers beside tensors without dimensions; a double that float32 rounds", stateful=True, atol=1e-12, rtol=1e-12)
def zero_dim_numbers():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.tensor(0, dtype=torch.int32))
            self.register_buffer("scale", torch.tensor(1.5, dtype=torch.float16))

        def forward(self, x):
            self.count.add_(1)
            return x * 0.1 + self.count, self.scale * 2.5 - 1, torch.where(self.count > 1, x, x * 2)

    return Net(), [(randn(3, seed=k, dtype=torch.float64),) for k in range(3)], None


@model("systems of equations: LU, triangles, Cholesky; a determinant beyond float32", atol=1e-4, rtol=1e-3)
def linear_systems():
    def forward(a, b):
        spd = a @ a.mT + torch.eye(4)
        lower = torch.linalg.cholesky(spd)
        return (
            torch.linalg.solve(a, b), torch.linalg.solve(a, b.mT, left=False),
            torch.linalg.solve_triangular(a.triu(), b, upper=True), torch.cholesky_solve(b, lower),
            torch.cholesky_inverse(lower), torch.linalg.slogdet(a * 1e12)[1], torch.logdet(spd),
            torch.linalg.matrix_exp(a * 0.3), torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b),
        )

    return Function(forward), [(randn(4, 4, seed=k) + 3 * torch.eye(4), randn(4, 2, seed=k + 1)) for k in range(2)], None


@model("singular values and what follows from them; eigenvalues; QR", atol=1e-4, rtol=1e-3)
def svd_values():
    def forward(a):
        u, s, v = torch.linalg.svd(a, full_matrices=False)
        values, vectors = torch.linalg.eigh(a.mT @ a)
        q, r = torch.linalg.qr(a)
        return (
            torch.linalg.svdvals(a), (u * s) @ v, torch.linalg.pinv(a), torch.linalg.cond(a),
            torch.linalg.matrix_norm(a, "nuc"), torch.linalg.matrix_norm(a, 2), values,
            vectors @ torch.diag(values) @ vectors.mT, q, r, torch.linalg.matrix_rank(a),
        )

    return Function(forward), [(randn(5, 3, seed=k),) for k in range(2)], None


@model("special functions: gamma, error, Bessel, integer ones")
def special_functions():
    def forward(x, i):
        positive = x.abs() + 0.1
        return (
            torch.lgamma(positive), torch.digamma(positive), torch.polygamma(1, positive), torch.erfc(x),
            torch.erfinv(x.tanh()), torch.special.ndtri(x.sigmoid()), torch.special.log_ndtr(x),
            torch.special.i0(x), torch.special.i1e(x), torch.special.gammainc(positive, x.abs()),
            torch.special.zeta(positive + 1, positive), torch.fmax(x, x.log()), torch.gcd(i, i + 6),
            torch.lcm(i, i + 4), torch.logcumsumexp(x, 1),
        )

    return Function(forward), [(randn(3, 4, seed=k), randint(-9, 9, (3, 4), seed=k)) for k in range(2)], None


@model("different elements and rows, whose number only the data tell")
def unique_elements():
    def forward(x):
        values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
        return values, inverse, counts, torch.unique_consecutive(x.flatten()), torch.unique(x, dim=0)

    return Function(forward), [(randint(0, 4, (4, 2), seed=k),) for k in range(3)], None


@model("a batch without an upper bound")
def unbounded_batch():
    net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3))
    return net, [(randn(b, 4, seed=b),) for b in (3, 7, 2)], ({0: Dim("batch")},)


@model("a causal mask by nested torch.vmap, and a mapped reduction")
def vmap_mask():
    class Net(nn.Module):
        def forward(self, x, lengths, place):
            causal = torch.vmap(torch.vmap(lambda q, k: k <= q, (None, 0)), (0, None))(place, place)
            seen = torch.vmap(torch.vmap(lambda n, k: k < n, (None, 0)), (0, None))(lengths, place)
            mask = causal[None] & seen[:, None]
            scores = torch.vmap(lambda row: row @ row.mT)(x)
            return torch.where(mask, scores, -10.0 + 0 * scores).softmax(-1), torch.vmap(lambda c: c.sum(0))(x)

    return Net(), [(randn(2, 5, 3, seed=k), torch.tensor([5, 3]), torch.arange(5)) for k in range(2)], None


@model("associative_scan over pairs, and of matrices")
def scan_pairs():
    def forward(a, b, m):
        pair = associative_scan(
            lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b), 0, combine_mode="generic")
        return pair, associative_scan(lambda p, q: p @ q, m, 0, combine_mode="generic")

    return Function(forward), [(randn(7, 3, seed=k), randn(7, 3, seed=k + 1), randn(5, 2, 2, seed=k)) for k in range(2)], None


@model("tensors of numbers: triangles' indices, windows, frequencies, ranges; writes into empty ones")
def made_of_numbers():
    def forward(x):
        like = torch.empty_like(x)
        like.copy_(x)
        like[0] = 1
        rows, columns = torch.tril_indices(4, 4)
        return (
            x[rows, columns], torch.triu_indices(3, 4, 1), torch.kaiser_window(6), torch.bartlett_window(5),
            torch.fft.fftfreq(5), torch.fft.rfftfreq(8, 0.5), torch.range(1, 2, 0.25), like,
            torch.polar(x.abs(), x).imag, torch.complex(x, x + 1).abs(), torch.nonzero_static(x > 0, size=20),
        )

    return Function(forward), [(randn(4, 4, seed=k),) for k in range(2)], None


@model("LSTM with projections, two layers")
def lstm_projection():
    return nn.LSTM(3, 6, num_layers=2, proj_size=4), [(randn(4, 2, 3, seed=k),) for k in range(2)], None


# PyTorch's own decomposition unrolls each step.
@model("LSTM with many steps, lowered to a loop: two layers, bidirectional, dynamic batch", decomposed=False)
def lstm_many_steps():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)

        def forward(self, x):
            y, (h, c) = self.lstm(x)
            return y[:, ::20], h, c

    return Net(), [(randn(n, 300, 3, seed=n),) for n in (2, 1, 5)], ({0: Dim("batch", min=1, max=8)},)


@model("counts and middles: histogram, mode, medians that skip NaN, index_reduce")
def counts():
    def forward(x, i, index):
        gaps = torch.where(x > 1, float("nan"), x)
        return (
            torch.histc(x, 5, -1, 1), torch.mode(i, 1)[0], torch.nanmedian(gaps), torch.nanmedian(gaps, 1)[0],
            x.index_reduce(0, index, x[:2], "amax"), x.index_reduce(0, index, x[:2], "mean", include_self=False),
            torch.fake_quantize_per_tensor_affine(x, 0.1, 2, 0, 15),
        )

    return Function(forward), [
        (randn(4, 5, seed=k), randint(0, 3, (4, 5), seed=k), torch.tensor([2, 0])) for k in range(2)
    ], None


@model("sizes that data decide, in a sum with fixed ones")
def assumed_split():
    class Net(nn.Module):
        def forward(self, x, lengths):
            first, second = lengths.tolist()
            return torch.cat(x.split([first, second])) + x

    return Net(), [(randn(6, 4, seed=k), torch.tensor(lengths)) for k, lengths in enumerate(([2, 4], [0, 6], [5, 1]))], None


@model("positions' biases cut to a dynamic length, as MPT does")
def assumed_slice():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("bias", randn(1, 64, seed=9))

        def forward(self, scores):
            length = scores.shape[-1]
            return scores + self.bias[max(0, 1 - length):, max(0, 64 - length):]

    return Net(), [(randn(3, n, seed=n),) for n in (5, 2, 63)], ({1: Dim.DYNAMIC(max=64)},)


@model("rows padded to whole windows of a dynamic height and width, as Swin does", training=False)
def assumed_windows():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("bias", randn(4, 4, 3, seed=9))
            self.norm = nn.LayerNorm(3)

        def forward(self, x):
            batch, height, width, channels = x.shape
            x = F.pad(x, (0, 0, 0, (4 - width % 4) % 4, 0, (4 - height % 4) % 4))
            high, wide = x.shape[1] // 4, x.shape[2] // 4
            windows = x.view(batch, high, 4, wide, 4, channels).transpose(2, 3)
            windows = self.norm(windows + self.bias).transpose(2, 3)
            return windows.reshape(batch, high * 4, wide * 4, channels)[:, :height, :width]

    return Net(), [(randn(2, h, w, 3, seed=h),) for h, w in ((9, 10), (13, 30), (17, 5))], (
        {1: Dim.DYNAMIC(max=32), 2: Dim.DYNAMIC(max=32)},)


@model("counts, repeats and different elements of bounded numbers, or of none", training=False)
def bounded_counts():
    def forward(x, i, repeats):
        mask = x.sum(1) > 0
        count = mask.sum().item()
        torch._check(count >= 0)
        torch._check(count <= x.shape[0])
        return (
            torch.bincount(i.clamp(0, 7), minlength=4), torch.bincount(i % 5, weights=x[:, 0]),
            torch.bincount(x.argmax(1)), torch.bincount((x[:, 0].sigmoid() * 6).long()),
            torch.bincount(i[mask].clamp(0, 7), minlength=2), torch.unique_consecutive(i[mask]),
            *torch.unique(i[mask], return_inverse=True, return_counts=True), torch.unique(x[mask].round(), dim=0),
            x.repeat_interleave(repeats.clamp(0, 3), 0), x.repeat_interleave(mask.long(), 0), x[:count],
        )

    return Function(forward), [
        (sign(randn(6, 4, seed=k)), randint(0, 9, (6,), seed=k), torch.tensor(repeats))
        for k, (sign, repeats) in enumerate(
            ((torch.clone, [1, 0, 3, 2, 1, 1]), (lambda x: -x.abs(), [0] * 6), (torch.clone, [5] * 6)))
    ], None


@model("a dynamic length that only an assertion bounds")
def asserted_length():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("bias", randn(1, 24, seed=9))

        def forward(self, scores):
            return scores + self.bias[:, max(0, 24 - scores.shape[-1]):]

    return Net(), [(randn(3, n, seed=n),) for n in (5, 2, 23)], ({1: Dim.DYNAMIC},)


@model("attention in windows of a dynamic height and width, as Swin does", training=False)
def window_attention():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24)
            self.register_buffer("bias", randn(1, 2, 9, 9, seed=9))

        def forward(self, x):
            batch, height, width, channels = x.shape
            x = F.pad(x, (0, 0, 0, (3 - width % 3) % 3, 0, (3 - height % 3) % 3))
            high, wide = x.shape[1], x.shape[2]
            windows = x.view(batch, high // 3, 3, wide // 3, 3, channels).transpose(2, 3)
            windows = windows.reshape(-1, high // (high // 3) * (wide // (wide // 3)), channels)
            q, k, v = self.qkv(windows).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias)
            mixed = mixed.transpose(1, 2).reshape(batch, high // 3, wide // 3, 3, 3, channels)
            return mixed.transpose(2, 3).reshape(batch, high, wide, channels)[:, :height, :width]

    return Net(), [(randn(1, h, w, 8, seed=h),) for h, w in ((7, 10), (12, 5), (9, 14))], (
        {1: Dim.DYNAMIC(max=32), 2: Dim.DYNAMIC(max=32)},)


@model("a decoder: a loop over an embedding, a GRU cell and the next token, until an end token", training=False)
def decoder_loop():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.cell, self.head = nn.Embedding(40, 32), nn.GRUCell(32, 32), nn.Linear(32, 40)

        def forward(self, token, state):
            def unfinished(step, token, state, tokens):
                return (step < 12) & (token[0] != 3)

            def next_token(step, token, state, tokens):
                state = self.cell(self.embedding(token), state)
                token = self.head(state).argmax(-1)
                return step + 1, token, state, tokens + F.one_hot(step, 12) * token

            return while_loop(
                unfinished, next_token, (torch.tensor(0), token, state, torch.zeros(12, dtype=torch.int64)))

    return Net(), [(torch.tensor([k]), randn(1, 32, seed=k)) for k in (1, 3, 7)], None


@model("batches of one and of none, of a dimension that the exporter calls dynamic")
def any_batch():
    net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
    return net, [(randn(b, 4, seed=b),) for b in (3, 1, 0, 7)], ({0: Dim.DYNAMIC(max=8)},)


@model("ranges of a symbolic length and float steps")
def float_ranges():
    class Net(nn.Module):
        def forward(self, x):
            n = x.shape[0]
            return torch.arange(n, -1, -1.0) * 0.5, torch.arange(0, n, 0.25), x + 1

    return Net(), [(randn(n, 2, seed=n),) for n in (5, 2, 8)], ({0: Dim("n", min=2, max=8)},)


@model("a mixture of experts: rows sorted by expert, a product per expert", atol=2e-2, rtol=2e-2)
def expert_products():
    from transformers.integrations import moe  # noqa: F401, registers grouped_mm_fallback

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.router = nn.Linear(8, 4)
            self.register_buffer("up", randn(4, 8, 16, seed=3))
            self.register_buffer("down", randn(4, 16, 8, seed=4).bfloat16())

        def forward(self, x):
            weights, experts = self.router(x).softmax(-1).topk(2)
            order = experts.flatten().argsort(stable=True)
            rows = x.repeat_interleave(2, 0)[order]
            ends = torch.histc(experts.flatten().float(), 4, 0, 3).cumsum(0).to(torch.int32)
            hidden = torch.ops.transformers.grouped_mm_fallback(rows, self.up, ends)
            hidden = F.grouped_mm(hidden.relu().bfloat16(), self.down, offs=ends).float()
            back = torch.empty_like(hidden)
            back[order] = hidden
            return (back * weights.reshape(-1, 1)).view(x.shape[0], 2, 8).sum(1)

    return Net(), [(randn(n, 8, seed=n),) for n in (5, 3, 12)], ({0: Dim("tokens", min=2, max=16)},)


@model("weights of bytes by torchao's quantize_: tensors of a class of its own", plain_norms=True, atol=1e-4)
def byte_weights():
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    net = nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 5))
    quantize_(net, Int8WeightOnlyConfig())
    return net, [(randn(3, 16, seed=k),) for k in range(2)], None


@model("more elements than the input has, selected by a mask that is larger", wrong_assertion=True)
def masked_repeats():
    def forward(x, mask):
        return torch.masked_select(x, mask) * 2

    return Function(forward), [(randn(1, 4, seed=k), randn(3, 4, seed=k) > low) for k, low in enumerate((-9, 0, 9))], None


@model("forward-mode derivatives, lists of tensors, sums to a size", training=False)
def derivatives_and_lists():
    class Net(nn.Module):
        def forward(self, x, direction):
            value, slope = torch.func.jvp(lambda v: torch.sin(v) * v, (x,), (direction,))
            scaled = torch._foreach_mul([x, direction], 2.0)
            sums = torch._foreach_add(scaled, [value, slope])
            return value, slope, *sums, (x + direction[:, :1]).sum_to_size(3, 1), torch.ops.aten._is_all_true(x < 9)

    return Net(), [(randn(3, 4, seed=k), randn(3, 4, seed=k + 1)) for k in range(2)], None


def draws(x, count):
    """Many rows of x, so that means of what is drawn for each are near what is expected."""
    return x.expand(count, *x.shape)


# The means are over 65,536 numbers whose deviation is at most 1: those of two generators differ by more than
# the tolerance, 7.2 deviations of the difference, once in 10^12 times.
@model("numbers drawn from all distributions, by their means", atol=0.04, rtol=0)
def random_means():
    def forward(x, i):
        n = 65536
        ones, zeros = draws(torch.ones_like(x), n), draws(i * 0, n)
        uniform = torch.empty_like(ones).uniform_(-1, 2)
        normal = torch.empty_like(ones).normal_(0.5, 1)
        drawn = [
            uniform, (uniform - 0.5).square(), normal, (normal - 0.5).tanh().square(),
            torch.empty_like(ones).exponential_(1.5), torch.empty_like(ones).geometric_(0.8),
            torch.empty_like(ones).log_normal_(-1, 0.5), torch.empty_like(ones).cauchy_().atan() / 2,
            torch.empty_like(ones).bernoulli_(0.3), torch.bernoulli(ones * 0.6), torch.bernoulli(ones, 0.2),
            torch.empty_like(ones).bernoulli_(ones * 0.9), torch.rand(n, 1), torch.rand_like(ones),
            torch.randn(n, 1).clamp(-1, 1), torch.randn_like(ones).abs(), torch.randint(3, (n, 1)) * 1.0,
            torch.randint(-1, 2, (n, 1)) * 1.0, torch.randint_like(zeros, 3) * 1.0,
            torch.randint_like(zeros, 5, 8) * 1.0, torch.normal(ones, ones * 0.5), torch.normal(ones, 0.5),
            torch.normal(0.25, ones), torch.normal(0.25, 0.5, (n, 1)), torch.poisson(ones * 0.7),
            torch.poisson(ones * 40) / 7, torch.multinomial(ones * 0 + x.new_tensor([1.0]), 1) * 1.0,
            torch.multinomial(x.new_tensor([1.0, 2.0, 0.0, 1.0]), n, True) / 3,
            F.dropout(ones, 0.4, True), F.rrelu(-ones, training=True), F.alpha_dropout(ones, 0.2, True),
            F.dropout1d(ones[:, None], 0.4, True), torch.empty_like(zeros).random_(3) * 1.0,
        ]
        return (*(d.mean() for d in drawn), torch.randperm(100).sort()[0])

    return Function(forward), [(torch.ones(1), torch.ones(1, dtype=torch.int64))], None


@model("a Gumbel-softmax choice, by how often each is made", atol=0.04, rtol=1e-3)
def gumbel_choice():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.logits = nn.Linear(6, 4)
            self.values = nn.Embedding(4, 3)

        def forward(self, x):
            logits = draws(self.logits(x), 16384)
            hard, soft = F.gumbel_softmax(logits, hard=True), F.gumbel_softmax(logits, tau=0.5)
            chosen = hard @ self.values.weight * 0.1
            return hard.mean(0), hard.sum(-1), soft.mean(0), chosen.mean(0)

    return Net(), [(randn(2, 6, seed=k),) for k in range(2)], None


def define_detection_operators():
    """torchvision's operators by its schemas, where torchvision is not installed."""
    if hasattr(torch.ops.torchvision, "nms"):
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
        "int sampling_ratio, bool aligned) -> Tensor")

    def nms(boxes, scores, threshold):
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        kept = []
        for i in scores.sort(stable=True, descending=True)[1].tolist():
            def overlap(j):
                low, high = torch.maximum(boxes[i, :2], boxes[j, :2]), torch.minimum(boxes[i, 2:], boxes[j, 2:])
                shared = (high - low).clamp(min=0).prod()
                return shared / (areas[i] + areas[j] - shared)
            if not any(overlap(j) > threshold for j in kept):
                kept.append(i)
        return torch.tensor(kept, dtype=torch.int64)

    def roi_align(images, rois, scale, height, width, sampling_ratio, aligned):
        def bilinear(image, y, x):
            rows, columns = image.shape[1:]
            if y < -1 or y > rows or x < -1 or x > columns:
                return image.new_zeros(image.shape[0])
            y, x = max(y, 0.0), max(x, 0.0)
            top, left = min(int(y), rows - 1), min(int(x), columns - 1)
            down = y - top if top < rows - 1 else 0.0
            right = x - left if left < columns - 1 else 0.0
            bottom, end = min(top + 1, rows - 1), min(left + 1, columns - 1)
            return ((1 - down) * ((1 - right) * image[:, top, left] + right * image[:, top, end])
                    + down * ((1 - right) * image[:, bottom, left] + right * image[:, bottom, end]))

        out = images.new_zeros(rois.shape[0], images.shape[1], height, width)
        for k, (index, *corners) in enumerate(rois.tolist()):
            left, top, right, bottom = (c * scale - (0.5 if aligned else 0.0) for c in corners)
            wide, high = right - left, bottom - top
            if not aligned:
                wide, high = max(wide, 1.0), max(high, 1.0)
            bin_high, bin_wide = high / height, wide / width
            rows = sampling_ratio if sampling_ratio > 0 else math.ceil(bin_high)
            columns = sampling_ratio if sampling_ratio > 0 else math.ceil(bin_wide)
            for y in range(height):
                for x in range(width):
                    samples = [
                        bilinear(images[int(index)], top + y * bin_high + (i + 0.5) * bin_high / rows,
                                 left + x * bin_wide + (j + 0.5) * bin_wide / columns)
                        for i in range(rows) for j in range(columns)
                    ]
                    out[k, :, y, x] = sum(samples) / max(rows * columns, 1) if samples else 0.0
        return out

    library.impl("nms", nms, "CPU")
    library.impl("roi_align", roi_align, "CPU")

    @torch.library.register_fake("torchvision::nms")
    def _(boxes, scores, threshold):
        count = torch.library.get_ctx().new_dynamic_size()
        torch._check(count <= boxes.shape[0])
        return scores.new_empty(count, dtype=torch.int64)

    @torch.library.register_fake("torchvision::roi_align")
    def _(images, rois, scale, height, width, sampling_ratio, aligned):
        return images.new_empty(rois.shape[0], images.shape[1], height, width)

    define_detection_operators.library = library


@model("the head of a Faster R-CNN: boxes decoded and kept by nms per class, their features by roi_align")
def detector_head():
    define_detection_operators()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Conv2d(3, 8, 3, stride=2, padding=1)
            self.hidden = nn.Linear(8 * 3 * 3, 16)
            self.scores = nn.Linear(16, 3)
            self.deltas = nn.Linear(16, 4)

        def forward(self, image, proposals):
            features = F.relu(self.features(image))
            rois = torch.cat([torch.zeros_like(proposals[:, :1]), proposals], 1)
            pooled = torch.ops.torchvision.roi_align(features, rois, 0.5, 3, 3, 2, False)
            hidden = F.relu(self.hidden(pooled.flatten(1)))
            scores, deltas = self.scores(hidden).softmax(-1), self.deltas(hidden) * 0.1
            size = proposals[:, 2:] - proposals[:, :2]
            center = proposals[:, :2] + 0.5 * size + deltas[:, :2] * size
            half = 0.5 * size * deltas[:, 2:].exp()
            boxes = torch.cat([center - half, center + half], 1).clamp(0, 16)
            best, label = scores.max(-1)
            # Boxes of different classes do not cover each other.
            shifted = boxes + (label * 17).to(boxes.dtype)[:, None]
            kept = torch.ops.torchvision.nms(shifted, best, 0.3)
            return boxes[kept], best[kept], label[kept]

    def proposals(seed):
        low = randn(20, 2, seed=seed).sigmoid() * 10
        return torch.cat([low, low + 2 + randn(20, 2, seed=seed + 1).abs() * 3], 1).clamp(0, 16)

    return Net(), [(randn(1, 3, 16, 16, seed=k), proposals(k)) for k in range(3)], None


def regions(scale, seed):
    """Six regions of two images, (image, x1, y1, x2, y2), partly outside."""
    low = randn(6, 2, seed=seed) * scale + 3
    corners = torch.cat([low, low + randn(6, 2, seed=seed + 1).abs() * 6], 1)
    return torch.cat([randint(0, 2, (6, 1), seed=seed).float(), corners], 1)


@model("regions of images: sampled by their size or as told, aligned or not, partly outside")
def region_features():
    define_detection_operators()

    def forward(images, rois):
        align = torch.ops.torchvision.roi_align
        return (
            align(images, rois, 1.0, 2, 3, -1, True), align(images, rois, 0.5, 2, 2, 0, False),
            align(images, rois, 1.0, 1, 1, 3, True),
        )

    return Function(forward), [(randn(2, 3, 8, 9, seed=k), regions(4, k)) for k in range(2)], None


@model("regions of images by torchvision: maxima of bins, and bins of channels of their own")
def region_pools():
    import torchvision.ops as ops

    def forward(images, rois):
        return (
            ops.roi_pool(images, rois, (2, 3), 1.0), ops.roi_pool(images, rois, 1, 0.5),
            ops.ps_roi_pool(images, rois, (2, 2), 1.0), ops.ps_roi_align(images, rois, (2, 3), 1.0, 2),
            ops.ps_roi_align(images, rois, 2, 0.5, -1),
        )

    return Function(forward), [(randn(2, 12, 8, 9, seed=k), regions(3, k)) for k in range(2)], None


@model("deformable convolutions by torchvision: with and without masks, in groups, dynamic batch")
def deformable_conv():
    from torchvision.ops import DeformConv2d

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.offset, self.mask = nn.Conv2d(4, 36, 3, padding=1), nn.Conv2d(4, 18, 3, padding=1)
            self.modulated = DeformConv2d(4, 6, 3, padding=1, groups=2)
            self.plain = DeformConv2d(6, 3, (2, 3), stride=(2, 1), dilation=(1, 2), bias=False)

        def forward(self, x):
            y = self.modulated(x, self.offset(x), self.mask(x).sigmoid())
            offset = y.mean(1, keepdim=True).expand(-1, 12, -1, -1)[:, :, :4:2, :5]
            return y, self.plain(y, offset * 0.5)

    return Net(), [(randn(n, 4, 5, 9, seed=n),) for n in (2, 3, 1)], ({0: Dim.DYNAMIC(max=4)},)


@model("weights of 4 bits in groups and inputs quantized at run time, by torchao", plain_norms=True, atol=1e-4)
def intx_weights():
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup

    net = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 5))
    configurations = [
        IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(8)),
        Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(8)),
        IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)),
    ]
    for layer, configuration in zip([net[0], net[2], net[4]], configurations):
        quantize_(layer, configuration, filter_fn=lambda module, name: isinstance(module, nn.Linear))
    return net, [(randn(3, 32, seed=k),) for k in range(2)], None


@model("bytes times bytes: weights and inputs quantized by torchao", plain_norms=True, atol=1e-4)
def byte_products():
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_

    net = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 8))
    quantize_(net, Int8DynamicActivationInt8WeightConfig())
    return net, [(randn(3, 32, seed=k),) for k in range(2)], None


@model("lists of tensors written in place; a dtype that is asked for; polynomials and Bessel functions", stateful=True)
def lists_in_place():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3, 4))

        def forward(self, x, y):
            first, second = x.clone(), y.clone()
            torch._foreach_add_([first, second, self.total], [y, x, x])
            torch._foreach_mul_([first, second], 0.5)
            torch._foreach_addcdiv_([first], [x], [y.abs() + 1], 0.25)
            torch._foreach_tanh_([second])
            whole = first.to(torch.result_type(torch.ones(2, dtype=torch.int64), 2))
            positive = x.abs() + 0.1
            return (
                first, second, self.total + 1, whole, torch.special.chebyshev_polynomial_t(x, 4),
                torch.special.hermite_polynomial_he(x, 3), torch.special.modified_bessel_k0(positive),
                torch.special.scaled_modified_bessel_k1(positive), torch.special.spherical_bessel_j0(x),
            )

    return Net(), [(randn(3, 4, seed=k), randn(3, 4, seed=k + 1)) for k in range(2)], None


@model("sizes that are rounded floats of dynamic sizes: ranges from a half, powers and choices")
def float_sizes():
    def forward(x):
        height, width = x.shape[2:]
        rows, columns = torch.arange(0.5, height), torch.arange(0.5, width)
        grid = torch.stack(torch.meshgrid(rows / height, columns / width, indexing="ij"), -1).flatten(0, 1)
        results = [2 * grid - 1, torch.arange(0.25, 1.5 * height, 0.7).roll(1),
                   torch.linspace(0.5 / height, width - 0.5, 7), torch.logspace(0, width / 4, 3)]
        for count in (
                torch.sym_int(0.7 * height) + 1, torch.sym_int(height**0.5) + 1, torch.sym_int(width**1.5),
                torch.sym_ite(height > width, height, width), height // 2 + 2 * (width % 3) + 1,
                torch.sym_int(height / 3 + 0.6 * width)):
            torch._check(count >= 1)
            results.append((torch.arange(count) * x.mean()).roll(1).unsqueeze(0).repeat(2, 2))
        return tuple(results)

    return Function(forward), [(randn(1, 2, h, w, seed=h),) for h, w in ((9, 13), (16, 5), (4, 31))], (
        ({2: Dim.AUTO(max=32), 3: Dim.AUTO(max=32)},),)


@model("symmetric matrices: pseudoinverses and ranks by eigenvalues of both signs")
def symmetric_matrices():
    def forward(x):
        a = x @ torch.diag(torch.tensor([2.0, -1.0, 0.5])) @ x.mT
        return (
            torch.linalg.pinv(a[..., :3, :3] * 0.1 + torch.diag(torch.tensor([3.0, -2.0, 4.0])), hermitian=True),
            torch.linalg.matrix_rank(a, hermitian=True, rtol=1e-4),
            torch.linalg.pinv(a, hermitian=True, rtol=1e-4), torch.linalg.matrix_rank(a, hermitian=True, atol=1.0, rtol=0.0),
        )

    return Function(forward), [(randn(2, 5, 3, seed=k),) for k in range(2)], None


class Tokens(nn.Module):
    """A language model with token ids as the only input."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids)[0]


def token_calls(*lengths):
    return [(randint(0, 40, (2, n), seed=n),) for n in lengths]


@model("JetMoE of transformers: mixtures of attention heads and of experts, dynamic length", training=False)
def tiny_jetmoe():
    from transformers import JetMoeConfig, JetMoeForCausalLM

    config = JetMoeConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=1, num_key_value_heads=2, kv_channels=4, intermediate_size=24,
        max_position_embeddings=32, num_local_experts=4, num_experts_per_tok=2, use_cache=False)
    return Tokens(JetMoeForCausalLM(config)), token_calls(7, 5, 20), ({1: Dim.DYNAMIC(max=32)},)


@model("Mixtral of transformers, two layers: experts' products by groups, dynamic length", training=False)
def tiny_mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=32, use_cache=False)
    return Tokens(MixtralForCausalLM(config)), token_calls(7, 5, 20), ({1: Dim.DYNAMIC(max=32)},)


@model("XLNet of transformers: relative positions of a dynamic length, ranges of floats", training=False)
def tiny_xlnet():
    from transformers import XLNetConfig, XLNetModel

    config = XLNetConfig(vocab_size=40, d_model=16, n_layer=2, n_head=4, d_inner=24, use_mems_eval=False)
    return Tokens(XLNetModel(config)), token_calls(7, 5, 20), ({1: Dim.DYNAMIC(max=32)},)


if __name__ == "__main__":
    sys.exit(make_models.main(REGISTRY))
