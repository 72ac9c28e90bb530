"""Cases of symbolic sizes and of dimension orders."""

import torch

from encoding import ALL, F, INF, NAN, c64, f16, f32, f64, i32, u16
from cases import EMPTY, LAYS, spec
from families.movement import cast_pairs, cast_src


@spec("sym_size.int sym_stride.int", "sym")
def _(c, g):
    def put(x, *t):
        c.add(x, g.i(-x.dim(), x.dim() - 1), tags=t)
    for dt in ALL:
        put(g.t(dt, g.shape(g.i(1, 5))))
    for lay in LAYS + ["CL"]:
        for _ in range(3):
            put(g.t(f32, g.shape(4, 2), "n", lay), "noncontiguous")
    put(g.t(f32, [0, 3]), "empty")
    for d in (2, -3):
        c.err("index", g.t(f32, [2, 3]), d)
    c.err("index", g.t(f32, []), 0)


@spec("sym_numel sym_storage_offset", "sym")
def _(c, g):
    for dt in ALL:
        c.add(g.t(dt, g.shape(g.i(1, 4))))
    for lay in LAYS + ["CL", "O", "O"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), tags=["noncontiguous"])
    c.add(g.t(f32, []), tags=["zero_dim"])
    for s in EMPTY[:3]:
        c.add(g.t(f32, s), tags=["empty"])
    c.add(g.t(f32, [5, 4])[2:], tags=["offset"])


@spec("sym_is_contiguous", "sym")
def _(c, g):
    for lay in LAYS + ["CL", None, None]:
        for m in ([], [torch.contiguous_format], [torch.channels_last]):
            c.add(g.t(f32, g.shape(4, 2), "n", lay), *m, tags=["layout"])
        c.add(g.t(f32, g.shape(5, 2), "n", lay), torch.channels_last_3d, tags=["layout"])
    for s in ([], [0], [1, 3], [3, 1]):
        c.add(g.t(f32, s))


@spec("_local_scalar_dense", "sym")
def _(c, g):
    for dt in ALL + [u16]:
        for s in ([], [1], [1, 1]):
            c.add(g.t(dt, s))
    for v in (NAN, INF, -0.0, 1e-40):
        c.add(torch.tensor(v), tags=["special"])
    c.add(g.t(c64, []), tags=["complex"])
    c.add(torch.tensor(2**62 + 1), tags=["int_limits"])
    c.add(torch.tensor(-2**63), tags=["int_limits"])


def dim_orders(g, r):
    out = [list(range(r))]
    if r == 4:
        out.append([0, 2, 3, 1])
    return out


@spec("dim_order_ops._to_dim_order_copy", "dim_order")
def _(c, g):
    for a, b in g.some(cast_pairs(g), 24):
        r = g.i(1, 4)
        s = g.shape(r, 2)
        c.add(cast_src(g, a, b, s), kw={"dtype": b, "dim_order": g.pick(dim_orders(g, r))}, tags=["cast"])
    for r in (4, 5):
        for lay in (None, "CL"):
            for o in dim_orders(g, r):
                c.add(g.t(g.pick(F), g.shape(r, 2), "n", lay), kw={"dim_order": o}, tags=["dim_order"])
                c.add(g.t(f32, g.shape(r, 2), "n", lay), kw={"dtype": g.pick([f16, i32, f64]), "dim_order": o}, tags=["dim_order", "cast"])
    for lay in LAYS:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), kw={"dim_order": [0, 1, 2, 3]}, tags=["noncontiguous"])
    c.add(g.t(f32, [2, 3]), kw={"dtype": f16}, tags=["dim_order_none"])
    c.add(g.t(f32, [2, 3, 2, 2], "n", "CL"), kw={"dtype": f16}, tags=["dim_order_none"])
    c.add(g.t(f32, [0, 3]), kw={"dtype": f16, "dim_order": [0, 1]}, tags=["empty"])
    c.add(g.t(f32, []), kw={"dtype": f64, "dim_order": []}, tags=["zero_dim"])
    c.err("value", g.t(f32, [2, 3]), kw={"dim_order": [1, 0]})
    c.err("value", g.t(f32, [2, 3, 4, 5]), kw={"dim_order": [3, 2, 1, 0]})
    c.err("shape", g.t(f32, [2, 3]), kw={"dim_order": [0, 2, 3, 1]})


@spec("dim_order_ops._clone_dim_order", "dim_order")
def _(c, g):
    for dt in ALL:
        for _ in range(2):
            r = g.i(1, 5)
            c.add(g.t(dt, g.shape(r, 2)), kw={"dim_order": g.pick(dim_orders(g, r))}, tags=["dim_order"])
    for r in (4, 5):
        for lay in (None, "CL"):
            for o in dim_orders(g, r):
                c.add(g.t(g.pick(F), g.shape(r, 2), "n", lay), kw={"dim_order": o}, tags=["dim_order"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), kw={"dim_order": [0, 1, 2, 3]}, tags=["noncontiguous"])
        c.add(g.t(f32, g.shape(4, 2), "n", lay), tags=["dim_order_none"])
    c.add(g.t(f32, [0, 3]), kw={"dim_order": [0, 1]}, tags=["empty"])
    c.add(g.t(f32, []), kw={"dim_order": []}, tags=["zero_dim"])
    c.err("value", g.t(f32, [2, 3]), kw={"dim_order": [1, 0]})
    c.err("value", g.t(f32, [2, 3, 4, 5]), kw={"dim_order": [3, 2, 1, 0]})
    c.err("shape", g.t(f32, [2, 3]), kw={"dim_order": [0, 2, 3, 1]})


@spec("dim_order_ops._empty_dim_order", "dim_order")
def _(c, g):
    for dt in ALL:
        for _ in range(2):
            r = g.i(0, 5)
            c.add(g.shape(r, 2), kw={"dtype": dt, "dim_order": g.pick(dim_orders(g, r))}, check="meta", tags=["dim_order"])
    for r in (4, 5):
        for o in dim_orders(g, r):
            c.add(g.shape(r, 2), kw={"dim_order": o}, check="meta", tags=["dim_order"])
    c.add(g.shape(3), check="meta", tags=["dim_order_none"])
    c.add([0, 3], kw={"dim_order": [0, 1]}, check="meta", tags=["empty"])
    c.err("value", [2, 3], kw={"dim_order": [1, 0]})
    c.err("value", [2, 3, 4, 5], kw={"dim_order": [3, 2, 1, 0]})
    c.err("shape", [-1], kw={"dim_order": [0]})
