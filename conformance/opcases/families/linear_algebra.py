"""Cases of products and of linear algebra."""

import torch

from encoding import F, I, INF, NAN, bf16, c64, f16, f32, f64, i32, i64
from cases import spec


@spec("mm", "linalg", "acc")
def _(c, g):
    for dt in F + I:
        for _ in range(4):
            m, k, n = g.i(1, 12), g.i(1, 16), g.i(1, 12)
            c.add(g.t(dt, [m, k]), g.t(dt, [k, n]))
    for a, b in (("T", None), (None, "T"), ("T", "T"), ("S", "O"), ("E", None)):
        m, k, n = g.i(2, 9), g.i(2, 9), g.i(2, 9)
        c.add(g.t(f32, [m, k], "n", a), g.t(f32, [k, n], "n", b), tags=["noncontiguous"])
    for m, k, n in ((0, 3, 2), (2, 0, 3), (2, 3, 0), (0, 0, 0)):
        c.add(g.t(f32, [m, k]), g.t(f32, [k, n]), tags=["empty"])
    k = g.i(200, 400)
    c.add(g.t(f32, [4, k]), g.t(f32, [k, 3]), tags=["long_k"])
    c.add(g.t(f16, [2, k]), g.t(f16, [k, 3]), tags=["long_k"])
    c.add(g.t(f32, [33, 17]), g.t(f32, [17, 31]), tags=["tail"])
    c.add(g.t(f32, [3, 4], "nan"), g.t(f32, [4, 2]), tags=["nan"])
    c.add(g.t(f32, [3, 4], "inf"), g.t(f32, [4, 2], "pos"), tags=["inf"])
    c.add(g.t(c64, [2, 3]), g.t(c64, [3, 2]), tags=["complex"])
    c.err("shape", g.t(f32, [2, 3]), g.t(f32, [2, 3]))
    c.err("shape", g.t(f32, [3]), g.t(f32, [3, 2]))
    c.err("shape", g.t(f32, [1, 2, 3]), g.t(f32, [3, 2]))
    c.err("dtype", g.t(f32, [2, 3]), g.t(f64, [3, 2]))
    c.err("dtype", g.t(f32, [2, 3]), g.t(i32, [3, 2]))


@spec("bmm", "linalg", "acc")
def _(c, g):
    for dt in F + I:
        for _ in range(4):
            b, m, k, n = g.i(1, 4), g.i(1, 6), g.i(1, 9), g.i(1, 6)
            c.add(g.t(dt, [b, m, k]), g.t(dt, [b, k, n]))
    for a, b in (("T", None), (None, "T"), ("P", "P"), ("S", "O"), ("E", None)):
        c.add(g.t(f32, [3, 4, 5], "n", a), g.t(f32, [3, 5, 2], "n", b), tags=["noncontiguous"])
    for b, m, k, n in ((0, 2, 3, 2), (2, 0, 3, 2), (2, 2, 0, 3), (2, 2, 3, 0)):
        c.add(g.t(f32, [b, m, k]), g.t(f32, [b, k, n]), tags=["empty"])
    c.add(g.t(f32, [2, 3, 200]), g.t(f32, [2, 200, 2]), tags=["long_k"])
    c.add(g.t(f32, [2, 3, 4], "nan"), g.t(f32, [2, 4, 2]), tags=["nan"])
    c.add(g.t(f32, [2, 17, 9]), g.t(f32, [2, 9, 13]), tags=["tail"])
    c.err("shape", g.t(f32, [2, 2, 3]), g.t(f32, [2, 2, 3]))
    c.err("shape", g.t(f32, [2, 2, 3]), g.t(f32, [3, 3, 2]))
    c.err("shape", g.t(f32, [2, 3]), g.t(f32, [3, 2]))
    c.err("dtype", g.t(f32, [1, 2, 3]), g.t(f64, [1, 3, 2]))
    c.err("dtype", g.t(f32, [1, 2, 3]), g.t(i64, [1, 3, 2]))


@spec("addmm", "linalg", "acc")
def _(c, g):
    for dt in F + I:
        for _ in range(4):
            m, k, n = g.i(1, 8), g.i(1, 10), g.i(1, 8)
            kw = {}
            if g.flip(.6):
                ab = [2, -1, 0, 1, 3] if dt in I else [0.5, 2, -1.5, 0, 1.0]
                kw["beta"] = g.pick(ab)
                if g.flip(.6):
                    kw["alpha"] = g.pick(ab)
            c.add(g.t(dt, g.pick([[m, n], [n], [1, n], [m, 1], []])), g.t(dt, [m, k]), g.t(dt, [k, n]), kw=kw, tags=["alpha_beta" if kw else "plain"])
    for a, b, s in (("T", None, None), (None, "T", "E"), ("T", "T", "T"), ("S", "O", "S")):
        c.add(g.t(f32, [4, 3], "n", s), g.t(f32, [4, 5], "n", a), g.t(f32, [5, 3], "n", b), tags=["noncontiguous"])
    for m, k, n in ((0, 3, 2), (2, 0, 3), (2, 3, 0)):
        c.add(g.t(f32, [n]), g.t(f32, [m, k]), g.t(f32, [k, n]), kw=g.pick([{}, {"beta": 0.5}]), tags=["empty"])
    c.add(torch.full([2, 2], NAN), g.t(f32, [2, 3]), g.t(f32, [3, 2]), kw={"beta": 0}, tags=["beta0_nan"])
    c.add(g.t(f32, [2]), g.t(f32, [3, 300]), g.t(f32, [300, 2]), tags=["long_k"])
    c.add(g.t(f32, [31]), g.t(f32, [17, 9]), g.t(f32, [9, 31]), tags=["tail"])
    c.err("shape", g.t(f32, [2]), g.t(f32, [2, 3]), g.t(f32, [2, 3]))
    c.err("shape", g.t(f32, [3]), g.t(f32, [2, 3]), g.t(f32, [3, 2]))
    c.err("shape", g.t(f32, [2]), g.t(f32, [3]), g.t(f32, [3, 2]))
    c.err("dtype", g.t(f32, [2]), g.t(f64, [2, 3]), g.t(f64, [3, 2]))
    c.err("dtype", g.t(f32, [2]), g.t(f32, [2, 3]), g.t(i32, [3, 2]))


@spec("_cdist_forward", "linalg", "acc")
def _(c, g):
    for dt in (f32, f64):
        for p in (0.0, 1.0, 2.0, 3.0, 0.5, INF, 1.5):
            for _ in range(3):
                p_, r, m = g.i(1, 6), g.i(1, 6), g.i(1, 6)
                bt = [g.i(1, 2)] * g.i(0, 1)
                c.add(g.t(dt, bt + [p_, m]), g.t(dt, bt + [r, m]), p, g.pick([None, 2, 2, None, 0]) if p == 2.0 else g.pick([None, 2]))
    c.add(g.t(f32, [3, 4]), g.t(f32, [2, 2, 4]), 1.0, None, tags=["broadcast"])
    c.add(g.t(f32, [30, 3]), g.t(f32, [28, 3]), 2.0, 1, tags=["mm"])
    c.add(g.t(f32, [4, 3], "n", "T"), g.t(f32, [2, 3], "n", "S"), 2.0, 2, tags=["noncontiguous"])
    for a, b in (([0, 3], [2, 3]), ([2, 0], [3, 0]), ([2, 3], [0, 3])):
        c.add(g.t(f32, a), g.t(f32, b), 2.0, None, tags=["empty"])
    c.add(g.t(f32, [3, 4], "nan"), g.t(f32, [2, 4]), 1.0, None, tags=["nan"])
    c.err("shape", g.t(f32, [2, 3]), g.t(f32, [2, 4]), 2.0, None)
    c.err("shape", g.t(f32, [3]), g.t(f32, [2, 3]), 2.0, None)
    c.err("value", g.t(f32, [2, 3]), g.t(f32, [2, 3]), -1.0, None)
    c.err("dtype", g.t(i32, [2, 3]), g.t(i32, [2, 3]), 2.0, None)
    c.err("value", g.t(f32, [2, 3]), g.t(f32, [2, 3]), 2.0, 5)


@spec("_pdist_forward", "linalg", "acc")
def _(c, g):
    for dt in (f32, f64):
        for p in ([], [0.0], [1.0], [2.0], [3.0], [0.5], [INF]):
            for _ in range(3):
                c.add(g.t(dt, [g.i(1, 7), g.i(1, 6)]), *p)
    for lay in ("S", "E"):
        c.add(g.t(f32, [4, 3], "n", lay).contiguous(), 2.0)
    for s in ([0, 3], [1, 3], [3, 0]):
        c.add(g.t(f32, s), tags=["empty"])
    c.add(g.t(f32, [3, 4], "nan"), 1.0, tags=["nan"])


def conv_shape(g, nd, groups, cin, cout, transposed):
    k = [g.i(1, 3) for _ in range(nd)]
    st = [g.i(1, 2) for _ in range(nd)]
    pad = [g.i(0, 1) for _ in range(nd)]
    dil = [g.i(1, 2) if g.flip(.4) else 1 for _ in range(nd)]
    sp = [(q - 1) * d + 1 + g.i(0, 4 if nd < 3 else 2) for q, d in zip(k, dil)]
    w = [cin, cout // groups] + k if transposed else [cout, cin // groups] + k
    op = [g.i(0, max(0, max(s, d) - 1)) if transposed else 0 for s, d in zip(st, dil)]
    return sp, w, st, pad, dil, op


def conv_case(g, nd, transposed, dt, lay=None, kind="n"):
    groups = g.pick([1, 1, 1, 2, 3])
    cin, cout = groups * g.i(1, 3), groups * g.i(1, 3)
    sp, w, st, pad, dil, op = conv_shape(g, nd, groups, cin, cout, transposed)
    x = g.t(dt, [g.i(1, 2), cin] + sp, kind, lay)
    wt = g.t(dt, w, "n", lay if lay == "CL" and g.flip() else None)
    bias = g.t(dt, [cout]) if g.flip(.6) else None
    return [x, wt, bias, st, pad, dil, transposed, op, groups]


@spec("convolution", "conv", "acc")
def _(c, g):
    for nd, n in ((1, 8), (2, 14), (3, 4)):
        for tr in (False, True):
            for _ in range(n):
                dt = g.pick([f32, f32, f32, f64, f16, bf16])
                a = conv_case(g, nd, tr, dt, g.pick([None, None, None, "CL", "S", "P"]) if nd == 2 else None)
                c.add(*a, tags=[f"conv{nd}d"] + (["transposed"] if tr else []) + (["groups"] if a[8] > 1 else []) +
                      (["dilation"] if max(a[5]) > 1 else []) + (["nobias"] if a[2] is None else []) + (["output_padding"] if max(a[7]) else []))
    for dt in (i32, i64):
        c.add(g.t(dt, [1, 2, 4, 4]), g.t(dt, [3, 2, 2, 2]), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, tags=["int"])
    ch = g.i(2, 6)
    for dt in (f32, f16, f64):
        c.add(g.t(dt, [1, ch, 6, 5]), g.t(dt, [ch, 1, 3, 3]), g.t(dt, [ch]), [1, 1], [1, 1], [1, 1], False, [0, 0], ch, tags=["depthwise"])
        c.add(g.t(dt, [1, ch, 5, 5], "n", "CL"), g.t(dt, [2 * ch, 1, 2, 3]), None, [2, 1], [1, 1], [1, 1], False, [0, 0], ch, tags=["depthwise", "channels_last"])
    c.add(g.t(f32, [2, 9, 4, 4]), g.t(f32, [8, 9, 1, 1]), g.t(f32, [8]), [1, 1], [0, 0], [1, 1], False, [0, 0], 1, tags=["pointwise"])
    c.add(g.t(f32, [1, 16, 5, 5]), g.t(f32, [4, 16, 3, 3]), g.t(f32, [4]), [1, 1], [1, 1], [1, 1], False, [0, 0], 1, tags=["conv2d", "large"])
    c.add(g.t(f32, [2, 3, 6]), g.t(f32, [4, 3, 3]), g.t(f32, [4]), [2], [2], [1], False, [0], 1, tags=["conv1d"])
    c.add(g.t(f32, [2, 4, 5, 5]), g.t(f32, [3, 4, 3, 3]), None, [1], [1], [1], False, [0], 1, tags=["broadcast_params"])
    c.add(g.t(f32, [0, 3, 4, 4]), g.t(f32, [2, 3, 3, 3]), g.t(f32, [2]), [1, 1], [1, 1], [1, 1], False, [0, 0], 1, tags=["empty"])
    x, w = g.t(f32, [1, 4, 5, 5]), g.t(f32, [2, 4, 3, 3])

    def e(cls, x=x, w=w, b=None, st=(1, 1), p=(0, 0), d=(1, 1), tr=False, op=(0, 0), gr=1):
        c.err(cls, x, w, b, list(st), list(p), list(d), tr, list(op), gr)
    e("shape", w=g.t(f32, [2, 3, 3, 3]))
    e("shape", w=g.t(f32, [2, 4, 7, 3]))
    e("value", st=(0, 1))
    e("value", p=(-1, 0))
    e("value", gr=3)
    e("dtype", w=g.t(f64, [2, 4, 3, 3]))
    e("shape", b=g.t(f32, [3]))
    e("shape", x=g.t(f32, [4, 5, 5]))


@spec("convolution_backward", "conv", "acc")
def _(c, g):
    for nd, n in ((1, 8), (2, 14), (3, 3)):
        for tr in (False, True):
            for _ in range(n):
                dt = g.pick([f32, f32, f32, f64, f16, bf16])
                x, w, b, st, pad, dil, tr_, op, gr = conv_case(g, nd, tr, dt, g.pick([None, None, "CL"]) if nd == 2 else None)
                try:
                    out = torch.ops.aten.convolution(x, w, None, st, pad, dil, tr_, op, gr)
                except RuntimeError:
                    continue
                m = g.pick([[True, True, True], [True, True, False], [True, False, False], [False, True, True], [False, True, False], [True, True, True]])
                c.add(g.t(dt, list(out.shape)), x, w, [out.shape[1]] if m[2] else g.pick([None, [out.shape[1]]]), st, pad, dil, tr_, op, gr, m,
                      tags=[f"conv{nd}d"] + (["transposed"] if tr else []) + (["groups"] if gr > 1 else []))
    x, w = g.t(f32, [1, 4, 5, 5]), g.t(f32, [2, 4, 3, 3])
    rest = [[1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True]]
    c.err("shape", g.t(f32, [1, 3, 3, 3]), x, w, [2], *rest)
    c.err("shape", g.t(f32, [1, 2, 4, 4]), x, w, [2], *rest)
    c.err("shape", g.t(f32, [1, 2, 3, 3]), x, g.t(f32, [2, 3, 3, 3]), [2], *rest)
    c.err("dtype", g.t(f64, [1, 2, 3, 3]), x, w, [2], *rest)
