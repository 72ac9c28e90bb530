"""Cases of indexing, gathering and scattering."""
import math

import torch

from encoding import ALL, F, I, INF, NAN, b8, bf16, c64, f16, f32, f64, i16, i32, i64, u16
from families.binary import BADPAIRS, EPAIRS, bshapes
from cases import LAYS, spec
from families.movement import mover


@spec("index_select", "index")
def _(c, g):
    for dt in ALL + [u16, c64]:
        for _ in range(3):
            r = g.i(1, 4)
            s = g.shape(r, 2)
            k = g.i(0, r - 1)
            c.add(g.t(dt, s), g.neg(k, r), g.idx([g.i(1, 7)], s[k], g.pick([i64, i32])), tags=["duplicates"])
    for lay in LAYS + ["CL"]:
        s = g.shape(4, 2)
        k = g.i(0, 3)
        c.add(g.t(f32, s, "n", lay), k, g.idx([3], s[k]), tags=["noncontiguous"])
    c.add(g.t(f32, [5, 3]), 0, torch.tensor([4, 9, 0, 9, 1])[::2], tags=["noncontiguous"])
    c.add(g.t(f32, [4, 3]), 0, torch.zeros(0, dtype=i64), tags=["empty"])
    c.add(g.t(f32, [4, 0]), 0, torch.tensor([1, 3]), tags=["empty"])
    c.add(g.t(f32, [4]), 0, torch.tensor(2), tags=["scalar_index"])
    c.add(g.t(f32, []), 0, torch.tensor([0]), tags=["zero_dim"])
    x = g.t(f32, [4, 3])
    c.err("index", x, 0, torch.tensor([4]))
    c.err("index", x, 0, torch.tensor([-1]))
    c.err("index", x, 2, torch.tensor([0]))
    c.err("dtype", x, 0, torch.tensor([1.0]))
    c.err("shape", x, 0, torch.zeros(2, 2, dtype=i64))
    c.err("dtype", x, 0, torch.tensor([1], dtype=i16))


def index_lists(g, s):
    """Index lists (Tensor?[]) for shape s with the shape of the values they select."""
    r = len(s)
    out = []
    dt = g.pick([i64, i64, i32])
    out.append(("first", [g.idx([g.i(1, 5)], s[0], dt, True)]))
    out.append(("none_then_index", [None] * (r - 1) + [g.idx([g.i(1, 4)], s[-1], dt, True)]))
    n = g.i(2, 4)
    out.append(("adjacent", [g.idx([n], s[0], dt, True)] + [g.idx([n], s[1], dt, True)] if r > 1 else [g.idx([n], s[0])]))
    if r > 2:
        out.append(("split_by_none", [g.idx([n], s[0], i64, True), None, g.idx([n], s[2], i64, True)]))
        out.append(("middle", [None, g.idx([2, n], s[1], i64, True)]))
        out.append(("tail_pair", [None, g.idx([n], s[1], i64, True), g.idx([1], s[2], i64, True)]))
    if r > 1:
        out.append(("broadcast", [g.idx([n, 1], s[0], i64, True), g.idx([2], s[1], i64, True)]))
    out.append(("bool_mask", [g.t(b8, [s[0]])]))
    out.append(("bool_full", [g.t(b8, s)]))
    if r > 1:
        out.append(("bool_none", [None, g.t(b8, [s[1]])]))
        out.append(("bool_2d", [g.t(b8, s[:2])]))
    out.append(("scalar_index", [torch.tensor(g.i(-s[0], s[0] - 1))]))
    out.append(("empty_index", [torch.zeros(0, dtype=i64)]))
    return out


@spec("index.Tensor", "index")
def _(c, g):
    for dt in ALL + [u16, c64]:
        s = g.shape(g.i(1, 4), 2)
        for t, ix in g.some(index_lists(g, s), 4):
            c.add(g.t(dt, s), ix, tags=[t])
    for lay in LAYS + ["CL"]:
        s = g.shape(4, 2)
        for t, ix in g.some(index_lists(g, s), 2):
            c.add(g.t(f32, s, "n", lay), ix, tags=[t, "noncontiguous"])
    for t, ix in index_lists(g, [3, 4, 2]):
        c.add(g.t(f32, [3, 4, 2]), ix, tags=[t])
    c.add(g.t(f32, [0, 3]), [torch.zeros(0, dtype=i64)], tags=["empty"])
    x = g.t(f32, [4, 3])
    c.err("index", x, [torch.tensor([4])])
    c.err("index", x, [torch.tensor([-5])])
    c.err("shape", x, [torch.tensor([0, 1, 2]), torch.tensor([0, 1])])
    c.err("dtype", x, [torch.tensor([0.5])])
    c.err("index", x, [torch.tensor([0])] * 3)
    c.err("shape", x, [torch.tensor([True, False])])


@spec("index_put index_put_", "index", "acc")
def _(c, g):
    def put(x, ix, acc, *t):
        try:
            out = x[tuple(slice(None) if q is None else q.long() if q.dtype == i32 else q for q in ix)]
        except (IndexError, RuntimeError):
            return
        vs = g.pick([list(out.shape), [], list(out.shape[1:]), [1] * out.dim()])
        if not acc:
            # avoid duplicates, whose order is undefined
            lin = torch.arange(x.numel()).view(x.shape)[tuple(slice(None) if q is None else q.long() if q.dtype == i32 else q for q in ix)]
            if lin.numel() != lin.unique().numel():
                acc = True
        if acc and x.dtype == b8:
            return
        if ix[0] is not None and ix[0].dtype == b8 and len(vs):
            vs = g.pick([list(out.shape), []])
        c.add(x, ix, g.t(x.dtype, vs), *([acc] if acc or g.flip(.3) else []), tags=list(t) + (["accumulate"] if acc else []))
    for dt in ALL:
        for _ in range(2):
            s = g.shape(g.i(1, 3), 2)
            for t, ix in g.some(index_lists(g, s), 3):
                put(g.t(dt, s), ix, g.flip(.4), t)
    for lay in LAYS[:3] + ["P", "CL"]:
        s = g.shape(4, 2)
        for t, ix in g.some(index_lists(g, s), 2):
            put(g.t(f32, s, "n", lay), ix, g.flip(), t, "noncontiguous")
    for t, ix in index_lists(g, [3, 4, 2]):
        put(g.t(f32, [3, 4, 2]), ix, g.flip(), t)
    c.add(g.t(f32, [4]), [torch.tensor([1, 1, -3, 1])], g.t(f32, [4]), True, tags=["accumulate", "duplicates"])
    x = g.t(f32, [4, 3])
    c.err("index", x, [torch.tensor([4])], g.t(f32, [1, 3]))
    c.err("index", x, [torch.tensor([-5])], g.t(f32, [3]), True)
    c.err("shape", x, [torch.tensor([0, 1])], g.t(f32, [3, 3]))
    c.err("dtype", x, [torch.tensor([0])], g.t(f64, [3]))
    c.err("dtype", x, [torch.tensor([0.5])], g.t(f32, [3]))
    c.err("index", x, [torch.tensor([0])] * 3, g.t(f32, []))
    c.err("shape", x, [torch.tensor([0, 1, 2]), torch.tensor([0, 1])], g.t(f32, []))


def sub_index(g, s, d, unique=False, src=None, dt=i64):
    """An index for gather/scatter along d: each dim <= s (and <= src), values < s[d]."""
    q = [g.i(1, min(a, b)) for a, b in zip(s, src or s)]
    if unique:
        q[d] = min(q[d], s[d])
        k = q[:d] + q[d + 1:]
        rows = [torch.tensor([int(v) for v in g.r.permutation(s[d])[:q[d]]]) for _ in range(math.prod(k))]
        x = torch.stack(rows).view(k + [q[d]]) if rows else torch.zeros(k + [q[d]], dtype=i64)
        return x.movedim(-1, d).contiguous().to(dt)
    return g.idx(q, s[d], dt)


@spec("gather", "index")
def _(c, g):
    for dt in ALL + [c64]:
        for _ in range(3):
            r = g.i(1, 4)
            s = g.shape(r, 2)
            d = g.i(0, r - 1)
            ix = sub_index(g, s, d)
            if g.flip(.4):
                q = list(ix.shape)
                q[d] = g.i(1, 6)
                ix = g.idx(q, s[d])
            c.add(g.t(dt, s), g.neg(d, r), ix, tags=[f"rank{r}"])
    for lay in LAYS + ["CL"]:
        s = g.shape(4, 2)
        d = g.i(0, 3)
        c.add(g.t(f32, s, "n", lay), d, sub_index(g, s, d), tags=["noncontiguous"])
    c.add(g.t(f32, [3, 4]), 1, g.idx([4, 3], 4).t(), tags=["noncontiguous"])
    c.add(g.t(f32, []), 0, torch.tensor(0), tags=["zero_dim"])
    c.add(g.t(f32, [3, 4]), 1, torch.zeros(0, dtype=i64), tags=["empty"])
    c.add(g.t(f32, [3, 4]), 1, torch.zeros(3, 0, dtype=i64), tags=["empty"])
    c.add(g.t(f32, [3, 4]), 1, torch.zeros(2, 2, dtype=i64), kw={"sparse_grad": True}, tags=["sparse_grad"])
    c.add(g.t(f32, [3, 4]), 0, torch.tensor([[1, 2]], dtype=i32), tags=["int32_index"])
    x = g.t(f32, [3, 4])
    c.err("index", x, 1, torch.tensor([[4]]))
    c.err("index", x, 1, torch.tensor([[-1]]))
    c.err("shape", x, 1, torch.tensor([0]))
    c.err("shape", x, 1, torch.zeros(4, 2, dtype=i64))
    c.err("dtype", x, 1, torch.zeros(1, 1))
    c.err("index", x, 2, torch.zeros(1, 1, dtype=i64))


@spec("scatter.src scatter.value scatter_add scatter_reduce.two", "index", "acc")
def _(c, g):
    kind = c.name.split(".")[1] + "." + c.name.split(".")[2]
    add = kind == "scatter_add.default"
    red = kind == "scatter_reduce.two"
    val = kind == "scatter.value"

    def put(x, d, ix, src, *t, mode=None):
        if val:
            v = g.pick([0, 1, 2.5, True]) if x.dtype.is_floating_point else g.pick([0, 1, 3, True])
            c.add(x, d, ix, v, tags=t)
        elif red:
            m = mode or g.pick(["sum", "prod", "mean", "amax", "amin"])
            kw = {} if g.flip(.5) else {"include_self": g.flip(.4)}
            c.add(x, d, ix, src, m, kw=kw, tags=list(t) + [m])
        else:
            c.add(x, d, ix, src, tags=t)
    uniq = kind == "scatter.src"
    for dt in ALL if not red else F + I:
        for _ in range(4 if not red else 5):
            r = g.i(1, 4)
            s = g.shape(r, 2)
            d = g.i(0, r - 1)
            ix = sub_index(g, s, d, uniq)
            src = g.t(dt, [q + (g.i(0, 2) if g.flip(.3) else 0) for q in ix.shape])
            put(g.t(dt, s), g.neg(d, r), ix, src, f"rank{r}", *(["duplicates"] if not uniq else []))
    for lay in LAYS[:3] + ["P", "CL"]:
        s = g.shape(4, 2)
        d = g.i(0, 3)
        ix = sub_index(g, s, d, uniq)
        put(g.t(f32, s, "n", lay), d, ix, g.t(f32, list(ix.shape), "n", g.pick([None, "T", "S"])), "noncontiguous")
    put(g.t(f32, []), 0, torch.tensor(0), g.t(f32, []), "zero_dim")
    put(g.t(f32, [3, 4]), 1, torch.zeros(0, dtype=i64), g.t(f32, [0]), "empty")
    put(g.t(f32, [3, 4]), 1, torch.zeros(0, 2, dtype=i64), g.t(f32, [0, 2]), "empty")
    put(g.t(f32, [0, 4]), 0, torch.zeros(0, 2, dtype=i64), g.t(f32, [0, 2]), "empty")
    if red:
        for m in ("sum", "prod", "mean", "amax", "amin"):
            for dt in (f32, f16, i32):
                for inc in (True, False):
                    c.add(g.t(dt, [5, 3]), 0, g.idx([6, 3], 4), g.t(dt, [6, 3]), m, kw={"include_self": inc}, tags=["duplicates", m])
            c.add(g.t(f32, [4]), 0, torch.tensor([0, 1, 1, 2]), torch.tensor([1.0, NAN, 2.0, INF]), m, tags=["nan", m])
    if add:
        c.add(g.t(f32, [2]), 0, torch.zeros(g.i(200, 400), dtype=i64), g.t(f32, [400], "pos"), tags=["long", "duplicates"])
    x, tail = g.t(f32, [3, 4]), ["sum"] if red else []

    def e(cls, *a):
        a = list(a)
        if val:
            a[3] = 1.0
        c.err(cls, *a, *tail)
    one = g.t(f32, [1, 1])
    e("index", x, 1, torch.tensor([[4]]), one)
    e("index", x, 1, torch.tensor([[-1]]), one)
    e("shape", x, 1, torch.tensor([0]), one)
    e("shape", x, 1, torch.zeros(4, 2, dtype=i64), g.t(f32, [4, 2]))
    e("dtype", x, 1, torch.zeros(1, 1), one)
    e("index", x, 2, torch.zeros(1, 1, dtype=i64), one)
    if not val:
        e("dtype", x, 1, torch.zeros(1, 1, dtype=i64), g.t(f64, [1, 1]))
        e("shape", x, 1, torch.zeros(2, 2, dtype=i64), one)
    if red:
        c.err("value", x, 1, torch.zeros(1, 1, dtype=i64), one, "max")


@spec("masked_scatter", "index")
def _(c, g):
    for dt in ALL:
        for _ in range(3):
            s = g.shape(g.i(1, 4), 2)
            m = g.t(b8, g.pick([s, s, s[1:], [1] + s[1:]]))
            n = math.prod(s)
            c.add(g.t(dt, s), m, g.t(dt, g.pick([[n], [n + 3], s])), tags=["broadcast" if list(m.shape) != s else "same"])
    for lay in LAYS + ["CL"]:
        s = g.shape(4, 2)
        c.add(g.t(f32, s, "n", lay), g.t(b8, s), g.t(f32, s, "n", g.pick([None, "T"])), tags=["noncontiguous"])
    c.add(g.t(f32, [3]), g.t(b8, [2, 3]), g.t(f32, [6]), tags=["broadcast_self"])
    c.add(g.t(f32, [3]), torch.zeros(3, dtype=b8), g.t(f32, [0]), tags=["empty_source"])
    c.add(g.t(f32, [0, 3]), g.t(b8, [3]), g.t(f32, [0]), tags=["empty"])
    c.add(g.t(f32, []), torch.tensor(True), g.t(f32, [1]), tags=["zero_dim"])
    c.add(g.t(f32, [2, 4], "sp"), g.t(b8, [2, 4]), g.t(f32, [8], "sp"), tags=["special"])
    c.err("shape", g.t(f32, [4]), torch.ones(4, dtype=b8), g.t(f32, [3]))
    c.err("dtype", g.t(f32, [4]), torch.ones(4, dtype=b8), g.t(f64, [4]))
    c.err("dtype", g.t(f32, [4]), torch.ones(4), g.t(f32, [4]))
    c.err("shape", g.t(f32, [4]), torch.ones(3, dtype=b8), g.t(f32, [4]))
    c.err("dtype", g.t(f32, [4]), torch.ones(4, dtype=i64), g.t(f32, [4]))


@spec("masked_select", "index")
def _(c, g):
    for dt in ALL:
        for _ in range(3):
            a, b = bshapes(g)
            c.add(g.t(dt, a), g.t(b8, b), tags=["broadcast"])
        s = g.shape()
        c.add(g.t(dt, s), g.t(b8, s))
    for lay in LAYS + ["CL"]:
        s = g.shape(4, 2)
        c.add(g.t(f32, s, "n", lay), g.t(b8, s, "n", g.pick([None, lay])), tags=["noncontiguous"])
    for a, b in g.some(EPAIRS, 3):
        c.add(g.t(f32, a), g.t(b8, b), tags=["empty"])
    c.add(g.t(f32, [5]), torch.zeros(5, dtype=b8), tags=["none_selected"])
    for a, b in g.some(BADPAIRS, 4):
        c.err("shape", g.t(f32, a), g.t(b8, b))
    c.err("dtype", g.t(f32, [4]), torch.ones(4))
    c.err("dtype", g.t(f32, [4]), torch.ones(4, dtype=i64))


@spec("select_scatter", "index")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        k = g.i(0, r - 1)
        s = list(x.shape)
        n = s.pop(k)
        c.add(x, g.t(x.dtype, s, "n", g.pick([None, None, "T"])), g.neg(k, r), g.i(-n, n - 1), tags=t)
    mover(c, put, dts=ALL)
    c.add(g.t(f32, [3, 0]), g.t(f32, [0]), 0, 1, tags=["empty"])
    c.add(g.t(f32, [3, 2]), g.t(f64, [2]), 0, 1, tags=["cast"])
    x = g.t(f32, [3, 2])
    c.err("index", x, g.t(f32, [2]), 0, 3)
    c.err("index", x, g.t(f32, [2]), 0, -4)
    c.err("shape", x, g.t(f32, [3]), 0, 0)
    c.err("index", x, g.t(f32, [2]), 2, 0)
    c.err("shape", x, g.t(f32, [1, 2]), 0, 0)


@spec("slice_scatter", "index")
def _(c, g):
    def put(x, *t):
        r = x.dim()
        k = g.i(0, r - 1)
        n = x.shape[k]
        a = g.pick([None, 0, 1, g.i(-n, n)])
        b = g.pick([None, n, n + 5, g.i(-n, n), 2**63 - 1])
        st = g.i(1, 3)
        y = torch.ops.aten.slice.Tensor(x, k, a, b, st)
        c.add(x, g.t(x.dtype, list(y.shape)), g.neg(k, r), a, b, *([st] if st > 1 or g.flip() else []), tags=t)
    mover(c, put, dts=ALL)
    c.add(g.t(f32, [4, 3]), g.t(f32, [4, 3]), tags=["defaults"])
    c.add(g.t(f32, [4, 3]), g.t(f64, [2, 3]), 0, 1, 3, tags=["cast"])
    c.add(g.t(f32, [0, 3]), g.t(f32, [0, 3]), 0, 0, 2, tags=["empty"])
    x = g.t(f32, [4, 3])
    c.err("shape", x, g.t(f32, [3, 3]), 0, 0, 2)
    c.err("value", x, g.t(f32, [4, 3]), 0, 0, 4, 0)
    c.err("value", x, g.t(f32, [4, 3]), 0, 0, 4, -1)
    c.err("index", x, g.t(f32, [4, 3]), 2, 0, 4)
    c.err("shape", x, g.t(f32, [4, 2]), 0, 0, 4)


@spec("embedding", "index")
def _(c, g):
    for dt in F:
        for _ in range(9):
            v, d = g.i(2, 12), g.i(1, 9)
            full = [g.i(-1, v - 1), g.flip(), False]
            c.add(g.t(dt, [v, d]), g.idx(g.shape(g.i(0, 3)), v, g.pick([i64, i32])), *full[:g.i(0, 3)])
    for dt in I + [b8]:
        c.add(g.t(dt, [5, 3]), g.idx([4], 5), tags=["int"])
    for lay in LAYS[:4]:
        c.add(g.t(f32, [6, 4], "n", lay), g.idx([2, 3], 6), tags=["noncontiguous"])
    c.add(g.t(f32, [6, 4]), g.idx([3, 2], 6).t(), tags=["noncontiguous"])
    c.add(g.t(f32, [6, 4]), torch.zeros(0, dtype=i64), tags=["empty"])
    c.add(g.t(f32, [6, 0]), g.idx([3], 6), tags=["empty"])
    c.add(g.t(f32, [5, 6], "sp"), g.idx([4], 5), tags=["special"])
    w = g.t(f32, [5, 3])
    c.err("index", w, torch.tensor([5]))
    c.err("index", w, torch.tensor([0, -1]))
    c.err("dtype", w, torch.tensor([1.0]))
    c.err("shape", g.t(f32, [5]), torch.tensor([1]))
    c.err("dtype", w, torch.tensor([1], dtype=i16))
    c.err("shape", g.t(f32, [2, 3, 4]), torch.tensor([1]))


@spec("embedding_dense_backward", "index", "acc")
def _(c, g):
    for dt in F:
        for _ in range(10):
            v, d = g.i(2, 9), g.i(1, 6)
            s = g.shape(g.i(1, 3), 1)
            c.add(g.t(dt, s + [d]), g.idx(s, v, g.pick([i64, i32])), v, g.pick([-1, -1, 0, g.i(0, v - 1)]), g.flip(), tags=["duplicates"])
    c.add(g.t(f32, [4, 3], "n", "T"), g.idx([4], 5), 5, -1, False, tags=["noncontiguous"])
    c.add(g.t(f32, [0, 3]), torch.zeros(0, dtype=i64), 5, -1, False, tags=["empty"])
    c.err("shape", g.t(f32, [4, 3]), g.idx([3], 5), 5, -1, False)
    c.err("dtype", g.t(f32, [2, 3]), torch.tensor([0.0, 1.0]), 5, -1, False)


@spec("_embedding_bag", "index", "acc")
def _(c, g):
    for dt in (f32, f64, f16, bf16):
        for _ in range(11):
            v, d = g.i(3, 9), g.i(1, 8)
            it = g.pick([i64, i32])
            n, b = g.i(1, 10), g.i(1, 4)
            off = sorted([0] + [g.i(0, n) for _ in range(b - 1)])
            mode = g.i(0, 2)
            incl = g.flip(.3)
            if incl:
                off = off + [n]
            psw = g.t(dt, [n]) if mode == 0 and g.flip(.4) else None
            pad = g.pick([-1, -1, 0, v - 1])
            full = [False, mode, False, psw, incl, pad]
            k = 6 if pad != -1 else (5 if incl else (4 if psw is not None else g.i(2, 6)))
            c.add(g.t(dt, [v, d]), g.idx([n], v, it), torch.tensor(off, dtype=it), *full[:k], any=(1, 2, 3),
                  tags=[["sum", "mean", "max"][mode], "weighted" if psw is not None else "plain", "padding_idx" if pad >= 0 else "nopad"])
    c.add(g.t(f32, [4, 3]), torch.zeros(0, dtype=i64), torch.tensor([0, 0]), any=(1, 2, 3), tags=["empty"])
    c.add(g.t(f32, [4, 3]), torch.tensor([1, 2]), torch.tensor([0, 0, 2]), False, 1, any=(1, 2, 3), tags=["empty_bag"])
    w = g.t(f32, [4, 3])
    c.err("value", w, torch.tensor([0]), torch.tensor([1]))
    c.err("dtype", w, torch.tensor([0.0]), torch.tensor([0]))
    c.err("index", w, torch.tensor([4]), torch.tensor([0]))
    c.err("value", w, torch.tensor([0, 1]), torch.tensor([0, 3]))
    c.err("shape", w, torch.tensor([0, 1]), torch.tensor([0]), False, 0, False, g.t(f32, [3]))
    c.err("value", w, torch.tensor([0, 1]), torch.tensor([0]), False, 1, False, g.t(f32, [2]))
