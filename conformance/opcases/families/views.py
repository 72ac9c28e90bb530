"""Cases of views, splits and joins."""

import torch

from encoding import ALL, INF, NAN, b8, bf16, c64, f16, f32, f64, i16, i32, i64, i8, u16, u8
from cases import LAYS, spec
from families.reductions import dims_for
from families.movement import mover


def factor(g, n, parts):
    out = [1] * parts
    m = n
    for p in (2, 2, 2, 2, 3, 3, 5, 7):
        while m % p == 0 and m > 1:
            out[g.i(0, parts - 1)] *= p
            m //= p
    out[g.i(0, parts - 1)] *= m
    return out


@spec("view view_copy", "data_movement")
def _(c, g):
    def put(x, *t):
        s = factor(g, x.numel(), g.i(1, 4))
        if g.flip(.4):
            s[g.i(0, len(s) - 1)] = -1
        c.add(x, s, tags=t)
    for dt in ALL + [u16]:
        for _ in range(3):
            put(g.t(dt, g.shape(g.i(1, 4), 2)), "view")
    put(g.t(f32, g.shape(3, 2), "n", "O"), "offset")
    c.add(g.t(f32, []), [1, 1], tags=["zero_dim"])
    c.add(g.t(f32, [1]), [], tags=["zero_dim"])
    c.add(g.t(f32, [0, 3]), [3, 0], tags=["empty"])
    c.add(g.t(f32, [0, 3]), [-1, 3], tags=["empty"])
    c.add(g.t(f32, [2, 6], "n", "S"), [2, 2, 3], tags=["noncontiguous"])
    c.add(g.t(f32, [3, 1, 4], "n", "E"), [3, 4], tags=["noncontiguous"])
    c.add(g.t(f32, [4, 6], "n", "T"), [4, 2, 3], tags=["noncontiguous"])
    c.add(g.t(f32, [2, 4, 3, 5], "n", "CL"), [2, 4, 3, 5], tags=["channels_last"])
    c.add(g.t(f32, [2, 4, 3, 5], "n", "CL"), [2, 2, 2, 3, 5], tags=["channels_last"])
    x = g.t(f32, [2, 3, 4])
    c.err("shape", x, [5, 5])
    c.err("value", x, [-1, -1])
    c.err("shape", x, [-1, 5])
    c.err("value", x, [-2, 12])
    c.err("shape", g.t(f32, [0, 3]), [-1, 0])
    if c.name.startswith("aten.view."):
        c.err("shape", g.t(f32, [4, 6], "n", "T"), [24])


@spec("view_copy.dtype", "data_movement")
def _(c, g):
    for a, b in ((f32, i32), (i32, f32), (f16, i16), (bf16, f16), (u8, i8), (i8, u8), (i64, f64), (f64, i64), (b8, u8), (u8, b8), (f16, bf16)):
        if b == b8:
            c.add(g.t(a, None, "tie").clamp(0, 1), b, tags=["same_size"])
        else:
            for _ in range(2):
                c.add(g.t(a), b, tags=["same_size"])
    for a, b, k in ((f32, f16, 1), (f32, i8, 1), (i64, i32, 1), (i8, i32, 4), (f16, f32, 2), (i32, i64, 2), (u8, f32, 4), (f64, i16, 1)):
        c.add(g.t(a, [g.i(1, 4), 4 * g.i(1, 2)], "wide" if not a.is_floating_point else "n"), b, tags=["resize"])
    c.add(g.t(f32, [0, 4]), i8, tags=["empty"])
    c.add(g.t(f32, []), i32, tags=["zero_dim"])
    c.add(g.t(f32, [3, 4], "n", "T"), i32, tags=["noncontiguous"])
    c.err("shape", g.t(i8, [2, 3]), i32)
    c.err("shape", g.t(f32, []), i8)
    c.err("shape", g.t(i16, [2, 5]), i64)
    c.err("shape", g.t(i8, []), f32)
    c.err("shape", g.t(f32, [4, 2], "n", "T"), i8)


@spec("_reshape_alias_copy", "data_movement")
def _(c, g):
    for dt in ALL:
        for _ in range(2):
            x = g.t(dt, g.shape(g.i(1, 3), 2))
            s = factor(g, x.numel(), g.i(1, 4))
            c.add(x, s, list(torch.empty(s).stride()), tags=["view"])
    c.add(g.t(f32, [0, 3]), [3, 0], [1, 1], tags=["empty"])


@spec("expand expand_copy", "data_movement")
def _(c, g):
    def put(x, *t):
        s = list(x.shape)
        for k in range(len(s)):
            if g.flip(.4):
                x = x.narrow(k, 0, 1)
        s = [(-1 if g.flip(.2) else q) for q in s]
        c.add(x, [g.i(1, 3) for _ in range(g.i(0, 2))] + s, tags=t)
    for dt in ALL + [u16]:
        for _ in range(3):
            put(g.t(dt, g.shape(g.i(1, 3), 2)))
    for lay in LAYS + ["CL"]:
        put(g.t(f32, g.shape(4, 2), "n", lay), "noncontiguous")
    c.add(g.t(f32, []), [2, 3], tags=["zero_dim"])
    c.add(g.t(f32, []), [], tags=["zero_dim"])
    c.add(g.t(f32, [1, 3]), [0, 3], tags=["empty"])
    c.add(g.t(f32, [0]), [2, 0], tags=["empty"])
    c.add(g.t(f32, [1, 3]), [2, -1], kw={"implicit": True}, tags=["implicit"])
    x = g.t(f32, [2, 3])
    c.err("shape", x, [4, 3])
    c.err("shape", x, [3])
    c.err("value", x, [-1, 2, 3])
    c.err("shape", x, [2, 4])
    c.err("value", x, [2, -2])


@spec("squeeze.dim squeeze_copy.dim", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        k = g.i(0, r - 1)
        if g.flip(.7):
            x = x.narrow(k, 0, 1)
        c.add(x, g.neg(k, r), tags=t)
    mover(c, put)
    c.add(g.t(f32, []), 0, tags=["zero_dim"])
    c.add(g.t(f32, [1, 0, 3]), 0, tags=["empty"])
    for d in (2, -3, 9):
        c.err("index", g.t(f32, [2, 1]), d)
    c.err("index", g.t(f32, []), 1)


@spec("squeeze.dims squeeze_copy.dims", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        for k in range(r):
            if g.flip(.5):
                x = x.narrow(k, 0, 1)
        c.add(x, dims_for(g, r, g.i(0, r)), tags=t)
    mover(c, put)
    c.add(g.t(f32, []), [0], tags=["zero_dim"])
    c.add(g.t(f32, []), [], tags=["zero_dim"])
    c.add(g.t(f32, [1, 0, 1]), [0, 2], tags=["empty"])
    c.err("index", g.t(f32, [2, 1]), [2])
    c.err("index", g.t(f32, [2, 1]), [0, -3])
    c.err("value", g.t(f32, [2, 1]), [1, 1])
    c.err("value", g.t(f32, [2, 1]), [1, -1])


@spec("squeeze_copy", "data_movement")
def _(c, g):
    def put(x, *t):
        for k in range(x.dim()):
            if g.flip(.4):
                x = x.narrow(k, 0, 1)
        c.add(x, tags=t)
    mover(c, put)
    c.add(g.t(f32, []), tags=["zero_dim"])
    c.add(g.t(f32, [1, 1]), tags=["all_ones"])
    c.add(g.t(f32, [1, 0, 1]), tags=["empty"])


@spec("unsqueeze unsqueeze_copy", "data_movement")
def _(c, g):
    mover(c, lambda x, *t: c.add(x, g.i(-x.dim() - 1, x.dim()), tags=t))
    c.add(g.t(f32, []), g.pick([0, -1]), tags=["zero_dim"])
    c.add(g.t(f32, [0, 3]), 1, tags=["empty"])
    for d in (3, -4, 8):
        c.err("index", g.t(f32, [2, 1]), d)
    c.err("index", g.t(f32, []), 1)


@spec("select.int select_copy.int", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        k = g.i(0, r - 1)
        c.add(x, g.neg(k, r), g.i(-x.shape[k], x.shape[k] - 1), tags=t)
    mover(c, put)
    c.add(g.t(f32, [2, 0, 3]), 0, 1, tags=["empty"])
    c.err("index", g.t(f32, [2, 3]), 0, 2)
    c.err("index", g.t(f32, [2, 3]), 1, -4)
    c.err("index", g.t(f32, [2, 3]), 2, 0)
    c.err("index", g.t(f32, [0, 3]), 0, 0)
    c.err("shape", g.t(f32, []), 0, 0)


@spec("slice.Tensor slice_copy.Tensor", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        k = g.i(0, r - 1)
        n = x.shape[k]
        a = g.pick([None, 0, 1, g.i(-n, n), -n - 3])
        b = g.pick([None, n, n + 5, g.i(-n, n), 2**63 - 1, n - 1])
        full = [g.neg(k, r), a, b, g.i(1, 3)]
        c.add(x, *full[:g.pick([1, 2, 3, 3, 4, 4, 4])], tags=t)
    mover(c, put)
    c.add(g.t(f32, [4, 3]), tags=["defaults"])
    c.add(g.t(f32, [4, 3]), 0, 3, 1, tags=["empty_result"])
    c.add(g.t(f32, [4, 3]), 0, 9, 12, tags=["empty_result"])
    c.add(g.t(f32, [0, 3]), 0, 0, 2, tags=["empty"])
    c.add(g.t(f32, [7, 3]), 0, 1, None, 3, tags=["step"])
    c.err("value", g.t(f32, [4, 3]), 0, 0, 3, 0)
    c.err("value", g.t(f32, [4, 3]), 0, 0, 3, -1)
    c.err("index", g.t(f32, [4, 3]), 2, 0, 1)
    c.err("index", g.t(f32, [4, 3]), -3, 0, 1)
    c.err("shape", g.t(f32, []), 0, 0, 1)


@spec("narrow_copy", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        k = g.i(0, r - 1)
        n = x.shape[k]
        st = g.i(0, n)
        c.add(x, g.neg(k, r), st if g.flip(.7) or st == n else st - n, g.i(0 if g.flip(.2) else min(1, n - st), n - st), tags=t)
    mover(c, put)
    c.add(g.t(f32, [2, 0]), 1, 0, 0, tags=["empty"])
    c.err("value", g.t(f32, [4, 3]), 0, 2, 3)
    c.err("value", g.t(f32, [4, 3]), 0, 0, -1)
    c.err("index", g.t(f32, [4, 3]), 2, 0, 1)
    c.err("value", g.t(f32, [4, 3]), 0, 5, 0)
    c.err("shape", g.t(f32, []), 0, 0, 1)


@spec("diagonal diagonal_copy", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        if r < 2:
            x, r = x.unsqueeze(0).expand(3, -1), 2
        p = g.some(range(r), 2)
        full = [g.i(-3, 3), g.neg(p[0], r), g.neg(p[1], r)]
        c.add(x, *full[:g.pick([0, 1, 3, 3, 3])], tags=t)
    mover(c, put)
    c.add(g.t(f32, [3, 4]), 5, tags=["empty_result"])
    c.add(g.t(f32, [0, 4]), tags=["empty"])
    c.err("value", g.t(f32, [3, 4]), 0, 1, 1)
    c.err("value", g.t(f32, [3, 4]), 0, 1, -1)
    c.err("index", g.t(f32, [3, 4]), 0, 0, 2)
    c.err("index", g.t(f32, [3]))
    c.err("index", g.t(f32, [3, 4]), 0, -3, 1)


@spec("as_strided as_strided_copy", "data_movement")
def _(c, g):
    for dt in ALL + [c64]:
        for _ in range(4):
            x = g.t(dt, [g.i(20, 40)], "n", g.pick([None, None, "O"]))
            r = g.i(0, 3)
            s = [g.i(1, 3) for _ in range(r)]
            st = [g.i(0, 4) for _ in range(r)]
            span = sum((a - 1) * b for a, b in zip(s, st))
            off = g.i(0, 19 - span) if span < 19 else None
            if span >= 20:
                continue
            c.add(x, s, st, *([] if g.flip(.3) else [off]), tags=["overlap" if 0 in st else "strided"])
    x = g.t(f32, [4, 5])
    c.add(x, [2, 0], [5, 1], tags=["empty"])
    c.add(x, [], [], 7, tags=["zero_dim"])
    c.add(g.t(f32, [4, 5], "n", "T"), [3, 3], [5, 1], 1, tags=["noncontiguous"])
    c.err("shape", x, [2, 2], [1])
    c.err("value", x, [2, 2], [-1, 1])
    c.err("value", x, [5, 5], [5, 1])
    c.err("value", x, [2, 2], [5, 1], -1)
    c.err("value", x, [2, 2], [5, 1], 18)


def splits(g, n):
    out = []
    while n > 0:
        k = g.i(0 if g.flip(.15) else 1, n)
        out.append(k)
        n -= k
    return out


@spec("split_with_sizes split_with_sizes_copy", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        k = g.i(0, r - 1) if g.flip(.8) else 0
        c.add(x, splits(g, x.shape[k]), *([g.neg(k, r)] if k or g.flip() else []), tags=t)
    mover(c, put, n=2)
    c.add(g.t(f32, [0, 3]), [0], 0, tags=["empty"])
    c.add(g.t(f32, [0, 3]), [1, 2], 1, tags=["empty"])
    x = g.t(f32, [5, 3])
    c.err("value", x, [2, 2], 0)
    c.err("value", x, [6, -1], 0)
    c.err("index", x, [5], 2)
    c.err("value", x, [4, 2], 0)
    c.err("shape", g.t(f32, []), [1], 0)


@spec("split_copy.Tensor", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        k = g.i(0, r - 1)
        c.add(x, g.i(1, x.shape[k] + 1), *([g.neg(k, r)] if k or g.flip() else []), tags=t)
    mover(c, put, n=2)
    c.add(g.t(f32, [0, 3]), 2, 0, tags=["empty"])
    c.add(g.t(f32, [0, 3]), 0, 0, tags=["empty"])
    x = g.t(f32, [5, 3])
    c.err("value", x, -1, 0)
    c.err("value", x, 0, 0)
    c.err("index", x, 2, 2)
    c.err("index", x, 2, -3)
    c.err("shape", g.t(f32, []), 1, 0)


@spec("unbind_copy.int", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        k = g.i(0, r - 1)
        c.add(x, *([g.neg(k, r)] if k or g.flip() else []), tags=t)
    mover(c, put, n=2)
    c.add(g.t(f32, [2, 0, 3]), 0, tags=["empty"])
    c.err("index", g.t(f32, [2, 3]), 2)
    c.err("index", g.t(f32, [2, 3]), -3)
    c.err("shape", g.t(f32, []), 0)


@spec("unfold_copy", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        k = g.i(0, r - 1)
        c.add(x, g.neg(k, r), g.i(1, x.shape[k]), g.i(1, 3), tags=t)
    mover(c, put, n=2)
    c.add(g.t(f32, []), 0, 1, 1, tags=["zero_dim"])
    c.add(g.t(f32, [5]), 0, 0, 1, tags=["size0"])
    c.add(g.t(f32, [0, 3]), 1, 2, 1, tags=["empty"])
    x = g.t(f32, [5, 3])
    c.err("value", x, 0, 6, 1)
    c.err("value", x, 0, 2, 0)
    c.err("index", x, 2, 1, 1)
    c.err("value", x, 0, -1, 1)
    c.err("value", x, 1, 2, -1)


@spec("repeat", "data_movement")
def _(c, g):
    mover(c, lambda x, *t: c.add(x, [g.i(1, 3) for _ in range(g.i(x.dim(), x.dim() + 1))] if x.dim() < 4 else [g.i(1, 2) for _ in range(x.dim())], tags=t), n=2)
    c.add(g.t(f32, []), [], tags=["zero_dim"])
    c.add(g.t(f32, []), [3, 2], tags=["zero_dim"])
    c.add(g.t(f32, [2, 3]), [0, 2], tags=["empty"])
    c.add(g.t(f32, [0, 3]), [2, 2], tags=["empty"])
    c.err("shape", g.t(f32, [2, 3]), [2])
    c.err("value", g.t(f32, [2, 3]), [2, -1])
    c.err("shape", g.t(f32, [2, 3]), [])
    c.err("value", g.t(f32, [3]), [-2])


@spec("flip", "data_movement")
def _(c, g):
    mover(c, lambda x, *t: c.add(x, dims_for(g, x.dim(), g.i(0, x.dim())), tags=t), dts=ALL)
    c.add(g.t(f32, []), [], tags=["zero_dim"])
    c.add(g.t(f32, [0, 3]), [0, 1], tags=["empty"])
    c.err("value", g.t(f32, [2, 3]), [0, 0])
    c.err("value", g.t(f32, [2, 3]), [1, -1])
    c.err("index", g.t(f32, [2, 3]), [2])
    c.err("index", g.t(f32, [2, 3]), [-3])


@spec("roll", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        if g.flip(.3):
            c.add(x, [g.i(-9, 9)], tags=list(t) + ["flatten"])
        else:
            d = dims_for(g, r)
            c.add(x, [g.i(-7, 7) for _ in d], d, tags=t)
    mover(c, put, dts=ALL)
    c.add(g.t(f32, []), [2], tags=["zero_dim"])
    c.add(g.t(f32, [0, 3]), [2], [1], tags=["empty"])
    c.add(g.t(f32, [3, 4]), [1, 2], [0, 0], tags=["same_dim"])
    x = g.t(f32, [2, 3])
    c.err("value", x, [])
    c.err("shape", x, [1, 2], [0])
    c.err("shape", x, [1, 2])
    c.err("index", x, [1], [2])
    c.err("index", x, [1], [-3])


@spec("tril", "data_movement")
def _(c, g):
    for dt in ALL:
        for _ in range(4):
            c.add(g.t(dt, g.shape(g.i(2, 4), 2), g.pick(["n", "n", "sp"])), *g.pick([[], [g.i(-4, 4)], [g.i(-2, 2)]]))
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), g.i(-2, 2), tags=["noncontiguous"])
    for s in ([0, 3], [3, 0], [0, 2, 2]):
        c.add(g.t(f32, s), tags=["empty"])
    for s in ([], [3]):
        c.err("shape", g.t(f32, s))


@spec("constant_pad_nd", "data_movement")
def _(c, g):
    def put(x, *t):
        k = g.i(1, x.dim())
        p = [g.i(0, 3) for _ in range(2 * k)]
        if g.flip(.25):
            j = g.i(0, k - 1)
            p[2 * j] = -min(1, x.shape[x.dim() - 1 - j] - 1)
        if x.dtype.is_floating_point:
            v = g.pick([[], [0], [1.5], [-INF], [NAN], [3], [-2.5]])
        else:
            v = g.pick([[], [0], [1], [2 if x.dtype != b8 else 1]])
        c.add(x, p, *v, tags=t)
    mover(c, put, dts=ALL)
    c.add(g.t(f32, [2, 3]), [], tags=["nopad"])
    c.add(g.t(f32, [0, 3]), [1, 1, 2, 0], 1.0, tags=["empty"])
    c.add(g.t(f32, [3, 3]), [-1, -1, -1, 0], tags=["crop"])
    x = g.t(f32, [2, 3])
    c.err("shape", x, [1])
    c.err("shape", x, [1, 1, 1, 1, 1, 1])
    c.err("shape", x, [-2, -2])
    c.err("shape", x, [0, 0, -3, 0])


@spec("pixel_shuffle", "data_movement")
def _(c, g):
    for dt in ALL:
        for _ in range(3):
            r = g.i(1, 3)
            c.add(g.t(dt, [g.i(1, 2)] * g.i(0, 1) + [r * r * g.i(1, 2), g.i(1, 3), g.i(1, 3)]), r)
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, [2, 4, 2, 3], "n", lay), 2, tags=["noncontiguous"])
    c.add(g.t(f32, [2, 1, 4, 2, 2]), 2, tags=["rank5"])
    c.add(g.t(f32, [0, 4, 2, 2]), 2, tags=["empty"])
    c.err("shape", g.t(f32, [1, 3, 2, 2]), 2)
    c.err("shape", g.t(f32, [4, 2]), 2)
    c.err("value", g.t(f32, [1, 4, 2, 2]), 0)
    c.err("value", g.t(f32, [1, 4, 2, 2]), -2)


@spec("pixel_unshuffle", "data_movement")
def _(c, g):
    for dt in ALL:
        for _ in range(3):
            r = g.i(1, 3)
            c.add(g.t(dt, [g.i(1, 2)] * g.i(0, 1) + [g.i(1, 3), r * g.i(1, 2), r * g.i(1, 2)]), r)
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, [2, 3, 2, 4], "n", lay), 2, tags=["noncontiguous"])
    c.add(g.t(f32, [2, 1, 2, 4, 2]), 2, tags=["rank5"])
    c.add(g.t(f32, [0, 4, 2, 2]), 2, tags=["empty"])
    c.err("shape", g.t(f32, [1, 3, 3, 2]), 2)
    c.err("shape", g.t(f32, [1, 3, 2, 3]), 2)
    c.err("shape", g.t(f32, [4, 2]), 2)
    c.err("value", g.t(f32, [1, 4, 2, 2]), 0)
    c.err("value", g.t(f32, [1, 4, 2, 2]), -1)


@spec("resize_", "data_movement")
def _(c, g):
    # shrinking or same-size only: growing exposes uninitialized memory, so those are meta
    for dt in ALL:
        for _ in range(3):
            x = g.t(dt, g.shape(g.i(1, 3), 2))
            n = x.numel()
            s = factor(g, g.i(1, n), g.i(1, 3))
            c.add(x, s, tags=["shrink"])
        x = g.t(dt, g.shape(2))
        c.add(x, [x.numel() + g.i(1, 9)], check="meta", tags=["grow"])
    c.add(g.t(f32, [2, 3]), [0], tags=["empty"])
    c.add(g.t(f32, [2, 3]), [], tags=["zero_dim"])
    c.add(g.t(f32, [4, 3], "n", "T"), [3, 4], tags=["noncontiguous"])
    c.add(g.t(f32, [24]), [1, 2, 3, 4], kw={"memory_format": torch.channels_last}, tags=["channels_last"])
    c.add(g.t(f32, [24]), [1, 2, 3, 4], kw={"memory_format": torch.contiguous_format})
    c.err("value", g.t(f32, [3]), [-1])
    c.err("value", g.t(f32, [3]), [2, -2])
    c.err("value", g.t(f32, [3]), [3], kw={"memory_format": torch.preserve_format})
    c.err("shape", g.t(f32, [6]), [2, 3], kw={"memory_format": torch.channels_last})


@spec("repeat_interleave.Tensor", "data_movement")
def _(c, g):
    for dt in (i64, i32):
        for n in g.some(range(1, 14), 8):
            x = torch.from_numpy(g.r.integers(0, 5, n)).to(dt)
            c.add(x)
            c.add(x, kw={"output_size": int(x.sum())}, tags=["output_size"])
        c.add(torch.zeros(4, dtype=dt), tags=["zeros"])
        c.add(torch.zeros(0, dtype=dt), tags=["empty"])
    c.add(torch.tensor([1, 9, 2, 9, 3])[::2], tags=["noncontiguous"])
    c.err("shape", torch.ones(2, 2, dtype=i64))
    c.err("value", torch.tensor([1, -1, 2]))
    c.err("dtype", g.t(f32, [3], "pos"))
    c.err("dtype", g.t(i16, [3], "pos"))
    c.err("shape", torch.tensor(3))
