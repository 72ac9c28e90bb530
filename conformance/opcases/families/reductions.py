"""Cases of reductions."""
import math

import torch

from encoding import ALL, F, I, INF, NAN, b8, bf16, c64, f16, f32, f64, i32, i64, i8, u8
from cases import EMPTY, LAYS, spec


def dims_for(g, r, k=None):
    k = g.i(1, r) if k is None else k
    return [g.neg(d, r) for d in sorted(g.some(range(r), k))]


def reduce_errs(c, g, mk, lists=True):
    x = g.t(f32, [2, 3])
    c.err("index", *mk(x, [2] if lists else 2))
    c.err("index", *mk(x, [-3] if lists else -3))
    if lists:
        c.err("value", *mk(x, [0, 0]))
        c.err("value", *mk(x, [1, -1]))
        c.err("index", *mk(g.t(f32, []), [1]))
    else:
        c.err("index", *mk(g.t(f32, [4]), 1))
        c.err("index", *mk(g.t(f32, []), 1))


@spec("sum.dim_IntList mean.dim", "reduction", "acc")
def _(c, g):
    mean = "mean" in c.name
    dts = F if mean else ALL

    def put(x, d, kd, kw=None, *tags):
        c.add(x, d, *([] if kd is None else [kd]), kw=kw, tags=list(tags) + (["keepdim"] if kd else []))
    for dt in dts:
        for _ in range(3 if not mean else 6):
            r = g.i(1, 4)
            put(g.t(dt, g.shape(r, 2)), g.pick([dims_for(g, r), dims_for(g, r, 1), [], None]), g.pick([None, False, True]))
    for dt in F:
        s = g.shape(2, 3)
        put(g.t(dt, s, g.pick(["nan", "inf"])), dims_for(g, 2, 1), g.flip(), None, "special")
        put(g.t(dt, [3, g.i(200, 400)]), [1], False, None, "long")
    for a, o in ((f32, f64), (f16, f32), (f32, f16), (i32, f32), (bf16, f32), (i64, f64)):
        put(g.t(a, g.shape(3, 2)), dims_for(g, 3), g.flip(), {"dtype": o}, "dtype_arg")
    if not mean:
        for a, o in ((i32, i32), (i8, i8), (b8, i32), (f32, i64), (u8, u8)):
            put(g.t(a, g.shape(3, 2), "tie"), dims_for(g, 3), g.flip(), {"dtype": o}, "dtype_arg")
        put(g.t(i64, [2, 8], "wide"), [1], False, None, "int_wrap")
        put(g.t(c64, [2, 4]), [0], False, None, "complex")
    put(g.t(f32, [g.i(3000, 4096)], "pos"), g.pick([None, [0], []]), False, None, "large")
    put(g.t(f16, [g.i(1000, 2000)], "pos"), [0], False, None, "large")
    for lay in LAYS:
        r = g.i(2, 4)
        put(g.t(f32, g.shape(r, 2), "n", lay), dims_for(g, r), g.flip(), None, "noncontiguous")
    for d in ([1], [2, 3], [0, 1], [1, 2, 3]):
        put(g.t(f32, g.shape(4, 2), "n", "CL"), d, g.flip(), None, "channels_last")
    for s, d in (([0, 3], [0]), ([0, 3], [1]), ([2, 0], [1]), ([0], [0]), ([2, 0, 3], [0, 2]), ([0, 2], None)):
        put(g.t(f32, s), d, g.flip(), None, "empty")
    put(g.t(f32, []), g.pick([[0], [-1], [], None]), g.flip(), None, "zero_dim")
    put(g.t(f32, g.shape(5, 2)), [0, 2, 4], g.flip(), None, "rank5")
    reduce_errs(c, g, lambda x, d: (x, d))
    if mean:
        for dt in (i32, i64, b8):
            c.err("dtype", g.t(dt, [2, 3]), [1])
        c.err("dtype", g.t(f32, [2, 3]), [1], kw={"dtype": i64})


@spec("mean prod", "reduction", "acc")
def _(c, g):
    mean = "mean" in c.name
    for dt in F + ([] if mean else I + [b8]):
        for r in range(0, 6):
            s = g.shape(r, 1, 3 if not mean and r > 1 else None)
            c.add(g.t(dt, s, "n" if mean else "nz"), tags=[f"rank{r}"])
        if dt.is_floating_point:
            c.add(g.t(dt, [12], "nan"), tags=["nan"])
            c.add(g.t(dt, [12], "inf"), tags=["inf"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 1, 2), "nz", lay), tags=["noncontiguous"])
    for a, o in ((f32, f64), (f16, f32), (i32, f32), (b8, f32), (bf16, f32), (f32, f16)) + (() if mean else ((i32, i32), (i8, i8), (u8, i32), (f32, i64))):
        c.add(g.t(a, g.shape(2), "tie" if not o.is_floating_point else "nz"), kw={"dtype": o}, tags=["dtype_arg"])
    for s in ([0], [0, 3]):
        c.add(g.t(f32, s), tags=["empty"])
    if mean:
        c.add(g.t(f32, [g.i(3000, 4096)], "pos"), tags=["large"])
        c.add(g.t(f16, [g.i(1000, 2000)], "pos"), tags=["large"])
        for dt in (i32, i64, b8):
            c.err("dtype", g.t(dt, [3]))
        c.err("dtype", g.t(f32, [3]), kw={"dtype": i32})
        c.err("dtype", g.t(u8, [3]), kw={"dtype": i64})
    else:
        c.add(g.t(i64, [9], "wide"), tags=["int_wrap"])
        c.add(g.t(i64, [0]), tags=["empty"])
        c.add(g.t(c64, [3]), tags=["complex"])


@spec("prod.dim_int cumsum", "reduction", "acc")
def _(c, g):
    cs = "cumsum" in c.name

    def put(x, d, kw=None, *tags):
        kd = [] if cs else g.pick([[], [True], [False]])
        c.add(x, d, *kd, kw=kw, tags=tags)
    for dt in ALL:
        for _ in range(4):
            r = g.i(1, 4)
            put(g.t(dt, g.shape(r, 1), "nz"), g.neg(g.i(0, r - 1), r), None, f"rank{r}")
    for dt in F:
        put(g.t(dt, [3, 6], g.pick(["nan", "inf"])), g.i(0, 1), None, "special")
        if cs:
            put(g.t(dt, [g.i(100, 400)]), 0, None, "long")
    for a, o in ((f32, f64), (f16, f32), (i32, f32), (i32, i32), (b8, i32), (u8, i64), (i8, i8), (bf16, f32), (f32, i32)):
        put(g.t(a, g.shape(2, 2), "tie" if not o.is_floating_point else "nz"), g.i(0, 1), {"dtype": o}, "dtype_arg")
    put(g.t(i64, [2, 9], "wide"), 1, None, "int_wrap")
    for lay in LAYS + ["CL"]:
        put(g.t(f32, g.shape(4, 2), "nz", lay), g.i(-4, 3), None, "noncontiguous")
    for s, d in (([0], 0), ([0, 3], 0), ([0, 3], 1), ([2, 0], 1)):
        put(g.t(f32, s), d, None, "empty")
    put(g.t(f32, []), 0, None, "zero_dim")
    put(g.t(c64, [3, 2]), 0, None, "complex")
    reduce_errs(c, g, lambda x, d: (x, d), lists=False)


@spec("amax amin", "reduction", "values")
def _(c, g):
    for dt in ALL:
        for _ in range(3):
            r = g.i(1, 4)
            a = g.pick([[], [dims_for(g, r)], [dims_for(g, r, 1), True], [dims_for(g, r), True], [[]]])
            c.add(g.t(dt, g.shape(r, 2)), *a)
    for dt in F:
        c.add(g.t(dt, [4, 5], "nan"), [1], tags=["nan"])
        c.add(g.t(dt, [4, 5], "inf"), [g.i(0, 1)], g.flip(), tags=["inf"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), dims_for(g, 4), g.flip(), tags=["noncontiguous"])
    c.add(g.t(f32, []), tags=["zero_dim"])
    c.add(g.t(f32, []), [0], tags=["zero_dim"])
    c.add(g.t(f32, [0, 3]), [1], tags=["empty"])
    c.add(g.t(f32, [2, g.i(200, 500)]), [1], tags=["long"])
    c.add(g.t(f32, g.shape(5, 2)), [0, 2, 4], tags=["rank5"])
    reduce_errs(c, g, lambda x, d: (x, d))
    c.err("shape", g.t(f32, [0, 3]), [0])
    c.err("shape", g.t(f32, [0]))


@spec("any", "reduction", "bits")
def _(c, g):
    for dt in ALL:
        for k in ("n", "tie"):
            c.add(g.t(dt, None, k))
        c.add(torch.zeros(g.shape(), dtype=dt), tags=["zeros"])
        c.add(g.t(dt, g.shape(g.pick([0, 5]))))
    for s in EMPTY[:4]:
        c.add(g.t(g.pick(ALL), s), tags=["empty"])
    c.add(torch.tensor([NAN]), tags=["nan"])
    c.add(torch.tensor([0.0, -0.0]), tags=["neg_zero"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(g.pick([f32, b8]), g.shape(4, 2), "tie", lay), tags=["noncontiguous"])


@spec("any.dim any.dims", "reduction", "bits")
def _(c, g):
    lists = "dims" in c.name
    for dt in ALL:
        for _ in range(4):
            r = g.i(1, 4)
            d = dims_for(g, r) if lists else g.neg(g.i(0, r - 1), r)
            c.add(g.t(dt, g.shape(r, 1), "tie"), g.pick([d, d, d, None, []]) if lists else d, *g.pick([[], [True], [False]]))
    for lay in LAYS + ["CL"]:
        c.add(g.t(g.pick([f32, b8]), g.shape(4, 2), "tie", lay), [1, 3] if lists else g.i(0, 3), tags=["noncontiguous"])
    for s, d in (([0], 0), ([0, 3], 0), ([0, 3], 1), ([2, 0], 1)):
        c.add(g.t(f32, s), [d] if lists else d, tags=["empty"])
    c.add(g.t(f32, []), [0] if lists else 0, tags=["zero_dim"])
    c.add(torch.tensor([[NAN, 0.0], [0.0, -0.0]]), [1] if lists else 1, tags=["nan"])
    reduce_errs(c, g, lambda x, d: (x, d), lists=lists)


@spec("argmax argmin", "reduction", "bits")
def _(c, g):
    for dt in F + I:
        for _ in range(4):
            r = g.i(1, 4)
            d = g.neg(g.i(0, r - 1), r)
            c.add(g.t(dt, g.shape(r, 2), g.pick(["n", "tie"])), *g.pick([[], [d], [d, True], [None, False], [d, False], [None, True]]), tags=["ties"])
    for dt in F:
        c.add(g.t(dt, [4, 6], "nan"), 1, tags=["nan"])
        c.add(g.t(dt, [4, 6], "inf"), 0, tags=["inf"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "tie", lay), g.pick([None, 0, 1, 2, 3]), tags=["noncontiguous", "ties"])
    c.add(g.t(f32, []), tags=["zero_dim"])
    c.add(g.t(f32, []), 0, tags=["zero_dim"])
    c.add(g.t(f32, [0, 3]), 1, tags=["empty"])
    c.add(g.t(f32, [2, 150], "tie"), 1, tags=["ties", "long"])
    reduce_errs(c, g, lambda x, d: (x, d), lists=False)
    c.err("shape", g.t(f32, [0]))
    c.err("shape", g.t(f32, [0, 3]), 0)
    c.err("dtype", g.t(b8, [3]))


@spec("max.dim min.dim", "reduction", "values")
def _(c, g):
    for dt in ALL:
        for _ in range(4):
            r = g.i(1, 4)
            c.add(g.t(dt, g.shape(r, 2), g.pick(["n", "tie"])), g.neg(g.i(0, r - 1), r), *g.pick([[], [True], [False]]), tags=["ties"])
    for dt in F:
        c.add(g.t(dt, [4, 6], "nan"), 1, tags=["nan"])
        c.add(g.t(dt, [4, 6], "inf"), 0, tags=["inf"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "tie", lay), g.i(-4, 3), g.flip(), tags=["noncontiguous", "ties"])
    c.add(g.t(f32, []), 0, tags=["zero_dim"])
    c.add(g.t(f32, [0, 3]), 1, tags=["empty"])
    c.add(g.t(f32, [2, 150], "tie"), 1, tags=["ties", "long"])
    reduce_errs(c, g, lambda x, d: (x, d), lists=False)
    c.err("shape", g.t(f32, [0, 3]), 0)


@spec("max min", "reduction", "values")
def _(c, g):
    for dt in ALL:
        for k in ("n", "sp", "tie"):
            if k == "sp" and dt.is_floating_point:
                k = "inf"
            c.add(g.t(dt, None, k), tags=[k])
        c.add(g.t(dt, []), tags=["zero_dim"])
    for dt in F:
        c.add(g.t(dt, [12], "nan"), tags=["nan"])
        c.add(g.t(dt, [g.i(50, 300)], "n"), tags=["long"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), tags=["noncontiguous"])
    for s in ([0], [0, 3], [2, 0]):
        c.err("shape", g.t(f32, s))
    c.err("dtype", g.t(c64, [3]))


@spec("var.correction var.dim var_mean.correction", "reduction", "acc")
def _(c, g):
    vd = "var.dim" in c.name

    def put(x, d, *tags):
        kd = g.flip()
        if vd:
            a = g.pick([[], [True], [False], [True, kd], [False, kd]])
            c.add(x, d, *a, tags=tags)
        else:
            kw = {}
            if g.flip(.7):
                kw["correction"] = g.pick([0, 1, 2, None, 0.5, 1.0])
            if kd:
                kw["keepdim"] = True
            c.add(x, *([d] if d is not None or g.flip() else []), kw=kw, tags=tags)
    for dt in F:
        for _ in range(6):
            r = g.i(1, 4)
            put(g.t(dt, g.shape(r, 2)), g.pick([dims_for(g, r), dims_for(g, r, 1), None, []]))
        put(g.t(dt, [3, 7], g.pick(["nan", "inf"])), [1], "special")
        put(g.t(dt, [2, g.i(80, 300)]) + 3, [1], "long", "offset_mean")
    for lay in LAYS:
        r = g.i(2, 4)
        put(g.t(f32, g.shape(r, 2), "n", lay), dims_for(g, r), "noncontiguous")
    for d in ([1], [2, 3], [0, 2, 3]):
        put(g.t(f32, g.shape(4, 2), "n", "CL"), d, "channels_last")
    for s, d in (([0, 3], [0]), ([0, 3], [1]), ([2, 0], [1]), ([0], None)):
        put(g.t(f32, s), d, "empty")
    put(g.t(f32, [3, 1]), [1], "size1")
    put(g.t(f32, []), g.pick([[0], None]), "zero_dim")
    put(torch.full([2, 5], 1.25), [1], "constant")
    put(g.t(f32, [g.i(2000, 4000)]), [0], "large")
    put(g.t(c64, [3, 4]), [1], "complex")
    reduce_errs(c, g, lambda x, d: (x, d))
    for dt in (i32, i64, b8):
        c.err("dtype", g.t(dt, [2, 3]), [1])


@spec("sort", "reduction", "values")
def _(c, g):
    for dt in F + I:
        for _ in range(4):
            r = g.i(1, 4)
            s = g.shape(r, 2)
            while math.prod(s) >= 120:
                s = g.shape(r, 2)
            d = g.i(0, r - 1)
            c.add(g.t(dt, s, "distinct"), *g.pick([[], [g.neg(d, r)], [g.neg(d, r), True], [d, False]]), tags=["sort"])
    for dt in (f32, f16, i32, b8):
        c.add(g.t(dt, [12], "tie"), 0, g.flip(), tags=["ties_stable"])
    for dt in F:
        x = g.t(dt, [8], "distinct")
        x[g.i(0, 7)] = NAN
        c.add(x, 0, g.flip(), tags=["nan"])
        y = g.t(dt, [8], "distinct")
        y[1], y[5] = INF, -INF
        c.add(y, -1, g.flip(), tags=["inf"])
    for lay in LAYS[:3] + ["P", "CL"]:
        c.add(g.t(f32, [2, 3, 4, 3], "distinct", lay), g.i(-4, 3), g.flip(), tags=["noncontiguous"])
    c.add(g.t(f32, []), tags=["zero_dim"])
    for s in ([0], [0, 3], [3, 0]):
        c.add(g.t(f32, s), g.i(-1, 0), tags=["empty"])
    c.add(g.t(f32, [g.i(200, 500)], "distinct"), tags=["long"])
    for d in (2, -3, 7):
        c.err("index", g.t(f32, [2, 3]), d)
    c.err("dtype", g.t(c64, [3]))


@spec("topk", "reduction", "values")
def _(c, g):
    for dt in F + I:
        for _ in range(4):
            r = g.i(1, 4)
            s = g.shape(r, 2)
            d = g.i(0, r - 1)
            while math.prod(s) >= 120:
                s = g.shape(r, 2)
            k = g.i(1, s[d])
            c.add(g.t(dt, s, "distinct"), k, g.neg(d, r), *g.pick([[], [True], [False], [True, True], [False, True]]), tags=["topk"])
    for dt in F:
        x = g.t(dt, [8], "distinct")
        x[g.i(0, 7)] = NAN
        c.add(x, 3, 0, g.flip(), tags=["nan"])
        y = g.t(dt, [2, 8], "distinct")
        y[0, 1], y[1, 5] = INF, -INF
        c.add(y, 3, -1, g.flip(), tags=["inf"])
    for lay in LAYS[:3] + ["P", "CL"]:
        c.add(g.t(f32, [2, 3, 4, 3], "distinct", lay), 2, g.i(-4, 3), g.flip(), tags=["noncontiguous"])
    c.add(g.t(f32, []), 1, tags=["zero_dim"])
    c.add(g.t(f32, [3, 4], "distinct"), 0, tags=["k0"])
    c.add(g.t(f32, [0, 3], "distinct"), 2, tags=["empty"])
    c.add(g.t(f32, [6], "distinct"), 1, 0, True, False, tags=["unsorted_k1"])
    c.add(g.t(f32, [g.i(100, 400)], "distinct"), g.i(5, 60), tags=["long"])
    c.err("value", g.t(f32, [2, 3]), 4)
    c.err("value", g.t(f32, [2, 3]), -1)
    c.err("index", g.t(f32, [2, 3]), 1, 2)
    c.err("index", g.t(f32, [2, 3]), 1, -3)
    c.err("value", g.t(f32, []), 2)


@spec("nonzero", "index", "bits")
def _(c, g):
    for dt in ALL:
        for r in range(0, 4):
            c.add(g.t(dt, g.shape(r), "tie"), tags=[f"rank{r}"])
    c.add(g.t(f32, g.shape(5, 2), "tie"), tags=["rank5"])
    c.add(torch.tensor([NAN, 0.0, -0.0, INF]), tags=["nan"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(g.pick([f32, b8]), g.shape(4, 2), "tie", lay), tags=["noncontiguous"])
    for s in EMPTY[:4]:
        c.add(g.t(f32, s), tags=["empty"])
    c.add(torch.zeros(3, 2), tags=["zeros"])
    c.add(g.t(c64, [3]), tags=["complex"])
    c.add(g.t(b8, [g.i(100, 300)]), tags=["long"])
