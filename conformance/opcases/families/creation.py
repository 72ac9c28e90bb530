"""Cases of operators that create tensors."""

import torch

from encoding import ALL, F, I, INF, NAN, b8, c64, f32, f64, i16, i32, i64, i8, u16, u8
from cases import EMPTY, LAYS, spec


@spec("full", "creation")
def _(c, g):
    for v in (0, 1, 3, -2, 1.5, True, False, 2.0, NAN, INF):
        c.add(g.shape(g.i(0, 4)), v, tags=["infer_dtype"])
    for dt in ALL + [u16, c64]:
        for v in g.some([0, 1, 2.0, True, 7], 3):
            c.add(g.shape(g.i(0, 3)), v, kw={"dtype": dt}, tags=["dtype_arg"])
    c.add([2], 2.7, kw={"dtype": i32}, tags=["dtype_arg", "truncate"])
    c.add([2], complex(1, 2), tags=["complex"])
    for s in g.some(EMPTY, 3):
        c.add(s, 1.0, tags=["empty"])
    c.add(g.shape(5), 1.0, tags=["rank5"])
    c.add([2], 1.0, kw={"layout": torch.strided, "device": torch.device("cpu"), "pin_memory": False}, tags=["options"])
    for s in ([-1], [2, -3]):
        c.err("shape", s, 1.0)
    c.err("value", [2], 300, kw={"dtype": u8})
    c.err("value", [2], 1e10, kw={"dtype": i8})
    c.err("value", [2], complex(1, 2), kw={"dtype": f32})


@spec("full_like", "creation")
def _(c, g):
    for dt in ALL:
        for v in g.some([0, 1, 2.0, True, 5], 3):
            c.add(g.t(dt), v, tags=["like"])
        c.add(g.t(f32), g.pick([0, 1, 3]), kw={"dtype": dt}, tags=["dtype_arg"])
    for lay in LAYS + ["CL"]:
        c.add(g.t(f32, g.shape(4, 2), "n", lay), 2.5, tags=["noncontiguous"])
    c.add(g.t(f32, g.shape(4, 2)), 1.0, kw={"memory_format": torch.channels_last}, tags=["channels_last"])
    c.add(g.t(f32, g.shape(4, 2), "n", "CL"), 1.0, kw={"memory_format": torch.contiguous_format}, tags=["channels_last"])
    c.add(g.t(f32, g.shape(4, 2), "n", "CL"), 1.0, kw={"memory_format": torch.preserve_format}, tags=["channels_last"])
    c.add(g.t(f32, g.pick(EMPTY)), NAN, tags=["empty"])
    c.err("value", g.t(u8, [2]), 300)
    c.err("value", g.t(i8, [2]), 1e10)
    c.err("value", g.t(f32, [2]), complex(1, 2))
    c.err("shape", g.t(f32, [2, 3]), 1.0, kw={"memory_format": torch.channels_last})


@spec("ones zeros", "creation")
def _(c, g):
    for r in range(6):
        c.add(g.shape(r), tags=[f"rank{r}"])
    for dt in ALL + [u16, c64]:
        c.add(g.shape(g.i(0, 4)), kw={"dtype": dt}, tags=["dtype_arg"])
        c.add(g.shape(g.i(0, 4)), kw={"dtype": dt}, tags=["dtype_arg"])
    for s in EMPTY[:4]:
        c.add(s, tags=["empty"])
    c.add([2, 3], kw={"dtype": None, "layout": torch.strided, "device": torch.device("cpu"), "pin_memory": False}, tags=["options"])
    for s in ([-1], [2, -3], [-2, 0]):
        c.err("shape", s)


@spec("empty.memory_format", "creation")
def _(c, g):
    for r in range(6):
        c.add(g.shape(r), check="meta", tags=[f"rank{r}"])
    for dt in ALL + [u16, c64]:
        c.add(g.shape(g.i(0, 4)), kw={"dtype": dt}, check="meta", tags=["dtype_arg"])
    c.add(g.shape(4, 2), kw={"memory_format": torch.channels_last}, check="meta", tags=["channels_last"])
    c.add(g.shape(5, 2), kw={"memory_format": torch.channels_last_3d}, check="meta", tags=["channels_last_3d"])
    c.add(g.shape(4, 2), kw={"memory_format": torch.contiguous_format}, check="meta")
    for s in EMPTY[:4]:
        c.add(s, check="meta", tags=["empty"])
    for s in ([-1], [2, -3]):
        c.err("shape", s)
    c.err("shape", [2, 3], kw={"memory_format": torch.channels_last})
    c.err("shape", [2, 3, 4, 5], kw={"memory_format": torch.channels_last_3d})
    c.err("value", [2, 3, 4, 5], kw={"memory_format": torch.preserve_format})


@spec("empty_strided", "creation")
def _(c, g):
    for dt in ALL:
        s = g.shape(g.i(1, 4))
        st, acc = [0] * len(s), 1
        for k in g.perm(len(s)):
            st[k] = acc
            acc *= s[k]
        c.add(s, st, kw={"dtype": dt}, check="meta", tags=["permuted"])
        c.add(s, [2 * x for x in st], kw={"dtype": dt}, check="meta", tags=["gaps"])
    c.add([], [], check="meta", tags=["zero_dim"])
    c.add([0, 3], [3, 1], check="meta", tags=["empty"])
    c.add([3, 2], [0, 1], check="meta", tags=["stride0"])
    for _ in range(6):
        s = g.shape(g.i(1, 4))
        c.add(s, list(torch.empty(s).stride()), check="meta")
    c.err("shape", [2, 3], [1])
    c.err("value", [2, 3], [-3, 1])
    c.err("shape", [-1], [1])
    c.err("shape", [2], [1, 1])


@spec("arange", "creation", "trans")
def _(c, g):
    for v in g.some([0, 1, 5, 7, 10, 2.5, 3.0, 0.0, 0.1, 12.75, 33], 11):
        c.add(v, tags=["infer_dtype"])
    for dt in F + I:
        for v in g.some([1, 4, 9, 3.5, 17, 21], 4):
            c.add(v, kw={"dtype": dt}, tags=["dtype_arg"])
    c.add(g.i(60, 200), tags=["long"])
    c.err("value", -1)
    c.err("value", -0.5)
    c.err("value", INF)
    c.err("value", NAN)
    c.err("value", -3, kw={"dtype": f32})


@spec("arange.start_step arange.start", "creation", "trans")
def _(c, g):
    step = "step" in c.name
    for _ in range(25):
        if g.flip():
            st = g.pick([1, 2, 3, -1, -2, 5])
            a, n = g.i(-6, 6), g.i(0, 20)
            b = a + n * (st if step else 1)
        else:
            st = g.pick([0.5, 0.1, 1.0, -0.25, 0.3, 2.0])
            a = g.pick([0, 0.5, -1.25, 1, g.f()])
            b = a + g.i(1, 14) * (st if step else 1.0) + (st if step else 1) * 0.3
        kw = {"dtype": g.pick(F + I[2:])} if g.flip(.5) else {}
        if kw and kw["dtype"] == u8:
            kw = {}
        c.add(a, b, *([st] if step and (g.flip(.85) or (b - a) * st < 0 or b < a) else []), kw=kw,
              tags=["float_step" if isinstance(st, float) and step else "range", "dtype_arg" if kw else "infer_dtype"])
    for dt in F + I:
        c.add(g.i(0, 3), g.i(4, 30), *([g.i(1, 4)] if step else []), kw={"dtype": dt}, tags=["dtype_arg"])
    c.add(3, 3, tags=["empty"])
    c.err("value", 5, 2)
    c.err("value", 0, NAN)
    c.err("value", 0, INF)
    if step:
        c.err("value", 0, 5, 0)
        c.err("value", 0, 5, -1)
        c.err("value", 5, 0, 0.5)
    c.err("value", 2.5, -1.0)


@spec("scalar_tensor", "creation")
def _(c, g):
    for v in (0, 1, -3, 2.5, True, False, 1e10, NAN, INF, -INF, -0.0, 12345, 0.1):
        c.add(v, tags=["infer_dtype"])
    for dt in ALL + [u16]:
        for v in g.some([0, 1, 2.0, True, 7, 0.5 if dt.is_floating_point else 3, 100], 3):
            c.add(v, kw={"dtype": dt}, tags=["dtype_arg"])
    c.add(complex(1, 2), kw={"dtype": c64}, tags=["complex"])
    for v, dt in ((300, u8), (1e10, i8), (complex(1, 2), f32), (2**40, i32), (1e30, i64)):
        c.err("value", v, kw={"dtype": dt})


@spec("rand randn", "creation")
def _(c, g):
    for r in range(6):
        c.add(g.shape(r), check="meta", tags=[f"rank{r}"])
    for dt in F:
        c.add(g.shape(), kw={"dtype": dt}, check="meta", tags=["dtype_arg"])
    for s in EMPTY[:4]:
        c.add(s, check="meta", tags=["empty"])
    c.err("shape", [-1])
    c.err("shape", [2, -2])
    for dt in (i32, i64, b8):
        c.err("dtype", [3], kw={"dtype": dt})


@spec("randperm", "creation")
def _(c, g):
    for n in g.some(range(0, 40), 8):
        c.add(n, check="meta")
    for dt in (i64, i32, i16, u8, i8, f32, f64):
        c.add(g.i(1, 60), kw={"dtype": dt}, check="meta", tags=["dtype_arg"])
    c.add(0, tags=["empty"])
    c.add(1, tags=["size1"])
    c.err("value", -1)
    c.err("value", 300, kw={"dtype": u8})
    c.err("value", 200, kw={"dtype": i8})


@spec("native_dropout", "random", "values")
def _(c, g):
    for dt in F:
        c.add(g.t(dt), g.pick([0.3, 0.5]), True, check="meta", tags=["train"])
        c.add(g.t(dt), 0.5, False, tags=["eval"])
        c.add(g.t(dt), 0.0, True, tags=["p0"])
        c.add(g.t(dt), 1.0, True, tags=["p1"])
        c.add(g.t(dt), 0.4, None, check="meta", tags=["train_none"])
        c.add(g.t(dt, g.shape(3, 2), "n", g.pick(LAYS)), 0.25, False, tags=["noncontiguous"])
        c.add(g.t(dt, g.shape(3, 2), "n", g.pick(LAYS)), 0.25, True, check="meta", tags=["noncontiguous"])
    c.add(g.t(f32, [0, 3]), 0.5, True, tags=["empty"])
    c.add(g.t(f32, []), 0.5, False, tags=["zero_dim"])
    c.err("value", g.t(f32, [3]), 1.5, True)
    c.err("value", g.t(f32, [3]), -0.1, True)
