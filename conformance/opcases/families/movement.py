"""Cases of copies, casts and permutations."""

import torch

from encoding import ALL, F, I, INF, NAN, b8, c128, c64, f16, f32, f64, i32, i64, u16, u8
from cases import EMPTY, LAYS, spec
from families.binary import PROMO


def mover(c, put, dts=ALL + [u16], n=3):
    """put(x) adds one case for a tensor of its own choosing of dims."""
    g = c.g
    for dt in dts:
        for _ in range(n):
            put(g.t(dt, g.shape(g.i(1, 4), 2), "n"))
    for dt in F:
        put(g.t(dt, g.shape(2, 4), "sp"), "special")
    for lay in LAYS + ["CL", "T", "P"]:
        put(g.t(g.pick([f32, i64]), g.shape(4, 2), "n", lay), "noncontiguous" if lay != "CL" else "channels_last")
    put(g.t(f32, g.shape(5, 2), "n"), "rank5")
    put(g.t(f32, g.shape(5, 2), "n", "CL"), "channels_last_3d")
    put(g.t(c64, g.shape(3, 2)), "complex")


@spec("alias alias_copy detach_copy lift_fresh_copy _neg_view_copy", "data_movement")
def _(c, g):
    mover(c, lambda x, *t: c.add(x, tags=t), dts=ALL + [u16] if "neg" not in c.name else [d for d in ALL if d != b8])
    c.add(g.t(f32, []), tags=["zero_dim"])
    for s in EMPTY[:3]:
        c.add(g.t(f32, s), tags=["empty"])


@spec("_conj_copy", "data_movement")
def _(c, g):
    for dt in (c64, c128):
        for r in range(6):
            c.add(g.t(dt, g.shape(r)), tags=[f"rank{r}"])
        for lay in LAYS + ["CL"]:
            c.add(g.t(dt, g.shape(4, 2), "n", lay), tags=["noncontiguous"])
        for sh in EMPTY[:3]:
            c.add(g.t(dt, sh), tags=["empty"])


@spec("view_as_real_copy", "data_movement")
def _(c, g):
    for dt in (c64, c128):
        for r in range(5):
            c.add(g.t(dt, g.shape(r)), tags=[f"rank{r}"])
        for lay in LAYS:
            c.add(g.t(dt, g.shape(3, 2), "n", lay), tags=["noncontiguous"])
        c.add(g.t(dt, [0, 3]), tags=["empty"])
    for dt in (f32, i32, b8):
        c.err("dtype", g.t(dt, [2, 2]))


@spec("view_as_complex_copy", "data_movement")
def _(c, g):
    for dt in (f32, f64):
        for r in range(5):
            c.add(g.t(dt, g.shape(r) + [2]), tags=[f"rank{r + 1}"])
        c.add(g.t(dt, [0, 3, 2]), tags=["empty"])
    c.err("shape", g.t(f32, [2, 3]))
    c.err("shape", g.t(f32, []))
    c.err("dtype", g.t(i32, [2, 2]))
    c.err("value", g.t(f32, [3, 2], lay="T"))


@spec("clone", "data_movement")
def _(c, g):
    mover(c, lambda x, *t: c.add(x, tags=t), n=2)
    for m in (torch.contiguous_format, torch.channels_last, torch.preserve_format):
        for lay in (None, "CL", "P", "E"):
            c.add(g.t(g.pick(F), g.shape(4, 2), "n", lay), kw={"memory_format": m}, tags=["memory_format"])
    c.add(g.t(f32, g.shape(5, 2)), kw={"memory_format": torch.channels_last_3d}, tags=["memory_format"])
    c.add(g.t(f32, []), tags=["zero_dim"])
    c.add(g.t(f32, g.pick(EMPTY)), tags=["empty"])
    c.err("shape", g.t(f32, [2, 3]), kw={"memory_format": torch.channels_last})
    c.err("shape", g.t(f32, [2, 3, 2, 2]), kw={"memory_format": torch.channels_last_3d})


CASTV = {f32: [1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11, 65519.0, 65520.0, 1e-7, 3e-8, 2.9e-8, 0.1, -2.5, 1e5, -0.0, NAN, INF, -INF],
         f64: [0.1, 1 / 3, 1e-300, 1e300, 16777217.0, -2.5, NAN, INF, 1 + 2**-24, 65520.0, -0.0]}


def cast_pairs(g):
    return [(a, b) for a in ALL for b in ALL if a != b]


def cast_src(g, a, b, shape=None):
    if a.is_floating_point and not b.is_floating_point and b != b8:
        x = g.t(a, shape, "pos" if b == u8 else "n")
        return x * 5
    return g.t(a, shape, "wide" if a in I and not b.is_floating_point and g.flip(.4) else "n")


@spec("_to_copy", "data_movement")
def _(c, g):
    for a, b in cast_pairs(g):
        c.add(cast_src(g, a, b), kw={"dtype": b}, tags=["cast"])
    for a in CASTV:
        for b in F + [b8]:
            if a != b:
                c.add(torch.tensor(CASTV[a], dtype=a), kw={"dtype": b}, tags=["special", "rounding"])
    for a, b in ((u16, f32), (f32, u16), (u16, i32), (i32, u16), (c64, c128), (f32, c64)):
        c.add(g.t(a, None, "pos"), kw={"dtype": b}, tags=["cast"])
    for lay in LAYS + ["CL"]:
        x = g.t(f32, g.shape(4, 2), "n", lay)
        c.add(x, tags=["noncontiguous"])
        c.add(x, kw={"dtype": f16}, tags=["noncontiguous"])
        c.add(x, kw={"memory_format": g.pick([torch.contiguous_format, torch.channels_last])}, tags=["memory_format"])
    c.add(g.t(f32, []), kw={"dtype": f64}, tags=["zero_dim"])
    c.add(g.t(f32, g.pick(EMPTY)), kw={"dtype": i64}, tags=["empty"])
    c.add(g.t(f32, [2, 3]), kw={"dtype": f16, "layout": torch.strided, "device": torch.device("cpu"), "non_blocking": False}, tags=["options"])
    c.err("shape", g.t(f32, [2, 3]), kw={"memory_format": torch.channels_last})
    c.err("shape", g.t(f32, [2, 3, 4, 5]), kw={"memory_format": torch.channels_last_3d})


@spec("copy copy_", "data_movement")
def _(c, g):
    for a, b in g.some(cast_pairs(g), 40):
        s = g.shape(g.i(1, 3), 2)
        c.add(g.t(b, s), cast_src(g, a, b, g.pick([s, s[1:], [1] * len(s), []])), tags=["cast", "broadcast"])
    for dt in ALL:
        s = g.shape(g.i(0, 4))
        c.add(g.t(dt, s), g.t(dt, s))
    for lay in LAYS[:3] + ["P", "CL"]:
        s = g.shape(4, 2)
        c.add(g.t(f32, s, "n", lay), g.t(f32, s), tags=["noncontiguous"])
        c.add(g.t(f32, s), g.t(f32, s, "n", lay), tags=["noncontiguous"])
    c.add(g.t(f32, [2, 3]), g.t(f32, [3]), True, tags=["non_blocking"])
    c.add(g.t(f32, [0, 3]), g.t(f32, [3]), tags=["empty"])
    for a, b in (([3], [2, 3]), ([2, 3], [2]), ([4], [3]), ([2], [0]), ([1, 3], [2, 3])):
        c.err("shape", g.t(f32, a), g.t(f32, b))


@spec("cat", "data_movement")
def _(c, g):
    for dt in ALL + [u16, c64]:
        for _ in range(2):
            r = g.i(1, 4)
            s = g.shape(r, 2)
            d = g.i(0, r - 1)
            ts = []
            for _ in range(g.i(1, 4)):
                q = list(s)
                q[d] = g.i(0 if g.flip(.2) else 1, 4)
                ts.append(g.t(dt, q))
            c.add(ts, *([g.neg(d, r)] if d or g.flip() else []), tags=[f"rank{r}"])
    for _ in range(7):
        a, b = g.pick(PROMO)
        c.add([g.t(a, [2, 3]), g.t(b, [1, 3]), g.t(a, [2, 3])], 0, tags=["promote"])
    for lay in LAYS + ["CL", "CL"]:
        s = g.shape(4, 2)
        c.add([g.t(f32, s, "n", lay), g.t(f32, s, "n", g.pick([lay, None]))], g.i(-4, 3), tags=["noncontiguous"])
    c.add([g.t(f32, [0]), g.t(f32, [2, 3]), g.t(f32, [1, 3])], 0, tags=["legacy_empty"])
    c.add([g.t(f32, [2, 3]), g.t(f32, [0])], 1, tags=["legacy_empty"])
    c.add([g.t(f32, [0, 3]), g.t(f32, [0, 3])], 0, tags=["empty"])
    c.add([g.t(f32, [0, 3]), g.t(f32, [2, 3])], 0, tags=["empty"])
    c.add([g.t(f32, [2, 4])] * 5, 1, tags=["repeat_input"])
    c.add([g.t(f32, g.shape(5, 2))] * 2, 3, tags=["rank5"])
    c.add([g.t(f32, [3, 5], "sp"), g.t(f32, [3, 2], "sp")], 1, tags=["special"])
    c.err("value", [])
    c.err("shape", [g.t(f32, []), g.t(f32, [])])
    c.err("shape", [g.t(f32, [2, 3]), g.t(f32, [2, 4])], 0)
    c.err("shape", [g.t(f32, [2, 3]), g.t(f32, [3])], 0)
    c.err("index", [g.t(f32, [2, 3])] * 2, 2)
    c.err("index", [g.t(f32, [2, 3])] * 2, -3)


@spec("stack", "data_movement")
def _(c, g):
    for dt in ALL + [u16, c64]:
        for _ in range(2):
            r = g.i(0, 4)
            s = g.shape(r)
            c.add([g.t(dt, s) for _ in range(g.i(1, 4))], *([g.i(-r - 1, r)] if g.flip(.8) else []), tags=[f"rank{r}"])
    for lay in LAYS + ["CL"]:
        s = g.shape(4, 2)
        c.add([g.t(f32, s, "n", lay), g.t(f32, s)], g.i(-5, 4), tags=["noncontiguous"])
    for _ in range(5):
        a, b = g.pick(PROMO)
        c.add([g.t(a, [2, 3]), g.t(b, [2, 3])], g.i(0, 2), tags=["promote"])
    c.add([g.t(f32, [0, 3])] * 2, 1, tags=["empty"])
    c.err("value", [])
    c.err("shape", [g.t(f32, [2, 3]), g.t(f32, [3, 2])], 0)
    c.err("shape", [g.t(f32, [2, 3]), g.t(f32, [3])], 0)
    c.err("index", [g.t(f32, [2, 3])] * 2, 3)
    c.err("index", [g.t(f32, [2, 3])] * 2, -4)


@spec("permute permute_copy", "data_movement")
def _(c, g):
    def put(x, *t):
        p = g.perm(x.dim())
        c.add(x, [g.neg(q, x.dim()) for q in p], tags=t)
    mover(c, put)
    c.add(g.t(f32, []), [], tags=["zero_dim"])
    for s in EMPTY[1:4]:
        put(g.t(f32, s), "empty")
    x = g.t(f32, [2, 3, 4])
    c.err("shape", x, [0, 1])
    c.err("value", x, [0, 1, 1])
    c.err("index", x, [0, 1, 3])
    c.err("value", x, [0, -3, 1])
    c.err("shape", x, [0, 1, 2, 3])


@spec("transpose_copy.int", "data_movement")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        c.add(x, g.i(-r, r - 1), g.i(-r, r - 1), tags=t)
    mover(c, put)
    c.add(g.t(f32, []), 0, -1, tags=["zero_dim"])
    put(g.t(f32, [0, 3]), "empty")
    x = g.t(f32, [2, 3])
    for a, b in ((0, 2), (-3, 0), (5, 1)):
        c.err("index", x, a, b)
    c.err("index", g.t(f32, []), 0, 1)


@spec("t_copy", "data_movement")
def _(c, g):
    for dt in ALL + [u16, c64]:
        for r in (0, 1, 2, 2):
            c.add(g.t(dt, g.shape(r)), tags=[f"rank{r}"])
    for lay in LAYS:
        c.add(g.t(f32, [3, 4], "n", lay), tags=["noncontiguous"])
    c.add(g.t(f32, [0, 3]), tags=["empty"])
    for r in (3, 4, 5):
        c.err("shape", g.t(f32, g.shape(r)))
