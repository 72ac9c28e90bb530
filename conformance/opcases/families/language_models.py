"""Cases of operators of ExecuTorch's language models."""

import torch

from encoding import INF, bf16, f16, f32, i8
from families.quantized import qin
from cases import spec

# Their kernels end the process for invalid calls: there are no errors here.
def cache_sizes(g):
    kv = g.i(1, 3)
    room = g.i(1, 9)
    n = g.i(1, room)
    return g.i(1, 2), n, room, g.i(0, room - n), kv, kv * g.i(1, 3), g.pick([1, 3, 8, 16])


@spec("llama.update_cache llama.update_cache_with_indices", "llama")
def _(c, g):
    for _ in range(24):
        b, n, room, start, kv, _, d = cache_sizes(g)
        dt = g.pick([f32, f32, f16, i8])
        args = [g.t(dt, [b, n, kv, d]), g.t(dt, [b, room, kv, d]), start]
        if "indices" in c.name:
            args.append(torch.stack([g.idx([n], room, unique=True) for _ in range(b)]))
        c.add(*args, any=[0], tags=["cache"], ref=False)


def attention_options(g, n, room, mask):
    if mask:
        rows = torch.where(torch.from_numpy(g.r.random((n, room)) < .4), -INF, 0.0).float()
        rows[:, 0] = 0
        return [rows, 0.0, False, g.pick([None, 0.5])]
    return [None, 0.0, g.flip(), g.pick([None, 0.5])]


@spec("llama.custom_sdpa llama.sdpa_with_kv_cache", "llama", "acc")
def _(c, g):
    for k in range(30):
        b, n, room, start, kv, h, d = cache_sizes(g)
        dt = g.pick([f32, f32, f32, bf16])
        q, x, y = g.t(dt, [b, n, h, d], "unit"), g.t(dt, [b, n, kv, d], "unit"), g.t(dt, [b, n, kv, d], "unit")
        caches = [g.t(dt, [b, room, kv, d], "unit") for _ in range(2)]
        mask = k % 3 == 0
        options = attention_options(g, n, room, mask)
        if "kv_cache" in c.name:
            c.add(q, x, y, *caches, start, n, *options, tags=["mask" if mask else "causal"], ref=False)
        else:
            c.add(q, *caches, start, *options, tags=["mask" if mask else "causal"], ref=False)


@spec("llama.custom_quantized_sdpa", "llama", "acc")
def _(c, g):
    for k in range(24):
        b, n, room, start, kv, h, d = cache_sizes(g)
        first = g.flip()
        sizes = [[b, n, h, d], [b, room, kv, d], [b, room, kv, d]]
        sizes = [[s[0], s[2], s[1], s[3]] if first else s for s in sizes]
        scales = [torch.from_numpy(g.r.uniform(0.005, 0.05, s[:-1] + [1])).float() for s in sizes]
        zeros = [g.t(i8, s[:-1] + [1]) for s in sizes]
        parameters = [x for pair in zip(zeros, scales) for x in pair]
        c.add(*[qin(g, i8, -128, 127, s) for s in sizes], start, *attention_options(g, n, room, k % 3 == 0), *parameters, first,
              tol=(1e-5, 1e-5), tags=["mask" if k % 3 == 0 else "causal"], ref=False)


@spec("llama.fast_hadamard_transform", "llama", "acc")
def _(c, g):
    for k in range(24):
        size = g.pick([1, 2, 4, 8, 16, 64, 28, 56])
        dt = g.pick([f32, f32, f16])
        # ExecuTorch rounds every step to float16.
        c.add(g.t(dt, g.shape(g.i(0, 2)) + [size], "unit"), tol=(2e-2, 2e-2) if dt == f16 else None, tags=["28" if size % 28 == 0 else "power"], ref=False)
