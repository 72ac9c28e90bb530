#!/usr/bin/env python3
"""Builds the models of more/: programs that the zoo of make_models.py does not have.

    make_more_models.py --out more                  # all
    make_more_models.py --out more --only svd_values

Options, folder format and requirements are those of make_models.py.
"""

import collections
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops import associative_scan
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


if __name__ == "__main__":
    sys.exit(make_models.main(REGISTRY))
