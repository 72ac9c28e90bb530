"""Cases of operators of two or more operands, element by element."""

import torch

from encoding import ALL, F, I, INF, NAN, b8, bf16, c64, f16, f32, f64, i16, i32, i64, i8, u8
from cases import EMPTY, LAYS, spec

BPAIRS = [([3, 4], [4]), ([3, 1], [1, 5]), ([2, 3, 4], [3, 1]), ([1], [4, 3]), ([2, 1, 3, 1], [4, 1, 5]),
          ([], [3, 2]), ([2, 3], []), ([], []), ([5, 1, 1], [2, 3]), ([1, 1, 1, 1, 2], [2, 3, 1]), ([2, 3, 4, 5], [1, 3, 1, 1])]
EPAIRS = [([0, 3], [1, 3]), ([2, 0], [2, 1]), ([0], [1]), ([0], []), ([1, 0, 2], [3, 1, 1]), ([0, 4], [0, 4])]
BADPAIRS = [([3], [4]), ([2, 3], [3, 2]), ([2, 3], [2]), ([4, 1, 2], [3, 1, 3]), ([0], [2]), ([0, 3], [2, 3]), ([2, 3, 4], [2, 4])]
PROMO = [(i32, f32), (f32, i64), (b8, i8), (b8, f16), (i8, u8), (u8, i16), (i32, i64), (f16, bf16), (f16, f32), (f32, f64), (bf16, f32),
         (i64, f16), (b8, i64), (i64, bf16), (u8, f64), (i16, i32), (i8, f16), (b8, f32), (u8, b8), (f64, i8)]
ZPROMO = [(i64, f32), (f32, f64), (i8, i64), (b8, i32), (f16, f32), (f16, f64), (bf16, f32), (u8, i64), (i32, f64), (f32, i64), (b8, f32), (i16, i32)]


def vary(g, s):
    """Same broadcast structure, other sizes."""
    m = {}
    out = []
    for v in s:
        if v in (0, 1):
            out.append(v)
        else:
            m.setdefault(v, None)
            out.append(v)
    return out


def bshapes(g):
    a, b = g.pick(BPAIRS)
    remap = {}
    for v in a + b:
        if v > 1:
            remap.setdefault(v, g.i(2, 6))
    return [remap.get(v, v) for v in a], [remap.get(v, v) for v in b]


def binary(c, ka="n", kb="n", dts=ALL, special=F, promo=True, kws=({},), cplx=False, intlim=True, kb_int=None, badint=False):
    g = c.g

    def kbb(dt):
        return kb if dt.is_floating_point or kb_int is None else kb_int

    def kaa(dt):
        return ka

    def put(x, y, *tags, kw=None):
        c.add(x, y, kw=g.pick(list(kws)) if kw is None else kw, tags=tags)
    for dt in dts:
        for kw in kws:
            s = g.shape()
            put(g.t(dt, s, kaa(dt)), g.t(dt, s, kbb(dt)), "same", kw=kw)
        a, b = bshapes(g)
        put(g.t(dt, a, kaa(dt)), g.t(dt, b, kbb(dt)), "broadcast")
    for dt in special:
        n = g.i(14, 20)
        for kw in kws:
            put(g.t(dt, [n, 1], "sp"), g.t(dt, [n], "sp"), "special", kw=kw)
    if intlim:
        for dt in [d for d in dts if d in I]:
            put(g.t(dt, [g.i(10, 16)], "sp"), g.t(dt, [1] if g.flip(.3) else [g.i(3, 9), 1], "sp" if kb_int is None else kb_int), "int_limits")
    fd = [d for d in dts if d.is_floating_point] or list(dts)
    for a, b in g.some(BPAIRS, 6):
        dt = g.pick(dts)
        put(g.t(dt, a, kaa(dt)), g.t(dt, b, kbb(dt)), "broadcast")
    for a, b in g.some(EPAIRS, 3):
        if g.flip():
            a, b = b, a
        dt = g.pick(dts)
        put(g.t(dt, a), g.t(dt, b, kbb(dt)), "empty")
    for la, lb in g.some([("T", None), (None, "T"), ("S", "S"), ("E", None), ("O", "P"), ("P", "P"), ("E", "E"), ("T", "T")], 4):
        s = g.shape(g.i(2, 4), 2)
        dt = g.pick(fd[:2])
        put(g.t(dt, s, kaa(dt), la), g.t(dt, s, kbb(dt), lb), "noncontiguous")
    s = g.shape(4, 2)
    dt = g.pick(fd)
    put(g.t(dt, s, kaa(dt), "CL"), g.t(dt, s, kbb(dt), "CL"), "channels_last")
    put(g.t(dt, s, kaa(dt), "CL"), g.t(dt, s, kbb(dt)), "channels_last", "mixed_layout")
    put(g.t(dt, s, kaa(dt), "CL"), g.t(dt, [1, s[1], 1, 1], kbb(dt)), "channels_last", "broadcast")
    s = g.shape(5, 2)
    put(g.t(fd[0], s, kaa(fd[0]), "CL"), g.t(fd[0], s, kbb(fd[0]), "CL"), "channels_last_3d")
    n = g.i(120, 300)
    put(g.t(fd[0], [n], kaa(fd[0])), g.t(fd[0], [n], kbb(fd[0])), "long")
    if promo:
        for a, b in g.some([p for p in PROMO if p[0] in dts and p[1] in dts], 9):
            if g.flip():
                a, b = b, a
            sa, sb = bshapes(g)
            put(g.t(a, sa, kaa(a)), g.t(b, sb, kbb(b)), "int_promote" if not (a.is_floating_point and b.is_floating_point) else "promote")
        for a, b in g.some([p for p in ZPROMO if p[0] in dts and p[1] in dts], 6):
            x, y = g.t(a, g.shape(2), kaa(a)), g.t(b, [], kbb(b))
            if g.flip():
                x, y = g.t(b, [], kaa(b)), g.t(a, g.shape(2), kbb(a))
            put(x, y, "zero_dim", "promote")
    if cplx:
        for _ in range(2):
            a, b = bshapes(g)
            put(g.t(c64, a), g.t(c64, b), "complex")
        put(g.t(c64, [3]), g.t(f32, [2, 3], kb), "complex", "promote")
    for a, b in g.some(BADPAIRS, 5):
        c.err("shape", g.t(fd[0], a), g.t(fd[0], b, kbb(fd[0])), kw=kws[0])


SCAL = [2, -3, 0.5, -1.25, True, 0, 3.0, 7, 1e-3, False, -2.0]


def scalar_bin(c, vals=SCAL, dts=ALL, kind="n", special=F, extra=lambda g: [], kws=({},), kint=None, cplx=False):
    g = c.g

    def put(x, v, *tags, kw=None):
        c.add(x, v, *extra(g), kw=g.pick(list(kws)) if kw is None else kw, tags=tags)
    for dt in dts:
        for v in g.some(vals, 4 if len(dts) > 4 else 6):
            k = kint if kint and not dt.is_floating_point else kind
            put(g.t(dt, None, k), v, "scalar_" + type(v).__name__)
    for dt in special:
        for kw in kws:
            put(g.t(dt, [g.i(28, 36)], "sp"), g.pick(vals), "special", kw=kw)
    for dt in [d for d in dts if d in I]:
        put(g.t(dt, [g.i(8, 16)], "sp"), g.pick([v for v in vals if isinstance(v, int) and v]), "int_limits")
    fd = [d for d in dts if d.is_floating_point] or list(dts)
    for lay in LAYS + ["CL"]:
        put(g.t(fd[0], g.shape(4, 2), kind, lay), g.pick(vals), "noncontiguous" if lay != "CL" else "channels_last")
    for s in g.some(EMPTY, 2):
        put(g.t(g.pick(dts), s), g.pick(vals), "empty")
    for _ in range(4):
        put(g.t(g.pick(dts), [], kind), g.pick(vals), "zero_dim")
    put(g.t(fd[0], g.shape(5, 2), kind), g.pick(vals), "rank5")
    put(g.t(fd[0], [g.i(100, 300)], kind), g.pick(vals), "long")
    if cplx:
        put(g.t(c64, [4]), 1.5, "complex")
        put(g.t(c64, [2, 2]), complex(0.5, -1.0), "complex")
        put(g.t(f32, [3]), complex(1.0, 2.0), "complex", "promote")


@spec("add.Tensor sub.Tensor", "binary", "arith")
def _(c, g):
    binary(c, cplx=True)
    for dt in F + I:
        al = g.pick([2, -1, 3]) if dt in I else g.pick([0.5, 2, -1.5, 0.0])
        a, b = bshapes(g)
        c.add(g.t(dt, a), g.t(dt, b), kw={"alpha": al}, tags=["alpha"])
    c.add(g.t(i32, [3]), g.t(f32, [2, 3]), kw={"alpha": 0.25}, tags=["alpha", "int_promote"])
    c.err("value", g.t(i32, [3]), g.t(i32, [3]), kw={"alpha": 0.5}, tags=["alpha"])
    c.err("value", g.t(f32, [3]), g.t(f32, [3]), kw={"alpha": True}, tags=["alpha"])
    c.err("dtype", g.t(b8, [3]), g.t(b8, [3]), kw={"alpha": 2})


@spec("mul.Tensor", "binary", "arith")
def _(c, g):
    binary(c, cplx=True)


@spec("div.Tensor", "binary", "arith")
def _(c, g):
    binary(c, kb="n", cplx=True)
    for dt in I:
        c.add(g.t(dt, [9]), g.t(dt, [9]), tags=["int_promote", "div_zero"])


@spec("div.Tensor_mode", "binary", "arith")
def _(c, g):
    binary(c, kb="nz", kb_int="nz", kws=({"rounding_mode": "floor"}, {"rounding_mode": "trunc"}, {"rounding_mode": None}), dts=F + I, intlim=False)
    for m in ("floor", "trunc"):
        c.err("value", g.t(i32, [3]), torch.zeros(3, dtype=i32), kw={"rounding_mode": m}, tags=["div_zero"])
        c.add(g.t(f32, [12], "half"), torch.tensor(0.0), kw={"rounding_mode": m}, tags=["div_zero"])
    c.err("value", g.t(f32, [3]), g.t(f32, [3]), kw={"rounding_mode": "round"})
    c.err("value", g.t(f32, [3]), g.t(f32, [3]), kw={"rounding_mode": ""})


@spec("floor_divide", "binary", "arith")
def _(c, g):
    binary(c, kb="nz", kb_int="nz", dts=F + I, intlim=False)
    for dt in (f32, f16, i32, i64, i8):
        c.add(g.t(dt, [20], "half"), g.t(dt, [20], "nz"), tags=["neg"])
    for dt in (i32, u8, i64):
        c.err("value", g.t(dt, [3]), torch.zeros(3, dtype=dt), tags=["div_zero"])


@spec("fmod.Tensor remainder.Tensor", "binary", "arith")
def _(c, g):
    binary(c, ka="n", kb="nz", kb_int="nz", dts=F + I, intlim=False)
    for dt in (f32, f16, bf16, f64, i32, i64, i8, u8):
        c.add(g.t(dt, [20], "half"), g.t(dt, [20], "nz"), tags=["neg"])
    for dt in (i32, u8, i64):
        c.err("value", g.t(dt, [3]), torch.zeros(3, dtype=dt), tags=["div_zero"])


@spec("pow.Tensor_Tensor", "binary", "trans")
def _(c, g):
    binary(c, ka="pos", kb="n", kb_int="tie", dts=F + I, intlim=False)
    for dt in F:
        c.add(g.t(dt, [15], "n"), g.t(dt, [15], "tie"), tags=["neg_base"])
        c.add(g.t(dt, [15], "half"), torch.tensor(2, dtype=g.pick([i32, i64])), tags=["promote"])
    for dt in I:
        c.add(g.t(dt, [12], "n"), g.t(dt, [12], "tie"), tags=["int"])
    for dt in (i32, i64):
        c.add(torch.tensor([1, -1, -1, 2, -3, 5], dtype=dt), torch.tensor([-1, -1, -2, -1, -2, 3], dtype=dt), tags=["neg_exp"])
        c.add(torch.tensor([3, 7, 10, -5], dtype=dt), torch.tensor([g.i(15, 25), 19, 20, 27], dtype=dt), tags=["int_wrap"])


@spec("pow.Tensor_Scalar", "binary", "trans")
def _(c, g):
    scalar_bin(c, vals=[2, 3, 0.5, -1, -2, 1.5, 0, 1, -0.5, 2.0, 4, 2.7], dts=F, kind="pos", cplx=True)
    for dt in I + [b8]:
        for v in g.some([0, 1, 2, 3, 5, 0.5, 2.0], 3):
            c.add(g.t(dt, None, "n"), v, tags=["int"])
    for dt in F:
        c.add(g.t(dt, [12], "half"), g.pick([2, 3, 4, 2.0, 3.0]), tags=["neg_base"])
    c.add(g.t(i32, [6], "wide"), 3, tags=["int_wrap"])
    for dt in I[:4]:
        c.err("value", g.t(dt, [3], "nz"), g.pick([-1, -2]))
    c.err("value", g.t(i64, [3], "nz"), -3)


@spec("pow.Scalar", "binary", "trans")
def _(c, g):
    def r(v, x, *tags):
        c.add(v, x, tags=tags)
    for dt in F:
        for v in g.some([2, 0.5, 3.0, 1, 0, 10, 1.5, -2.0], 5):
            r(v, g.t(dt, None, g.pick(["n", "tie", "half"])), "scalar_base")
        r(g.pick([2.0, 0.5, 1.0, -1.0, 0.0]), g.t(dt, [30], "sp"), "special")
    for dt in I + [b8]:
        for v in g.some([2, 3, 0, 1, 0.5, 2.5], 3):
            r(v, g.t(dt, None, "tie"), "int_promote")
    for lay in LAYS + ["CL"]:
        r(1.5, g.t(f32, g.shape(4, 2), "n", lay), "noncontiguous")
    r(2, g.t(f32, g.pick(EMPTY)), "empty")
    r(2, g.t(f32, []), "zero_dim")
    r(True, g.t(f32, [3]), "scalar_bool")


@spec("atan2", "binary", "trans")
def _(c, g):
    binary(c)


@spec("atan2.out", "binary", "trans")
def _(c, g):
    for dt in F:
        for _ in range(6):
            a, b = bshapes(g)
            o = torch.zeros(torch.broadcast_shapes(a, b), dtype=dt)
            c.add(g.t(dt, a), g.t(dt, b), kw={"out": o}, tags=["out"])
        n = g.i(12, 18)
        c.add(g.t(dt, [n, 1], "sp"), g.t(dt, [n], "sp"), kw={"out": torch.zeros(n, n, dtype=dt)}, tags=["special"])
        c.add(g.t(f32, [2, 3]), g.t(f32, [2, 3]), kw={"out": torch.zeros(2, 3, dtype=dt)}, tags=["out_cast"])
        s = g.shape(2, 2)
        c.add(g.t(dt, s, "n", "T"), g.t(dt, s), kw={"out": torch.zeros(s[1], s[0], dtype=dt).t()}, tags=["noncontiguous"])
    for dt in I:
        c.add(g.t(dt, [4]), g.t(dt, [4]), kw={"out": torch.zeros(4)}, tags=["int_promote"])
    c.add(g.t(f32, [3]), g.t(f32, [3]), kw={"out": torch.zeros(0)}, tags=["out_resize"])
    c.add(g.t(f32, [0, 3]), g.t(f32, [1, 3]), kw={"out": torch.zeros(0, 3)}, tags=["empty"])
    c.add(g.t(f32, []), g.t(f32, []), kw={"out": torch.zeros([])}, tags=["zero_dim"])
    c.err("dtype", g.t(f32, [3]), g.t(f32, [3]), kw={"out": torch.zeros(3, dtype=i32)})
    c.err("dtype", g.t(i32, [3]), g.t(i32, [3]), kw={"out": torch.zeros(3, dtype=i64)})
    c.err("dtype", g.t(f32, [3]), g.t(f32, [3]), kw={"out": torch.zeros(3, dtype=b8)})
    c.err("shape", g.t(f32, [3]), g.t(f32, [4]), kw={"out": torch.zeros(3)})
    c.err("shape", g.t(f32, [2, 3]), g.t(f32, [2]), kw={"out": torch.zeros(2, 3)})


@spec("maximum minimum", "binary", "values")
def _(c, g):
    binary(c)
    c.add(g.t(f32, [20], "nan"), g.t(f32, [20], "nan"), tags=["nan"])
    c.err("dtype", g.t(c64, [3]), g.t(c64, [3]))


@spec("eq.Tensor ne.Tensor", "binary", "bits")
def _(c, g):
    binary(c, "tie", "tie", cplx=True)


@spec("lt.Tensor le.Tensor gt.Tensor ge.Tensor", "binary", "bits")
def _(c, g):
    binary(c, "tie", "tie")
    c.err("dtype", g.t(c64, [3]), g.t(c64, [3]))
    c.err("dtype", g.t(f32, [3]), g.t(c64, [3]))


@spec("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar", "binary", "bits")
def _(c, g):
    scalar_bin(c, vals=[0, 1, 2, 0.5, 1.0, True, False, -1, 0.1, NAN, INF], kind="tie")
    for dt in F:
        c.add(torch.tensor([0.1, 0.2, 0.3, 1.0]).to(dt), g.pick([0.1, 0.2, 0.3]), tags=["scalar_cast"])
    for dt in (u8, i8):
        c.add(g.t(dt, [10], "sp"), g.pick([100, 1, 0]), tags=["int_limits"])


@spec("logical_and logical_or logical_xor", "binary", "bits")
def _(c, g):
    binary(c, "tie", "tie", cplx=True)


@spec("bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor", "binary", "bits")
def _(c, g):
    binary(c, dts=I + [b8], special=[])
    for a, b in g.some([(f32, f32), (f32, i32), (i64, f16), (b8, f32), (f64, b8)], 4):
        c.err("dtype", g.t(a, [3]), g.t(b, [3]))


@spec("bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar", "binary", "bits")
def _(c, g):
    scalar_bin(c, vals=[0, 1, 3, -1, 12, True, False, 85, -7], dts=I + [b8], special=[])
    for dt in (f32, f16, bf16):
        c.err("dtype", g.t(dt, [3]), 1)
    c.err("dtype", g.t(i32, [3]), 1.5)
    c.err("dtype", g.t(i64, [2, 2]), 0.5)


@spec("bitwise_left_shift.Tensor bitwise_right_shift.Tensor", "binary", "bits")
def _(c, g):
    def sh(shape, dt):
        return torch.from_numpy(g.r.integers(0, 12, shape)).to(dt)
    for dt in I:
        for _ in range(4):
            a, b = bshapes(g)
            c.add(g.t(dt, a, "n"), sh(b, dt), tags=["shift"])
        c.add(g.t(dt, [12], "sp"), sh([3, 1], dt), tags=["int_limits"])
        bits = torch.iinfo(dt).bits
        c.add(g.t(dt, [6], "sp"), torch.tensor([[bits], [bits - 1], [min(bits + 3, 120)]], dtype=dt), tags=["shift_ge_bits"])
        if dt != u8:
            c.add(g.t(dt, [6], "n"), torch.tensor([-1], dtype=dt), tags=["shift_negative"])
        c.add(g.t(dt, g.shape(3, 2), "n", g.pick(LAYS)), sh([1], dt), tags=["noncontiguous"])
    for a, b in ((i8, i32), (u8, i16), (i64, u8), (i32, i64)):
        c.add(g.t(a, [2, 5], "sp"), sh([5], b), tags=["promote"])
        c.add(g.t(a, [4]), sh([], b), tags=["zero_dim"])
    for a, b in g.some(EPAIRS, 2):
        c.add(g.t(i32, a), g.t(i32, b), tags=["empty"])
    c.err("dtype", g.t(b8, [3]), g.t(b8, [3]))
    for a, b in g.some(BADPAIRS, 4):
        c.err("shape", g.t(i32, a), g.t(i32, b))


@spec("bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor_Scalar", "binary", "bits")
def _(c, g):
    for dt in I:
        for _ in range(5):
            c.add(g.t(dt, None, g.pick(["n", "sp", "wide"])), g.i(0, 7), tags=["shift"])
        c.add(g.t(dt, [10], "sp"), torch.iinfo(dt).bits - 1, tags=["int_limits"])
        c.add(g.t(dt, [10], "sp"), torch.iinfo(dt).bits, tags=["shift_ge_bits"])
        c.add(g.t(dt, g.shape(3, 2), "n", g.pick(LAYS)), g.i(0, 4), tags=["noncontiguous"])
        c.add(g.t(dt, []), g.i(0, 4), tags=["zero_dim"])
    c.add(g.t(i32, g.pick(EMPTY)), 2, tags=["empty"])
    c.add(g.t(i32, g.shape(4, 2), "n", "CL"), 2, tags=["channels_last"])
    c.err("dtype", g.t(b8, [3]), True)


@spec("add.Scalar sub.Scalar rsub.Scalar", "binary", "arith")
def _(c, g):
    scalar_bin(c, extra=lambda g: g.pick([[], [], [1], [2]]), cplx=True)
    for dt in F:
        c.add(g.t(dt), g.pick(SCAL[:4]), g.pick([0.5, -2, 3.0]), tags=["alpha"])
    c.err("value", g.t(i32, [3]), 2, 0.5)
    c.err("value", g.t(f32, [3]), 2, True)
    c.err("dtype", g.t(b8, [3]), True, 2)


@spec("mul.Scalar", "binary", "arith")
def _(c, g):
    scalar_bin(c, cplx=True)


@spec("div.Scalar", "binary", "arith")
def _(c, g):
    scalar_bin(c, cplx=True)
    c.add(g.t(i32, [7]), 0, tags=["div_zero", "int_promote"])


@spec("div.Scalar_mode", "binary", "arith")
def _(c, g):
    scalar_bin(c, vals=[2, -3, 0.5, -1.25, 3.0, 7, 1], dts=F + I, kws=({"rounding_mode": "floor"}, {"rounding_mode": "trunc"}, {"rounding_mode": None}))
    for m in ("floor", "trunc"):
        c.err("value", g.t(i32, [3]), 0, kw={"rounding_mode": m}, tags=["div_zero"])
        c.add(g.t(f32, [8], "half"), 0, kw={"rounding_mode": m}, tags=["div_zero"])
    c.err("value", g.t(f32, [3]), 2.0, kw={"rounding_mode": "ceil"})


@spec("fmod.Scalar remainder.Scalar", "binary", "arith")
def _(c, g):
    scalar_bin(c, vals=[2, -3, 0.5, -1.25, 3.0, 7, 1], dts=F + I)
    for dt in (i32, i64, u8):
        c.err("value", g.t(dt, [3]), 0, tags=["div_zero"])
    c.add(g.t(f32, [8]), 0.0, tags=["div_zero"])


@spec("clamp", "activation", "values")
def _(c, g):
    for dt in F + I:
        for a in g.some([[-1, 2], [0.5], [None, 1], [0, None], [-0.5, 0.75], [2, -1], [1, 1], [-3, 3.5]], 5):
            c.add(g.t(dt), *a, tags=["min_none" if a[0] is None else "clamp"])
    for dt in F:
        c.add(g.t(dt, [33], "sp"), -1.0, 1.0, tags=["special"])
        c.add(g.t(dt, [33], "sp"), None, 0.0, tags=["special"])
    c.add(g.t(f32, [5]), NAN, 1.0, tags=["nan"])
    c.add(g.t(f32, [5]), -INF, INF, tags=["inf"])
    c.add(g.t(f32, [5]), kw={"max": 0.5}, tags=["kwarg"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), -1, 1.5, tags=["noncontiguous"])
    c.add(g.t(f32, g.pick(EMPTY)), 0, 1, tags=["empty"])
    c.add(g.t(f32, []), 0, 1, tags=["zero_dim"])
    c.add(g.t(b8, [4]), 0, 2, tags=["bool"])
    c.err("value", g.t(f32, [3]))
    c.err("value", g.t(f32, [3]), None, None)
    c.err("dtype", g.t(c64, [3]), 0, 1)


@spec("clamp.Tensor", "activation", "values")
def _(c, g):
    for dt in F + I:
        for m in range(4):
            a, b = bshapes(g)
            lo, hi = g.t(dt, b), g.t(dt, g.pick([a, b, []]))
            c.add(g.t(dt, a), *([lo, hi] if m < 2 else ([lo] if m == 2 else [None, hi])), tags=["broadcast"])
    for dt in F:
        c.add(g.t(dt, [20], "sp"), g.t(dt, [20], "nan"), g.t(dt, [20], "nan"), tags=["nan"])
    for a, b in g.some(PROMO, 6):
        c.add(g.t(a, [2, 3]), g.t(b, [3]), tags=["promote"])
    for lay in LAYS + ["CL"]:
        s = g.shape(4, 2)
        c.add(g.t(f32, s, "n", lay), g.t(f32, s), tags=["noncontiguous"])
    c.add(g.t(f32, [0, 3]), g.t(f32, [3]), tags=["empty"])
    c.err("value", g.t(f32, [3]))
    c.err("value", g.t(f32, [3]), None, None)
    for a, b in g.some(BADPAIRS, 4):
        c.err("shape", g.t(f32, a), g.t(f32, b))


@spec("where.self", "binary", "bits")
def _(c, g):
    for dt in ALL + [c64]:
        for _ in range(3):
            s = g.shape(g.i(1, 3), 2)
            cs = g.pick([s, s[1:], [1] + s[1:], []])
            os_ = g.pick([s, s[:-1] + [1], []])
            c.add(g.t(b8, cs), g.t(dt, s, "n"), g.t(dt, os_, "n"), tags=["broadcast"])
    for dt in F:
        c.add(g.t(b8, [30]), g.t(dt, [30], "sp"), g.t(dt, [1], "sp"), tags=["special"])
    for a, b in g.some(PROMO, 8):
        c.add(g.t(b8, [4]), g.t(a, [4]), g.t(b, [2, 4]), tags=["promote"])
    for a, b in g.some(ZPROMO, 4):
        c.add(g.t(b8, [4]), g.t(a, [4]), g.t(b, []), tags=["zero_dim", "promote"])
    for lay in LAYS + ["CL"]:
        s = g.shape(4, 2)
        c.add(g.t(b8, s, lay=g.pick([lay, None])), g.t(f32, s, "n", lay), g.t(f32, s, "n", g.pick([lay, None])), tags=["noncontiguous"])
    c.add(g.t(u8, [4], "tie"), g.t(f32, [4]), g.t(f32, [4]), tags=["uint8_condition"])
    c.add(g.t(b8, [0, 3]), g.t(f32, [3]), g.t(f32, [1, 3]), tags=["empty"])
    for a, b in g.some(BADPAIRS, 4):
        c.err("shape", g.t(b8, a), g.t(f32, b), g.t(f32, b))
    c.err("dtype", g.t(f32, [3]), g.t(f32, [3]), g.t(f32, [3]))
    c.err("dtype", g.t(i32, [3]), g.t(f32, [3]), g.t(f32, [3]))


@spec("masked_fill.Scalar", "binary", "bits")
def _(c, g):
    for dt in ALL:
        for v in g.some([0, 1, 2.0, -1, True], 3):
            if isinstance(v, float) and not dt.is_floating_point:
                continue
            s = g.shape(g.i(1, 4), 2)
            c.add(g.t(dt, s), g.t(b8, g.pick([s, s[1:], s[:-1] + [1], []])), v, tags=["broadcast"])
    for dt in F:
        for v in (-INF, NAN, 1e-3):
            c.add(g.t(dt, [2, 5]), g.t(b8, [5]), v, tags=["special"])
    for lay in LAYS + ["CL"]:
        s = g.shape(4, 2)
        c.add(g.t(f32, s, "n", lay), g.t(b8, s), 0.5, tags=["noncontiguous"])
    c.add(g.t(f32, [3]), g.t(b8, [2, 3]), 1.5, tags=["broadcast_self"])
    c.add(g.t(f32, [0, 3]), g.t(b8, [3]), 1.0, tags=["empty"])
    c.add(g.t(f32, []), torch.tensor(True), 1.0, tags=["zero_dim"])
    for a, b in g.some(BADPAIRS, 3):
        c.err("shape", g.t(f32, a), g.t(b8, b), 1.0)
    for dt in (f32, i32):
        c.err("dtype", g.t(f32, [3]), g.t(dt, [3]), 1.0)
    c.err("dtype", g.t(i32, [3]), torch.tensor([True, False, True]), 1.5)


@spec("fill.Scalar", "creation", "bits")
def _(c, g):
    for dt in ALL:
        for v in g.some([0, 1, 2, True, 3.0, -1, 0.5], 4):
            if dt == u8 and v == -1:
                continue
            c.add(g.t(dt), v, tags=["scalar_" + type(v).__name__])
    for dt in F:
        c.add(g.t(dt, [3]), g.pick([NAN, INF, -INF, 0.1, 1e-7]), tags=["special"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), 2.5, tags=["noncontiguous"])
    c.add(g.t(f32, g.pick(EMPTY)), 1, tags=["empty"])
    c.add(g.t(c64, [2]), complex(1, -2), tags=["complex"])
    c.err("value", g.t(i32, [3]), complex(1, 2))
    c.err("value", g.t(i8, [3]), 1e10)
    c.err("value", g.t(u8, [3]), 300)
    c.err("value", g.t(i8, [3]), 128)


@spec("fill.Tensor", "creation", "bits")
def _(c, g):
    for dt in ALL:
        for _ in range(3):
            dv = g.pick([dt, dt, f32, i64, b8])
            v = g.t(dv, [], "tie")
            c.add(g.t(dt), v, tags=["cast" if dv != dt else "same"])
    for dt in F:
        c.add(g.t(dt, [3]), torch.tensor(g.pick([NAN, INF, 0.1, -0.0]), dtype=g.pick([dt, f32])), tags=["special"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), torch.tensor(2.5), tags=["noncontiguous"])
    c.add(g.t(f32, g.pick(EMPTY)), torch.tensor(1), tags=["empty"])
    for s in ([1], [2], [0], [1, 1]):
        c.err("shape", g.t(f32, [3]), g.t(f32, s))
