"""Cases of quantized_decomposed."""
import math

import numpy as np
import torch

from cases import EMPTY, LAYS, spec
from encoding import INF, NAN, SHORT, bf16, f16, f32, f64, i16, i32, i64, i8, u8
from families.movement import cast_pairs, cast_src

QT = [(i8, -128, 127), (u8, 0, 255), (i16, -32768, 32767), (i32, -2**31, 2**31 - 1), (i8, -127, 127), (i8, -8, 7), (u8, 0, 15), (u8, 0, 127)]


def qp(g):
    dt, lo, hi = g.pick(QT[:4] + QT[:2] + QT)
    sc = float(np.float32(10 ** g.r.uniform(-2.3, 0.3)))
    zp = 0 if dt in (i16, i32) or g.flip(.3) else g.i(lo, hi)
    return sc, zp, lo, hi, dt


def qin(g, dt, lo, hi, shape=None, lay=None):
    shape = g.shape() if shape is None else shape
    a, b = max(lo, -30000), min(hi, 30000)
    n = math.prod(shape)
    x = torch.tensor([g.i(a, b) for _ in range(n)], dtype=i64).to(dt).view(shape)
    if lay == "T" and len(shape) > 1:
        x = x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if lay == "CL" and len(shape) == 4:
        x = x.contiguous(memory_format=torch.channels_last)
    return x


def qargs(kind, sc, zp, lo, hi):
    if kind == "default":
        return [sc, zp, lo, hi]
    a = [torch.tensor(sc, dtype=f64 if kind == "f64" else f32), torch.tensor(zp)]
    return a + ([lo, hi] if kind != "tensor2" else [torch.tensor(lo), torch.tensor(hi)])


@spec("quantized_decomposed.quantize_per_tensor quantized_decomposed.quantize_per_tensor.tensor quantized_decomposed.quantize_per_tensor.tensor2", "quantized")
def _(c, g):
    kind = c.name.split(".")[2]

    def put(x, *t, q=None):
        sc, zp, lo, hi, dt = q or qp(g)
        c.add(x, *qargs(kind, sc, zp, lo, hi), dt, tags=list(t) + [SHORT[dt]])
    for dt in (f32, f32, f32, f16, bf16):
        for _ in range(7):
            put(g.t(dt, None, g.pick(["n", "n", "big"])), "quant")
    for r in range(6):
        put(g.t(f32, g.shape(r)), f"rank{r}")
    put((torch.arange(-24, 25) * 0.5), "ties", q=(1.0, 3, -128, 127, i8))
    put((torch.arange(-24, 25) * 0.25), "ties", q=(0.5, 128, 0, 255, u8))
    put(torch.tensor([INF, -INF, 1e30, -1e30, 0.0, -0.0, 1e-40]), "inf", q=(0.1, -3, -128, 127, i8))
    for lay in LAYS + ["CL"]:
        put(g.t(f32, g.shape(4, 2), "n", lay), "noncontiguous")
    put(g.t(f32, g.pick(EMPTY)), "empty")
    x = g.t(f32, [3])
    c.err("dtype", g.t(i32, [3]), *qargs(kind, 0.1, 0, -128, 127), i8)
    c.err("dtype", g.t(f64, [3]), *qargs(kind, 0.1, 0, -128, 127), i8)
    c.err("value", x, *qargs(kind, 0.1, 0, -129, 127), i8)
    c.err("value", x, *qargs(kind, 0.1, 0, 0, 256), u8)
    c.err("dtype", x, *qargs(kind, 0.1, 0, 0, 255), f32)
    if kind != "default":
        c.err("shape", x, torch.tensor([0.1, 0.2]), *qargs(kind, 0.1, 0, 0, 255)[1:], u8)


@spec("quantized_decomposed.dequantize_per_tensor quantized_decomposed.dequantize_per_tensor.tensor quantized_decomposed.dequantize_per_tensor.tensor2", "quantized", "trans")
def _(c, g):
    kind = c.name.split(".")[2]

    def put(shape=None, lay=None, *t, kw=None):
        sc, zp, lo, hi, dt = qp(g)
        halves = [{"out_dtype": f16}, {"out_dtype": bf16}] if dt in (i8, u8) else []
        kw = g.pick([{}, {}, {"out_dtype": f32}, {"out_dtype": f64}] + halves) if kw is None else kw
        c.add(qin(g, dt, lo, hi, shape, lay), *qargs(kind, sc, zp, lo, hi), dt, kw=kw, tags=list(t) + [SHORT[dt]], ref=False)
    for _ in range(40):
        put(None, None, "dequant")
    for r in range(6):
        put(g.shape(r), None, f"rank{r}", kw={})
    for lay in ("T", "CL", "CL", "T"):
        put(g.shape(4, 2), lay, "noncontiguous")
    put([0, 3], None, "empty")
    put([], None, "zero_dim")
    c.err("dtype", g.t(i32, [3]), *qargs(kind, 0.1, 0, -128, 127), i8)
    c.err("dtype", g.t(u8, [3]), *qargs(kind, 0.1, 0, -128, 127), i8)
    c.err("dtype", g.t(f32, [3]), *qargs(kind, 0.1, 0, -128, 127), f32)
    if kind != "default":
        c.err("shape", g.t(i8, [3]), torch.tensor([0.1, 0.2]), *qargs(kind, 0.1, 0, -128, 127)[1:], i8)


def ch_params(g, n, lo, hi, dt, zdt=i64, sdt=f32):
    sc = torch.tensor(10 ** g.r.uniform(-2.3, 0.3, n)).to(sdt)
    zp = torch.tensor([0 if dt in (i16, i32) else g.i(lo, hi) for _ in range(n)]).to(zdt)
    return sc, zp


@spec("quantized_decomposed.quantize_per_channel quantized_decomposed.dequantize_per_channel quantized_decomposed.fake_quant_per_channel", "quantized", "trans")
def _(c, g):
    deq, fake = "dequantize" in c.name, "fake" in c.name

    def put(shape, lay=None, *t, xdt=f32):
        _, _, lo, hi, dt = qp(g)
        ax = g.i(0, len(shape) - 1)
        sc, zp = ch_params(g, shape[ax], lo, hi, dt, g.pick([i64, i32]))
        if deq:
            if g.flip(.2):
                zp = None
            if zp is not None and g.flip(.2):
                zp = zp.to(f32)
            kw = g.pick([{}, {}, {"out_dtype": f32}] + ([{"out_dtype": f16}] if dt in (i8, u8) else []))
            c.add(qin(g, dt, lo, hi, shape, lay), sc, zp, ax, lo, hi, dt, kw=kw, tags=list(t) + [SHORT[dt], "no_zero_point" if zp is None else "zero_point"], ref=False)
        elif fake:
            c.add(g.t(f32, shape, "n", lay), sc, zp, ax, max(lo, -30000), min(hi, 30000), tags=list(t), ref=False)
        else:
            c.add(g.t(xdt, shape, g.pick(["n", "big"]), lay), sc, zp, ax, lo, hi, dt, tags=list(t) + [SHORT[dt]])
    for xdt in (f32, f32, f16, bf16):
        for _ in range(9):
            put(g.shape(g.i(1, 4), 1), None, "per_channel", xdt=xdt)
    for lay in ("T", "CL", "CL", "T"):
        put(g.shape(4, 2), lay, "noncontiguous")
    put([0, 3], None, "empty")
    put(g.shape(5, 2), None, "rank5")
    sc, zp = ch_params(g, 3, -128, 127, i8)
    x = qin(g, i8, -128, 127, [3, 2]) if deq else g.t(f32, [3, 2])
    tail = [] if fake else [i8]
    c.err("index", x, sc, zp, 2, -128, 127, *tail)
    c.err("shape", x, sc, zp, 1, -128, 127, *tail)
    c.err("dtype", g.t(f64, [3, 2]), sc, zp, 0, -128, 127, *tail)
    if not fake:
        c.err("value", x, sc, zp, 0, -129, 127, i8)
        c.err("value", x, sc, zp, 0, -128, 128, i8)
        c.err("dtype", g.t(i32, [3, 2]), sc, zp, 0, -128, 127, i8)


@spec("quantized_decomposed.quantize_per_channel_group quantized_decomposed.dequantize_per_channel_group", "quantized", "trans")
def _(c, g):
    deq = "dequantize" in c.name
    for _ in range(45):
        dt, lo, hi = g.pick([QT[0], QT[5], QT[6], QT[1]])
        m, gs, n = g.i(1, 5), g.pick([2, 3, 4, 8]), g.i(1, 4)
        sdt = g.pick([f32, f32, f32, f16, bf16])
        sc = torch.tensor(10 ** g.r.uniform(-2, 0, (m, n))).to(sdt)
        zdt = g.pick([i32, sdt, i64])
        zp = torch.tensor([[g.i(lo, hi) for _ in range(n)] for _ in range(m)]).to(zdt)
        if deq:
            z = None if g.flip(.2) else zp
            c.add(qin(g, dt, lo, hi, [m, gs * n]), sc, z, lo, hi, dt, gs, g.pick([f32, f32, f16, bf16]), tags=["group", "no_zero_point" if z is None else "zero_point"], ref=False)
        else:
            c.add(g.t(g.pick([f32, f32, f16, bf16]), [m, gs * n], "n", g.pick([None, None, "T"])), sc, zp, lo, hi, dt, gs, tags=["group"], ref=False)
    sc, zp = torch.ones(3, 2), torch.zeros(3, 2, dtype=i32)
    x = qin(g, i8, -8, 7, [3, 4]) if deq else g.t(f32, [3, 4])
    tail = [f32] if deq else []
    c.add(x, torch.ones(3, 1), torch.zeros(3, 1, dtype=i32), -8, 7, i8, 128, *tail, tags=["group_larger_than_row"], ref=False)
    c.err("value", x, sc, zp, -8, 7, i8, 1, *tail)
    c.err("shape", x, sc, zp, -8, 7, i8, 3, *tail)
    c.err("value", x, sc, zp, -8, 7, i8, 0, *tail)
    y = qin(g, i8, -8, 7, [1, 3, 4]) if deq else g.t(f32, [1, 3, 4])
    c.err("shape", y, sc, zp, -8, 7, i8, 2, *tail)
    if not deq:
        c.err("value", torch.full([3, 4], NAN), sc, zp, -8, 7, i8, 2)


@spec("quantized_decomposed.quantize_per_token quantized_decomposed.dequantize_per_token", "quantized", "trans")
def _(c, g):
    deq = "dequantize" in c.name
    for _ in range(44):
        r = g.i(1, 4)
        s = g.shape(r, 1)
        dt, lo, hi = g.pick([QT[0], QT[0], QT[1], QT[2]])
        ts = s[:-1] + [1]
        n = math.prod(s[:-1])
        sdt, zdt = g.pick([(f32, i32), (f64, i64), (f32, i64)])
        sc = torch.tensor(10 ** g.r.uniform(-2, 0, n)).to(sdt).view(ts)
        zp = torch.tensor([g.i(max(lo, -100), min(hi, 100)) for _ in range(n)], dtype=zdt).view(ts)
        lay = g.pick([None, None, None, "T", "CL"])
        if deq:
            c.add(qin(g, dt, lo, hi, s, lay), sc, zp, lo, hi, dt, g.pick([f32, f32] + ([f16, bf16] if dt in (i8, u8) else []) + ([f64] if sdt == f64 else [])), tags=["token"], ref=False)
        else:
            c.add(g.t(g.pick([f32, f32, f16, bf16]), s, "n", lay), sc, zp, lo, hi, dt, tags=["token"], ref=False)
    c.add(*([g.t(i8, [0, 3]), torch.ones(0, 1), torch.zeros(0, 1, dtype=i32), -128, 127, i8, f32] if deq else
            [g.t(f32, [0, 3]), torch.ones(0, 1), torch.zeros(0, 1, dtype=i32), -128, 127, i8]), tags=["empty"], ref=False)
    if not deq:
        x = g.t(f32, [3, 4])
        c.add((torch.arange(-12, 12) * 0.5).view(2, 12), torch.ones(2, 1), torch.zeros(2, 1, dtype=i32), -128, 127, i8, tags=["ties"], ref=False)
        one, z = torch.ones(3, 1), torch.zeros(3, 1, dtype=i32)
        c.err("value", x, one, z, -129, 127, i8)
        c.err("value", x, one, z, 0, 256, u8)
        c.err("shape", x, torch.ones(2, 1), z, -128, 127, i8)
        c.err("shape", x, one, torch.zeros(4, 1, dtype=i32), -128, 127, i8)
        c.err("dtype", x, one, z, 0, 1, f32)
    else:
        c.err("shape", g.t(i8, [3, 4]), torch.ones(2, 1), torch.zeros(3, 1, dtype=i32), -128, 127, i8, f32)
        c.err("shape", g.t(i8, [3, 4]), torch.ones(3, 1), torch.zeros(2, 1, dtype=i32), -128, 127, i8, f32)


@spec("quantized_decomposed.choose_qparams.tensor quantized_decomposed.choose_qparams_symmetric.tensor", "quantized", "arith")
def _(c, g):
    for dt in (f32,):
        for _ in range(40):
            q, lo, hi = g.pick([QT[0], QT[1], QT[2], QT[4], QT[7]])
            x = g.t(dt, None, g.pick(["n", "pos", "big", "unit"]))
            c.add(x if g.flip(.8) else -x.abs(), lo, hi, g.pick([1e-5, 1e-7, 1.1920928955078125e-07, 0.01]), q, tags=["qparams"], tol=(2e-6, 0.0))
    c.add(torch.zeros(3), -128, 127, 1e-5, i8, tags=["zeros"], tol=(2e-6, 0.0))
    c.add(g.t(f32, [1]), 0, 255, 1e-5, u8, tags=["single"], tol=(2e-6, 0.0))
    for lay in LAYS:
        c.add(g.t(f32, [3, 4], "n", lay), -128, 127, 1e-5, i8, tags=["noncontiguous"], tol=(2e-6, 0.0))
    c.err("dtype", g.t(i32, [3]), -128, 127, 1e-5, i8)
    c.err("dtype", g.t(f64, [3]), -128, 127, 1e-5, i8)
    c.err("dtype", g.t(f32, [3]), -128, 127, 1e-5, f32)
    c.err("value", g.t(f32, [3]), 127, -128, 1e-5, i8)
    c.err("shape", g.t(f32, [0]), -128, 127, 1e-5, i8)


@spec("quantized_decomposed.choose_qparams_per_token quantized_decomposed.choose_qparams_per_token_asymmetric quantized_decomposed._choose_qparams_per_token_asymmetric_impl", "quantized", "arith")
def _(c, g):
    for dt in (f32, f32, f32, f32, f32) if "asym" in c.name else (f32, f32, f32, f16, bf16):
        for _ in range(8):
            c.add(g.t(dt, g.shape(g.i(1, 4), 2), g.pick(["n", "pos", "big", "unit"])), i8, tags=["per_token"], tol=(2e-6 if dt != bf16 else 1.6e-2, 0.0))
    c.add(torch.zeros(2, 3), i8, tags=["zeros"], tol=(2e-6, 0.0))
    c.add(-g.t(f32, [3, 4], "pos"), i8, tags=["negative"], tol=(2e-6, 0.0))
    c.add(g.t(f32, [3, 1]), i8, tags=["single"], tol=(2e-6, 0.0))
    c.add(g.t(f32, [0, 3]), i8, tags=["empty"], tol=(2e-6, 0.0))
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), i8, tags=["noncontiguous"], tol=(2e-6, 0.0))
    if c.name.endswith("per_token.default"):
        for dt in (u8, i16, i32):
            c.err("dtype", g.t(f32, [2, 3]), dt)
    c.err("shape", g.t(f32, [2, 0]), i8)


@spec("quantized_decomposed.convert_element_type.no_fuse", "quantized")
def _(c, g):
    for a, b in g.some(cast_pairs(g), 45):
        c.add(cast_src(g, a, b), b, tags=["cast"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), f16, tags=["noncontiguous"])
    c.add(g.t(f32, [0, 3]), f16, tags=["empty"])
    c.add(g.t(f32, [2, 2]), f32, tags=["same"])


@spec("quantized_decomposed.embedding_byte quantized_decomposed.embedding_byte.dtype quantized_decomposed.embedding_4bit quantized_decomposed.embedding_4bit.dtype "
      "quantized_decomposed.embedding_2bit quantized_decomposed.embedding_2bit.dtype", "quantized", "trans")
def _(c, g):
    _, op, ov = c.name.split(".")
    per, lo, hi = {"embedding_byte": (1, -128, 127), "embedding_4bit": (2, -8, 7), "embedding_2bit": (4, -2, 1)}[op]

    def mk(v, d, sdt, groups, two_d, withz, u=False):
        w = qin(g, u8, 0, 255, [v, d // per]) if per > 1 or u else qin(g, i8, -128, 127, [v, d])
        sc = torch.tensor(10 ** g.r.uniform(-2, 0, (v, groups))).to(sdt)
        zp = torch.tensor([[g.i(lo, hi) for _ in range(groups)] for _ in range(v)]).to(sdt)
        if not two_d:
            sc, zp = sc[:, 0].contiguous(), zp[:, 0].contiguous()
        return w, sc, (zp if withz else None)
    for _ in range(42):
        v, sdt = g.i(2, 8), g.pick([f32, f32, f16, bf16])
        groups = g.i(1, 3)
        d = 4 * g.i(1, 3) * groups
        two = g.flip(.7) or groups > 1
        u = per == 1 and g.flip(.3)
        w, sc, zp = mk(v, d, sdt, groups, two, g.flip(.6), u)
        kw = {} if ov == "default" else g.pick([{"dtype": f32}, {"dtype": f16}, {"dtype": bf16}])
        c.add(w, sc, zp, 0 if u else lo, 255 if u else hi, g.idx(g.shape(g.i(1, 2)), v), kw=kw, tags=["groupwise" if groups > 1 else "per_row", "no_zero_point" if zp is None else "zero_point"], ref=False)
    w, sc, zp = mk(5, 8, f32, 1, False, True)
    kw = {} if ov == "default" else {"dtype": f32}
    c.add(w, sc, zp, lo, hi, torch.zeros(0, dtype=i64), kw=kw, tags=["empty"], ref=False)
    ix = torch.tensor([0, 2])
    c.err("index", w, sc, zp, lo, hi, torch.tensor([5]), kw=kw)
    c.err("shape", w, sc[:4], zp, lo, hi, ix, kw=kw)
    c.err("dtype", w.to(i32), sc, zp, lo, hi, ix, kw=kw)
    c.err("dtype", w, sc.to(f64), None, lo, hi, ix, kw=kw)
    c.err("dtype", w, sc, zp.to(f16), lo, hi, ix, kw=kw)
    if per > 1:
        c.err("value", w, sc, zp, lo - 1, hi, ix, kw=kw)


# The next three have no functional CPU kernel; their out variants come with the
# ahead-of-time library of ExecuTorch's quantized kernels (uint8 only for add).
@spec("quantized_decomposed.add.out", "quantized")
def _(c, g):
    for _ in range(45):
        dt, lo, hi = g.pick([QT[1], QT[1], QT[7]])
        sc = [float(np.float32(10 ** g.r.uniform(-2, 0))) for _ in range(3)]
        zp = [g.i(lo, hi) for _ in range(3)]
        s = g.shape()
        c.add(qin(g, dt, lo, hi, s), sc[0], zp[0], lo, hi, qin(g, dt, lo, hi, s), sc[1], zp[1], lo, hi, sc[2], zp[2], lo, hi,
              kw={"out": torch.zeros(s, dtype=dt)}, tags=["qadd"], ref=False)


@spec("quantized_decomposed.mixed_mm.out quantized_decomposed.mixed_linear.out", "quantized", "acc")
def _(c, g):
    lin = "linear" in c.name
    for _ in range(45):
        m, k, n = g.i(1, 5), g.i(1, 9), g.i(1, 5)
        dt = g.pick([f32, f32, f16])
        w = qin(g, i8, -128, 127, [n, k] if lin else [k, n])
        sc = torch.tensor(g.r.uniform(0.005, 0.1, n if lin else k)).to(dt)
        c.add(g.t(dt, [m, k]), w, sc, None, kw={"out": torch.zeros(m, n, dtype=dt)}, tags=["mixed"], ref=False)
