"""Cases of operators of one tensor, element by element."""

import torch

from cases import EMPTY, LAYS, spec
from encoding import F, I, INF, b8, c64, f32, f64, i16, i32, i64, i8


def unary(c, kinds, dts=F, ints=True, bools=True, cplx=False, more=(), kw=lambda g: {}, extra=lambda g: []):
    g = c.g

    def put(x, *tags):
        c.add(x, *extra(g), kw=kw(g), tags=tags)
    for dt in dts:
        for k in kinds:
            put(g.t(dt, None, k), k)
        put(g.t(dt, [g.i(30, 40)], "sp"), "special")
    for r in range(6):
        put(g.t(g.pick(dts), g.shape(r), kinds[0]), f"rank{r}")
    for lay in LAYS:
        put(g.t(g.pick(dts[:2]), g.shape(g.i(2, 4), 2), kinds[0], lay), "noncontiguous" if lay != "O" else "offset")
        put(g.t(dts[0], g.shape(g.i(2, 4), 2), g.pick(kinds), lay))
    put(g.t(dts[0], g.shape(4, 2), kinds[0], "CL"), "channels_last")
    put(g.t(g.pick(dts), g.shape(4, 2), kinds[0], "CL"), "channels_last")
    put(g.t(dts[0], g.shape(5, 2), kinds[0], "CL"), "channels_last_3d")
    for s in g.some(EMPTY, 3):
        put(g.t(g.pick(dts), s), "empty")
    for n in g.some([3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 129], 5):
        put(g.t(g.pick(dts), [n], g.pick(kinds)), "tail")
    put(g.t(dts[0], [g.i(260, 500)], kinds[0]), "long")
    if ints:
        for dt in I:
            put(g.t(dt, None, "n"), "int_promote")
        for dt in I:
            put(g.t(dt, [g.i(10, 20)], "sp"), "int_limits")
    if bools:
        put(g.t(b8), "bool")
        put(g.t(b8, g.shape(3, 2), lay="T"), "bool")
    if cplx:
        for _ in range(2):
            put(g.t(c64, g.shape(g.i(1, 3))), "complex")
    for dt, k in more:
        put(g.t(dt, None, k), k)


def mk_unary(names, kinds, tol="trans", family="unary", **o):
    @spec(names, family, tol)
    def fn(c, g):
        unary(c, kinds, **o)


mk_unary("acos asin atanh", ["unit", "n"], cplx=True)
mk_unary("acosh", ["gt1", "n"])
mk_unary("log log10 log1p log2 rsqrt", ["pos", "n"], cplx=True)
mk_unary("sqrt", ["pos", "n"], tol="arith", cplx=True)
mk_unary("reciprocal", ["nz", "n"], tol="arith", cplx=True)
mk_unary("asinh atan erf expm1", ["n", "unit"])
mk_unary("cos cosh exp sigmoid sin sinh tan tanh", ["n", "unit"], cplx=True)


@spec("ceil floor round trunc", "unary", "bits")
def _(c, g):
    unary(c, ["half", "n", "big"], bools=False)
    c.err("dtype", g.t(c64, [3]))


@spec("abs", "unary", "arith")
def _(c, g):
    unary(c, ["n", "nan"], bools=False, cplx=True)


@spec("neg", "unary", "bits")
def _(c, g):
    unary(c, ["n", "nan"], bools=False, cplx=True)
    for s in ([3], [2, 2], [0], []):
        c.err("dtype", g.t(b8, s))


@spec("sign", "unary", "values")
def _(c, g):
    unary(c, ["n", "half"])
    c.err("dtype", g.t(c64, [3]))
    c.err("dtype", g.t(c64, [2, 2]))


@spec("relu", "unary", "values")
def _(c, g):
    unary(c, ["n", "half"], bools=False)
    c.err("dtype", g.t(b8, [3]))
    c.err("dtype", g.t(b8, [2, 2]))


mk_unary("isnan isinf logical_not", ["nan", "inf"], tol="bits")


@spec("bitwise_not", "unary", "bits")
def _(c, g):
    for dt in I + [b8]:
        for k in ("n", "sp", "wide"):
            c.add(g.t(dt, None, k if dt != b8 else "n"), tags=[k])
        c.add(g.t(dt, g.shape(g.i(2, 4), 2), "n", g.pick(LAYS)), tags=["noncontiguous"])
        c.add(g.t(dt, g.pick(EMPTY)), tags=["empty"])
        c.add(g.t(dt, g.shape(g.pick([0, 5]))))
        c.add(g.t(dt, [g.i(60, 200)], "sp"))
    c.add(g.t(i32, g.shape(4, 2), lay="CL"), tags=["channels_last"])
    for dt in F:
        c.err("dtype", g.t(dt, [3]))


mk_unary("_conj_physical", ["n", "sp"], tol="bits", cplx=True)


@spec("gelu", "activation", "trans")
def _(c, g):
    unary(c, ["n", "big"], ints=False, bools=False, kw=lambda g: g.pick([{}, {"approximate": "none"}, {"approximate": "tanh"}]))
    for dt in F:
        for a in ("none", "tanh"):
            c.add(g.t(dt, [g.i(20, 60)], "n"), kw={"approximate": a}, tags=[a])
    c.err("value", g.t(f32, [3]), kw={"approximate": "erf"})
    c.err("value", g.t(f32, [3]), kw={"approximate": ""})


@spec("hardtanh", "activation", "values")
def _(c, g):
    def ex(g):
        return g.pick([[], [-0.5], [-1.25, 0.75], [0, 2], [-2, 2], [-1, 1], [0.0, 6.0]])
    unary(c, ["n", "half"], ints=False, bools=False, extra=ex)
    for dt in (i8, i32, i64, i16):
        c.add(g.t(dt), g.i(-4, 0), g.i(1, 5), tags=["int"])
    c.err("dtype", g.t(b8, [3]))
    c.err("dtype", g.t(b8, [2, 2]), -1, 1)


@spec("leaky_relu", "activation", "arith")
def _(c, g):
    unary(c, ["n", "sp"], ints=False, bools=False, extra=lambda g: g.pick([[], [0.2], [0], [-0.5], [1.5], [0.01]]))


@spec("elu", "activation", "trans")
def _(c, g):
    unary(c, ["n", "unit"], ints=False, bools=False,
          extra=lambda g: g.pick([[], [1.0], [0.5], [2.0, 1.5], [1.6732632423543772, 1.0507009873554805], [0.7, 1.1, 0.9], [1, 1, 2]]))
    c.err("dtype", g.t(i32, [3]))
    c.err("dtype", g.t(i64, [3]), 1, 1, 1)


@spec("logit", "activation", "trans")
def _(c, g):
    def k(t):
        return (t.float().abs() % 1).to(t.dtype)
    for dt in F:
        for e in ([], [None], [1e-3], [0.1], [0.0]):
            c.add(k(g.t(dt)), *e, tags=["eps" if e and e[0] else "noeps"])
            c.add(torch.rand(g.shape(), generator=torch.Generator().manual_seed(g.i(0, 10**6)), dtype=f64).to(dt), *e)
        c.add(g.t(dt, [25], "sp"), tags=["special"])
        c.add(g.t(dt, [25], "sp"), 0.25, tags=["special"])
    for dt in I + [b8]:
        c.add(g.t(dt, None, "tie"), g.pick([None, 0.01]), tags=["int_promote"])
    for lay in LAYS:
        c.add(g.t(f32, g.shape(3, 2), "unit", lay).abs(), tags=["noncontiguous"])
    c.add(g.t(f32, g.pick(EMPTY)), tags=["empty"])
    c.add(torch.tensor(0.3), tags=["zero_dim"])


@spec("_softmax _log_softmax", "activation", "trans")
def _(c, g):
    for dt in F:
        for r in range(1, 6):
            s = g.shape(r, 2)
            d = g.i(0, r - 1)
            c.add(g.t(dt, s), g.neg(d, r), False, tags=[f"rank{r}"])
        s = g.shape(g.i(2, 3), 2)
        c.add(g.t(dt, s, "big"), g.i(-len(s), len(s) - 1), False, tags=["large"])
        c.add(g.t(dt, s, g.pick(["nan", "inf"])), -1, False, tags=["special"])
        c.add(g.t(dt, [], "n"), g.pick([0, -1]), False, tags=["zero_dim"])
    for lay in LAYS:
        s = g.shape(g.i(2, 4), 2)
        c.add(g.t(f32, s, "n", lay), g.i(0, len(s) - 1), False, tags=["noncontiguous"])
    for d in range(4):
        c.add(g.t(f32, g.shape(4, 2), "n", "CL"), d, False, tags=["channels_last"])
    for s in ([0, 3], [3, 0], [0], [2, 0, 4]):
        c.add(g.t(f32, s), g.i(0, len(s) - 1), False, tags=["empty"])
    c.add(torch.full([2, 4], -INF), 1, False, tags=["inf"])
    c.add(torch.tensor([[INF, 1., 2.], [-INF, 0., 1.]]), 1, False, tags=["inf"])
    c.add(g.t(f32, [2, g.i(300, 1000)]), 1, False, tags=["long"])
    c.add(g.t(f32, [g.i(100, 200), 3]), 0, False, tags=["long"])
    c.add(g.t(f32, [3, 1, 5]), 1, False, tags=["size1"])
    for bad in (2, -3, 5):
        c.err("index", g.t(f32, [2, 3]), bad, False)
    c.err("dtype", g.t(i64, [2, 3]), 1, False)
    c.err("dtype", g.t(f32, [2, 3]), 1, True)
    c.err("dtype", g.t(b8, [2, 3]), 1, False)


@spec("glu", "activation", "trans")
def _(c, g):
    for dt in F:
        for r in range(1, 5):
            s = g.shape(r, 2)
            d = g.i(0, r - 1)
            s[d] = 2 * g.i(1, 6)
            c.add(g.t(dt, s, g.pick(["n", "big"])), g.neg(d, r), tags=[f"rank{r}"])
            c.add(g.t(dt, g.shape(r - 1) + [2 * g.i(1, 8)], "n"))
        c.add(g.t(dt, [2, 16], "sp"), tags=["special"])
        s = g.shape(3, 2)
        s[1] = 4
        c.add(g.t(dt, s, "n", g.pick(LAYS)), 1, tags=["noncontiguous"])
    c.add(g.t(f32, [0, 4]), tags=["empty"])
    c.add(g.t(f32, [3, 0]), tags=["empty"])
    c.add(g.t(f32, [2, 4, 3, 2], "n", "CL"), 1, tags=["channels_last"])
    c.err("shape", g.t(f32, [2, 3]))
    c.err("shape", g.t(f32, [5, 4]), 0)
    c.err("shape", g.t(f32, []), 0)
    c.err("index", g.t(f32, [2, 4]), 2)
    c.err("index", g.t(f32, [2, 4]), -3)
