"""Random operands, and the list of operators with the functions that make their cases."""
import collections
import math

import numpy as np
import torch

from encoding import INF, NAN, b8, bf16, c128, c64, f16, f32, f64, i64

SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.5, -1.5, 2.0, -3.0,
           0.1, -0.7, 3.14159265, 1e-5, -1e-5, 7.25, 100.0, -88.0, 1e4, -1e4]
TINY = {f32: [1.4e-45, -1e-40, 1.1754944e-38, 3.4028235e38, -3.4028235e38, 1e30, 16777217.0],
        f64: [5e-324, -1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, -1e300, 1e17, 0.1],
        f16: [6e-8, -3e-6, 6.1e-5, 65504.0, -65504.0, 2049.0, 1e-7],
        bf16: [1e-40, -1e-39, 1.18e-38, 3.38e38, -3.38e38, 257.0, 1e30]}
MAXDIM = {0: 1, 1: 33, 2: 9, 3: 6, 4: 5, 5: 3, 6: 2}


class Gen:
    """Random tensors and shapes, driven by one numpy generator."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)

    def i(self, lo, hi):
        return int(self.r.integers(lo, hi + 1))

    def f(self, lo=-2.0, hi=2.0):
        return float(np.float32(round(self.r.uniform(lo, hi), 4)))

    def pick(self, xs):
        return xs[int(self.r.integers(len(xs)))]

    def some(self, xs, k):
        xs = list(xs)
        idx = self.r.permutation(len(xs))[:k]
        return [xs[j] for j in idx]

    def flip(self, p=0.5):
        return bool(self.r.random() < p)

    def perm(self, n):
        return [int(x) for x in self.r.permutation(n)]

    def shape(self, rank=None, lo=1, hi=None):
        if rank is None:
            rank = self.i(1, 4)
        hi = hi or MAXDIM[rank]
        return [self.i(min(lo, hi), hi) for _ in range(rank)]

    def neg(self, d, rank):
        """Sometimes write dimension d as a negative number."""
        return d - rank if rank and self.flip(0.35) else d

    def values(self, dt, n, kind):
        r = self.r
        if dt == b8:
            return torch.from_numpy(r.integers(0, 2, n).astype(np.bool_))
        if dt in (c64, c128):
            x = r.standard_normal(n) + 1j * r.standard_normal(n)
            return torch.from_numpy(x).to(dt)
        if not dt.is_floating_point:
            info = torch.iinfo(dt)
            lo, hi = (0, 20) if info.min == 0 else (-10, 10)
            if kind == "sp":
                pool = [info.min, info.max, info.min + 1, info.max - 1, 0, 1, 2, 3, 7, 100,
                        info.max // 2] + ([] if info.min == 0 else [-1, -2, -3, -7, -100])
                x = [pool[j % len(pool)] for j in r.permutation(max(n, len(pool)))][:n]
            elif kind == "nz":
                x = [v if v else 3 for v in (int(q) for q in r.integers(lo, hi + 1, n))]
            elif kind in ("pos", "gt1", "unit"):
                x = r.integers(1, 12, n).tolist()
            elif kind == "wide":
                x = [int(q) for q in r.integers(info.min, info.max, n, dtype=np.int64 if info.max < 2**62 else np.int64)]
            elif kind == "distinct":
                base = r.permutation(min(n, info.max - info.min)) if n <= 120 or info.max > 300 else r.integers(0, 100, n)
                x = [int(v) - (n // 2 if info.min < 0 and n // 2 <= -info.min else 0) for v in base]
            elif kind == "tie":
                x = r.integers(0, 3, n).tolist()
            else:
                x = r.integers(lo, hi + 1, n).tolist()
            return torch.tensor(x, dtype=torch.int64).to(dt)
        if kind == "sp":
            pool = SPECIAL + TINY[dt]
            idx = r.permutation(len(pool))
            x = [pool[idx[j % len(pool)]] for j in range(n)]
        elif kind == "inf":
            x = [INF if q < .08 else (-INF if q < .16 else v) for q, v in zip(r.random(n), r.standard_normal(n))]
        elif kind == "nan":
            x = [NAN if q < .12 else v for q, v in zip(r.random(n), r.standard_normal(n))]
        elif kind == "pos":
            x = r.uniform(0.05, 4, n)
        elif kind == "gt1":
            x = r.uniform(1.01, 6, n)
        elif kind == "unit":
            x = r.uniform(-0.98, 0.98, n)
        elif kind == "nz":
            x = r.uniform(0.25, 3, n) * np.where(r.random(n) < .5, -1, 1)
        elif kind == "big":
            x = r.standard_normal(n) * (50 if dt in (f16, bf16) else 1e4)
        elif kind == "half":
            x = r.integers(-12, 13, n) / 2.0
        elif kind == "tie":
            x = r.integers(0, 3, n).astype(float)
        elif kind == "distinct":
            x = (r.permutation(n) - n // 2) * 0.5
        else:
            x = r.standard_normal(n) * 2
        return torch.tensor(np.asarray(x, dtype=np.float64)).to(dt)

    def t(self, dt, shape=None, kind="n", lay=None):
        """A tensor; lay: T transposed, P permuted, S strided, O offset, E expanded, CL channels last."""
        if shape is None:
            shape = self.shape()
        shape = [int(s) for s in shape]
        rank, n = len(shape), math.prod(shape)
        if lay == "E" and rank:
            d = self.i(0, rank - 1)
            s = list(shape)
            s[d] = 1 if s[d] else 0
            return self.values(dt, math.prod(s), kind).view(s).expand(shape)
        if lay == "CL" and rank in (4, 5):
            x = self.values(dt, n, kind).view(shape)
            return x.contiguous(memory_format=torch.channels_last if rank == 4 else torch.channels_last_3d)
        if lay == "T" and rank >= 2:
            s = shape[:-2] + [shape[-1], shape[-2]]
            return self.values(dt, n, kind).view(s).transpose(-1, -2)
        if lay == "P" and rank >= 2:
            p = self.perm(rank)
            inv = [p.index(k) for k in range(rank)]
            return self.values(dt, n, kind).view([shape[k] for k in p]).permute(inv)
        if lay == "S" and rank:
            s = shape[:-1] + [shape[-1] * 2]
            return self.values(dt, math.prod(s), kind).view(s)[..., ::2]
        if lay == "O":
            k = self.i(1, 5)
            return self.values(dt, n + k, kind)[k:].view(shape)
        return self.values(dt, n, kind).view(shape)

    def idx(self, shape, n, dt=i64, neg=False, unique=False):
        k = math.prod(shape)
        if unique:
            x = self.r.permutation(n)[:k]
        else:
            x = self.r.integers(-n if neg else 0, n, k)
        return torch.tensor([int(v) for v in x], dtype=i64).to(dt).view(shape)


LAYS = ["T", "S", "O", "E", "P"]


class Case:
    __slots__ = ("args", "kwargs", "tags", "check", "tol", "err", "any", "ref", "prio")

    def __init__(self, args, kwargs, tags, check=None, tol=None, err=None, any=(), ref=True, prio=0):
        self.args, self.kwargs, self.tags = list(args), dict(kwargs or {}), list(tags or [])
        self.check, self.tol, self.err, self.any, self.ref, self.prio = check, tol, err, set(any), ref, prio


class Cases:
    def __init__(self, g, name):
        self.g, self.name, self.list = g, name, []

    def add(self, *args, kw=None, tags=(), **o):
        self.list.append(Case(args, kw, tags, **o))

    def err(self, cls, *args, kw=None, tags=()):
        self.list.append(Case(args, kw, tags, err=cls))


SPECS = collections.OrderedDict()


def spec(names, family, tol="bits"):
    def deco(fn):
        for n in names.split():
            full = n if n.split(".")[0] in ("aten", "quantized_decomposed", "dim_order_ops", "llama") else "aten." + n
            if full.count(".") == 1:
                full += ".default"
            assert full not in SPECS, full
            SPECS[full] = (family, tol, fn)
        return fn
    return deco


def find_op(name):
    ns, op, ov = name.split(".")
    return getattr(getattr(getattr(torch.ops, ns), op), ov)


EMPTY = [[0], [2, 0, 3], [0, 4], [3, 0], [1, 0], [2, 3, 0], [0, 0], [4, 1, 0, 2]]
