"""Cases of pooling, padding and resampling."""
import math

import torch

from encoding import F, I, INF, NAN, b8, bf16, c64, f16, f32, f64, i32, i64, u8
from cases import LAYS, spec


def pool_params(g, sp, nd, dil=False):
    k = [g.i(1, min(3, s)) for s in sp]
    st = g.pick([None, [g.i(1, 3) for _ in range(nd)]])
    pad = [g.i(0, q // 2) for q in k]
    d = [g.i(1, 2) if dil and (q - 1) * 2 + 1 <= s else 1 for q, s in zip(k, sp)]
    if g.flip(.25):
        k = [min(k)]
        pad = [min(pad)] if min(pad) <= k[0] // 2 else [0]
        st = st and [st[0]]
        d = [min(d)]
    return k, st, pad, d


def spatial(g, nd, lo=2):
    return [g.i(lo, {1: 14, 2: 7, 3: 5}[nd]) for _ in range(nd)]


@spec("avg_pool1d avg_pool2d avg_pool3d", "pool", "acc")
def _(c, g):
    nd = int(c.name.split("pool")[1][0])

    def put(dt, lay=None, kind="n", *t):
        sp = spatial(g, nd)
        k, st, pad, _ = pool_params(g, sp, nd)
        x = g.t(dt, [g.i(1, 2)] * (1 if lay == "CL" else g.i(0, 1)) + [g.i(1, 3)] + sp, kind, lay)
        full = [k, st or [], pad, g.flip(.4), g.flip(.5)] + ([g.pick([None, None, g.i(1, 6), -2])] if nd > 1 else [])
        c.add(x, *full[:g.pick([1, 2, 3, 4, len(full), len(full), len(full)])], tags=list(t) + ["pool"])
    for dt in F:
        for _ in range(8):
            put(dt)
        put(dt, None, "nan" if g.flip() else "inf", "special")
    for lay in ["CL", "CL", "CL"] + LAYS:
        put(f32, lay, "n", "channels_last" if lay == "CL" else "noncontiguous")
    if nd == 2:
        put(i64, None, "n", "int")
    sp = [5] * nd
    x = g.t(f32, [2, 3] + sp)
    c.add(x, [3], [2], [1], True, False, *([None] if nd > 1 else []), tags=["ceil_mode", "exclude_pad"])
    c.add(g.t(f32, [0, 3] + sp), [2], tags=["empty"])
    c.err("shape", x, [6] * nd)
    c.err("value", x, [2] * nd, [0] * nd)
    c.err("value", x, [2] * nd, [1] * nd, [2] * nd)
    c.err("shape", g.t(f32, [5]), [2] * nd)
    c.err("value", x, [2] * (nd + 1))
    c.err("value", x, [0] * nd)
    if nd > 1:
        c.err("value", x, [2] * nd, [1] * nd, [0] * nd, False, True, 0)


@spec("avg_pool2d_backward", "pool", "acc")
def _(c, g):
    for dt in F:
        for lay in (None, None, None, None, None, "CL", None, "S", None, None):
            sp = spatial(g, 2)
            k, st, pad, _ = pool_params(g, sp, 2)
            cm, cip, dv = g.flip(.4), g.flip(), g.pick([None, None, 3])
            x = g.t(dt, [g.i(1, 2)] * (1 if lay == "CL" else g.i(0, 1)) + [g.i(1, 3)] + sp, "n", lay)
            try:
                o = torch.ops.aten.avg_pool2d(x, k, st or [], pad, cm, cip, dv)
            except RuntimeError:
                continue
            c.add(g.t(dt, list(o.shape), "n", lay), x, k, st or [], pad, cm, cip, dv)
    x = g.t(f32, [1, 2, 4, 4])
    c.err("shape", g.t(f32, [1, 2, 3, 3]), x, [2, 2], [2, 2], [0, 0], False, True, None)
    c.err("value", g.t(f32, [1, 2, 2, 2]), x, [2, 2], [2, 2], [0, 0], False, True, 0)
    c.err("value", g.t(f32, [1, 2, 2, 2]), x, [2, 2], [2, 2], [2, 2], False, True, None)
    c.err("value", g.t(f32, [1, 2, 2, 2]), x, [2, 2, 2], [2, 2], [0, 0], False, True, None)


@spec("adaptive_avg_pool1d _adaptive_avg_pool2d _adaptive_avg_pool3d", "pool", "acc")
def _(c, g):
    nd = int(c.name.split("pool")[1][0])
    for dt in F:
        for _ in range(9):
            sp = spatial(g, nd)
            c.add(g.t(dt, [g.i(1, 2)] * g.i(0, 1) + [g.i(1, 3)] + sp), [g.i(1, 5) for _ in range(nd)])
    for lay in ["CL", "CL", "S", "T", "P", "E"]:
        c.add(g.t(f32, [2, 3] + spatial(g, nd), "n", lay), [g.i(1, 4) for _ in range(nd)], tags=["channels_last" if lay == "CL" else "noncontiguous"])
    c.add(g.t(f32, [2, 3] + [4] * nd), [1] * nd, tags=["global"])
    c.add(g.t(f32, [2, 3] + [3] * nd), [7] * nd, tags=["upsizing"])
    c.add(g.t(f32, [0, 3] + [4] * nd), [2] * nd, tags=["empty"])
    c.add(g.t(f32, [2, 3] + [4] * nd), [0] * nd, tags=["empty_out"])
    c.add(g.t(f32, [1, 2] + [4] * nd, "nan"), [2] * nd, tags=["nan"])
    c.err("shape", g.t(f32, [4]), [2] * nd)
    c.err("value", g.t(f32, [1, 2] + [4] * nd), [2] * (nd + 1))
    c.err("shape", g.t(f32, [1, 2] + [0] * nd), [2] * nd)
    c.err("value", g.t(f32, [1, 2] + [4] * nd), [-1] * nd)
    c.err("shape", g.t(f32, [1] * (nd + 3)), [2] * nd)


@spec("_adaptive_avg_pool2d_backward", "pool", "acc")
def _(c, g):
    for dt in F:
        for lay in (None, None, None, None, "CL", None, "S", None, None):
            x = g.t(dt, [g.i(1, 2)] * (1 if lay == "CL" else g.i(0, 1)) + [g.i(1, 3)] + spatial(g, 2), "n", lay)
            c.add(g.t(dt, list(x.shape[:-2]) + [g.i(1, 4), g.i(1, 4)], "n", lay), x)
    c.add(g.t(f32, [0, 2, 2, 2]), g.t(f32, [0, 2, 3, 3]), tags=["empty"])
    c.err("dtype", g.t(f64, [1, 2, 2, 2]), g.t(f32, [1, 2, 4, 4]))
    c.err("shape", g.t(f32, [2, 2]), g.t(f32, [4, 4]))
    c.err("shape", g.t(f32, [1, 2, 2, 0]), g.t(f32, [1, 2, 4, 4]))
    c.err("shape", g.t(f32, [2, 2, 2, 2]), g.t(f32, [2, 4, 4]))


@spec("max_pool2d_with_indices max_pool3d_with_indices", "pool", "values")
def _(c, g):
    nd = int(c.name.split("pool")[1][0])

    def put(dt, lay=None, kind="n", *t):
        sp = spatial(g, nd)
        k, st, pad, d = pool_params(g, sp, nd, True)
        x = g.t(dt, [g.i(1, 2)] * (1 if lay == "CL" else g.i(0, 1)) + [g.i(1, 3)] + sp, kind, lay)
        full = [k, st or [], pad, d, g.flip(.4)]
        c.add(x, *full[:g.pick([1, 2, 3, 4, 5, 5, 5])], tags=list(t) + ["pool"])
    for dt in F:
        for _ in range(8):
            put(dt)
        put(dt, None, "nan", "nan")
        put(dt, None, "inf", "inf")
    for dt in I:
        put(dt, None, "n", "int")
        put(dt, None, "n", "int")
    for lay in ["CL", "CL", "CL"] + LAYS:
        put(f32, lay, "n", "channels_last" if lay == "CL" else "noncontiguous")
    put(f32, None, "tie", "ties")
    put(f32, None, "tie", "ties")
    c.add(torch.full([1, 1] + [3] * nd, -INF), [2] * nd, [1] * nd, [1] * nd, tags=["inf"])
    x = g.t(f32, [2, 3] + [5] * nd)
    c.err("shape", x, [6] * nd)
    c.err("value", x, [2] * nd, [0] * nd)
    c.err("value", x, [2] * nd, [1] * nd, [2] * nd)
    c.err("shape", g.t(f32, [5]), [2] * nd)
    c.err("value", x, [2] * (nd + 1))
    c.err("value", x, [2] * nd, [1] * nd, [0] * nd, [0] * nd)


@spec("max_pool2d_with_indices_backward", "pool", "acc")
def _(c, g):
    for dt in F:
        for lay in (None, None, None, None, "CL", "CL", None, None, "S", None):
            sp = spatial(g, 2)
            k, st, pad, d = pool_params(g, sp, 2, True)
            cm = g.flip(.4)
            x = g.t(dt, [g.i(1, 2)] * (1 if lay == "CL" else g.i(0, 1)) + [g.i(1, 3)] + sp, "n", lay)
            try:
                o, ix = torch.ops.aten.max_pool2d_with_indices(x, k, st or [], pad, d, cm)
            except RuntimeError:
                continue
            c.add(g.t(dt, list(o.shape), "n", lay), x, k, st or [], pad, d, cm, ix)
    x = g.t(f32, [1, 2, 4, 4])
    ix = torch.zeros(1, 2, 2, 2, dtype=i64)
    c.err("shape", g.t(f32, [1, 2, 3, 3]), x, [2, 2], [2, 2], [0, 0], [1, 1], False, torch.zeros(1, 2, 3, 3, dtype=i64))
    c.err("dtype", g.t(f64, [1, 2, 2, 2]), x, [2, 2], [2, 2], [0, 0], [1, 1], False, ix)
    c.err("value", g.t(f32, [1, 2, 2, 2]), x, [2, 2], [2, 2], [2, 2], [1, 1], False, ix)
    c.err("value", g.t(f32, [1, 2, 2, 2]), x, [2, 2, 2], [2, 2], [0, 0], [1, 1], False, ix)


def mk_pad(name, nd, kind):
    @spec(name, "pad")
    def fn(c, g):
        def put(x, *t):
            p = []
            for q in reversed(x.shape[-nd:]):
                m = q - 1 if kind == "reflect" else 3
                p += [g.i(0, min(m, 3)), g.i(0, min(m, 3))]
            c.add(x, p, tags=t)
        for dt in F + [i64, i32, u8, c64]:
            for _ in range(5):
                put(g.t(dt, [g.i(1, 2)] * g.i(0, 1) + [g.i(1, 3)] + spatial(g, nd)))
        for lay in LAYS + ["CL", "CL", "CL"]:
            put(g.t(f32, [2, 3] + spatial(g, nd), "n", lay), "channels_last" if lay == "CL" else "noncontiguous")
        put(g.t(f32, [0, 3] + [4] * nd), "empty")
        put(g.t(f32, [1, 3] + [4] * nd, "sp"), "special")
        x = g.t(f32, [2, 3] + [4] * nd)
        c.add(x, [0] * (2 * nd), tags=["nopad"])
        if kind == "replicate":
            c.add(x, [-1, 2] + [0] * (2 * nd - 2), tags=["negative_pad"])
        else:
            c.err("value", x, [4, 0] + [0] * (2 * nd - 2))
            c.err("value", x, [0, 5] + [0] * (2 * nd - 2))
        c.err("value", x, [1])
        c.err("shape", g.t(f32, [4]), [1] * (2 * nd))
        c.err("shape", g.t(f32, [1] * (nd + 3)), [1] * (2 * nd))
        c.err("shape", x, [-3, -3] + [0] * (2 * nd - 2))
        c.err("shape", g.t(f32, [2, 0] + [4] * nd), [1] * (2 * nd))
    return fn


for _n, _d, _k in (("reflection_pad1d", 1, "reflect"), ("reflection_pad2d", 2, "reflect"), ("reflection_pad3d", 3, "reflect"),
                   ("replication_pad1d", 1, "replicate"), ("replication_pad2d", 2, "replicate"), ("replication_pad3d", 3, "replicate")):
    mk_pad(_n, _d, _k)


@spec("upsample_nearest2d.vec", "resample")
def _(c, g):
    def put(dt, lay=None, *t):
        x = g.t(dt, [g.i(1, 2), g.i(1, 4)] + spatial(g, 2, 1), "n", lay)
        if g.flip():
            c.add(x, [g.i(1, 10), g.i(1, 10)], None, tags=list(t) + ["output_size"])
        else:
            c.add(x, None, [g.pick([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 0.75]) if min(x.shape[2:]) > 1 else 2.0 for _ in range(2)], tags=list(t) + ["scale_factors"])
    for dt in F + [u8]:
        for _ in range(9):
            put(dt)
    for lay in ["CL", "CL", "CL"] + LAYS:
        put(f32, lay, "channels_last" if lay == "CL" else "noncontiguous")
    c.add(g.t(f32, [0, 3, 2, 2]), [4, 4], None, tags=["empty"])
    x = g.t(f32, [1, 2, 3, 3])
    c.err("value", x, [4, 4], [2.0, 2.0])
    c.err("value", x, None, None)
    c.err("value", x, [4], None)
    c.err("value", x, [0, 4], None)
    c.err("shape", g.t(f32, [2, 3, 3]), [4, 4], None)
    c.err("shape", g.t(f32, [1, 0, 3, 3]), [4, 4], None)


@spec("upsample_bilinear2d.vec", "resample", "acc")
def _(c, g):
    def put(dt, lay=None, *t):
        x = g.t(dt, [g.i(1, 2), g.i(1, 4)] + spatial(g, 2, 1), "n", lay)
        ac = g.flip()
        if g.flip():
            c.add(x, [g.i(1, 10), g.i(1, 10)], ac, None, tags=list(t) + ["output_size", "align_corners" if ac else "half_pixel"])
        else:
            c.add(x, None, ac, [g.pick([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 0.75]) if min(x.shape[2:]) > 1 else 2.0 for _ in range(2)],
                  tags=list(t) + ["scale_factors", "align_corners" if ac else "half_pixel"])
    for dt in F:
        for _ in range(11):
            put(dt)
    for lay in ["CL", "CL", "CL"] + LAYS:
        put(f32, lay, "channels_last" if lay == "CL" else "noncontiguous")
    c.add(g.t(f32, [0, 3, 2, 2]), [4, 4], False, None, tags=["empty"])
    x = g.t(f32, [1, 2, 3, 3])
    c.err("value", x, [4, 4], False, [2.0, 2.0])
    c.err("value", x, None, False, None)
    c.err("value", x, [4], False, None)
    c.err("value", x, [0, 4], True, None)
    c.err("shape", g.t(f32, [2, 3, 3]), [4, 4], False, None)


@spec("_upsample_bilinear2d_aa", "resample", "acc")
def _(c, g):
    for dt in (f32, f64, f16, bf16):
        for _ in range(14):
            x = g.t(dt, [g.i(1, 2), g.i(1, 4)] + spatial(g, 2, 1), "n", g.pick([None, None, None, "CL"]))
            a = [[g.i(1, 9), g.i(1, 9)], g.flip()]
            if g.flip(.3):
                a += [a[0][0] / x.shape[2], a[0][1] / x.shape[3]]
            c.add(x, *a)
    for lay in LAYS:
        c.add(g.t(f32, [2, 3, 4, 5], "n", lay), [3, 7], False, tags=["noncontiguous"])
    x = g.t(f32, [1, 2, 3, 3])
    c.err("value", x, [4], False)
    c.err("value", x, [0, 4], True)
    c.err("shape", g.t(f32, [2, 3, 3]), [4, 4], False)
    c.err("shape", g.t(f32, [1, 0, 3, 3]), [4, 4], False)


@spec("grid_sampler_2d", "resample", "acc")
def _(c, g):
    for dt in (f32, f64, f16, bf16):
        for im in range(3):
            for pm in range(3):
                if dt in (f16, bf16) and g.flip(.5):
                    continue
                n = g.i(1, 2)
                x = g.t(dt, [n, g.i(1, 3)] + spatial(g, 2), "n", g.pick([None, None, "CL"]))
                grid = g.t(dt, [n, g.i(1, 4), g.i(1, 4), 2], "n") * 0.6
                c.add(x, grid, im, pm, g.flip(), tags=[["bilinear", "nearest", "bicubic"][im], ["zeros", "border", "reflection"][pm]])
                c.add(x, grid, im, pm, g.flip(), tags=[["bilinear", "nearest", "bicubic"][im], ["zeros", "border", "reflection"][pm]])
    c.add(g.t(f32, [1, 2, 3, 4], "n", "S"), g.t(f32, [1, 2, 3, 2], "unit", "O"), 0, 0, False, tags=["noncontiguous"])
    c.add(g.t(f32, [1, 2, 3, 4]), g.t(f32, [1, 0, 3, 2]), 0, 0, False, tags=["empty"])
    c.add(g.t(f32, [1, 2, 3, 4]), torch.tensor([[[[NAN, 0.0], [INF, -INF], [1.0, -1.0], [0.0, 0.0]]]]), 0, 0, True, tags=["nan"])
    x, gr = g.t(f32, [1, 2, 3, 4]), g.t(f32, [1, 2, 2, 2])
    c.err("dtype", x, g.t(f64, [1, 2, 2, 2]), 0, 0, False)
    c.err("shape", x, g.t(f32, [1, 2, 2, 3]), 0, 0, False)
    c.err("shape", x, g.t(f32, [2, 2, 2, 2]), 0, 0, False)
    c.err("shape", g.t(f32, [2, 3, 4]), gr, 0, 0, False)
    c.err("shape", g.t(f32, [1, 2, 0, 4]), gr, 0, 0, False)


@spec("col2im", "resample", "acc")
def _(c, g):
    for dt in F + [i64, c64, b8]:
        for _ in range(9):
            k = [g.i(1, 3), g.i(1, 3)]
            dil = [g.i(1, 2), g.i(1, 2)]
            pad = [g.i(0, 2), g.i(0, 2)]
            st = [g.i(1, 3), g.i(1, 3)]
            o = [max(1, (a - 1) * d + 1 - 2 * p) + g.i(0, 4) for a, d, p in zip(k, dil, pad)]
            L = math.prod((q + 2 * p - d * (a - 1) - 1) // s + 1 for q, p, d, a, s in zip(o, pad, dil, k, st))
            if L * math.prod(k) > 300:
                continue
            c.add(g.t(dt, [g.i(1, 2)] * g.i(0, 1) + [g.i(1, 2) * math.prod(k), L], "n", g.pick([None, None, "T", "S"])), o, k, dil, pad, st)
    x = g.t(f32, [1, 4, 4])
    c.err("shape", x, [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])
    c.err("shape", g.t(f32, [1, 5, 9]), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])
    c.err("value", x, [3, 3], [0, 2], [1, 1], [0, 0], [1, 1])
    c.err("value", x, [3, 3], [2, 2], [1, 1], [0, 0], [0, 1])
    c.err("value", x, [3, 3], [2, 2], [0, 1], [0, 0], [1, 1])
