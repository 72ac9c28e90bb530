"""Cases of norms and of Fourier transforms."""
import math

import torch

from encoding import F, bf16, c128, c64, f16, f32, f64, i32
from cases import LAYS, spec


@spec("native_layer_norm", "norm", "acc")
def _(c, g):
    for dt in F:
        for _ in range(9):
            r = g.i(1, 4)
            s = g.shape(r, 2)
            k = g.i(1, r)
            ns = s[-k:]
            c.add(g.t(dt, s), ns, g.t(dt, ns) if g.flip(.7) else None, g.t(dt, ns) if g.flip(.6) else None, g.pick([1e-5, 1e-3, 1e-6]),
                  tags=["affine"])
    for dt in (f16, bf16):
        c.add(g.t(dt, [3, 8]), [8], g.t(f32, [8]), g.t(f32, [8]), 1e-5, tags=["mixed_dtype"])
    for lay in LAYS + ["CL"]:
        s = g.shape(4, 2)
        c.add(g.t(f32, s, "n", lay), s[2:], g.t(f32, s[2:]), None, 1e-5, tags=["noncontiguous"])
    n = g.i(100, 300)
    c.add(g.t(f32, [2, n]), [n], g.t(f32, [n]), g.t(f32, [n]), 1e-5, tags=["long"])
    c.add(torch.full([2, 4], 3.0), [4], None, None, 1e-5, tags=["constant"])
    c.add(g.t(f32, [2, 4], "nan"), [4], None, None, 1e-5, tags=["nan"])
    c.add(g.t(f32, [0, 4]), [4], g.t(f32, [4]), None, 1e-5, tags=["empty"])
    x = g.t(f32, [2, 3, 4])
    c.err("shape", x, [3], None, None, 1e-5)
    c.err("shape", x, [], None, None, 1e-5)
    c.err("shape", x, [4], g.t(f32, [3]), None, 1e-5)
    c.err("shape", x, [4], None, g.t(f32, [3, 4]), 1e-5)
    c.err("shape", x, [2, 2, 3, 4], None, None, 1e-5)


@spec("native_layer_norm_backward", "norm", "acc")
def _(c, g):
    for dt in F:
        for _ in range(11):
            r = g.i(1, 3)
            s = g.shape(r, 2)
            k = g.i(1, r)
            ns = s[-k:]
            x = g.t(dt, s, "n", g.pick([None, None, None, "T"]) if r > 1 else None)
            w = g.t(dt, ns) if g.flip(.7) else None
            b = g.t(dt, ns) if w is not None and g.flip(.7) else None
            _, m, rs = torch.ops.aten.native_layer_norm(x, ns, w, b, 1e-5)
            c.add(g.t(dt, s), x, ns, m, rs, w, b, [g.flip(.8), w is not None and g.flip(.8), b is not None and g.flip(.8)])
    x = g.t(f32, [2, 4])
    m = torch.zeros(2, 1)
    c.add(g.t(f32, [0, 4]), g.t(f32, [0, 4]), [4], torch.zeros(0, 1), torch.ones(0, 1), g.t(f32, [4]), g.t(f32, [4]), [True, True, True], tags=["empty"])
    c.err("shape", g.t(f32, [2, 4]), x, [3], m, m, None, None, [True, False, False])
    c.err("shape", g.t(f32, [2, 4]), x, [4], m, m, g.t(f32, [3]), None, [True, True, False])
    c.err("shape", g.t(f32, [2, 4]), x, [], m, m, None, None, [True, False, False])
    c.err("shape", g.t(f32, [2, 4]), x, [1, 2, 4], m, m, None, None, [True, False, False])


@spec("native_group_norm", "norm", "acc")
def _(c, g):
    for dt in F:
        for _ in range(11):
            gr = g.i(1, 3)
            N, C = g.i(1, 3), gr * g.i(1, 3)
            sp = g.shape(g.i(0, 3), 1, 4)
            x = g.t(dt, [N, C] + sp, "n", g.pick([None, None, None, "CL", "S"]) if len(sp) == 2 else None)
            c.add(x, g.t(dt, [C]) if g.flip(.7) else None, g.t(dt, [C]) if g.flip(.6) else None, N, C, math.prod(sp), gr, g.pick([1e-5, 1e-3]))
    for dt in (f16, bf16):
        c.add(g.t(dt, [2, 4, 3]), g.t(f32, [4]), g.t(f32, [4]), 2, 4, 3, 2, 1e-5, tags=["mixed_dtype"])
    c.add(torch.full([1, 2, 4], 3.0), None, None, 1, 2, 4, 1, 1e-5, tags=["constant"])
    c.add(g.t(f32, [0, 4, 3]), None, None, 0, 4, 3, 2, 1e-5, tags=["empty"])
    c.add(g.t(f32, [1, 2, 4], "nan"), None, None, 1, 2, 4, 2, 1e-5, tags=["nan"])
    x = g.t(f32, [2, 4, 3])
    c.err("value", x, None, None, 2, 4, 3, 3, 1e-5)
    c.err("shape", x, g.t(f32, [3]), None, 2, 4, 3, 2, 1e-5)
    c.err("shape", x, None, g.t(f32, [5]), 2, 4, 3, 2, 1e-5)
    c.err("shape", x, None, None, 2, 4, 5, 2, 1e-5)
    c.err("value", x, None, None, 2, 4, 3, 0, 1e-5)


@spec("native_group_norm_backward", "norm", "acc")
def _(c, g):
    for dt in F:
        for _ in range(18):
            gr = g.i(1, 3)
            N, C = g.i(1, 3), gr * g.i(1, 3)
            sp = g.shape(g.i(0, 2), 1, 4)
            x = g.t(dt, [N, C] + sp)
            w = g.t(dt, [C]) if g.flip(.7) else None
            b = g.t(dt, [C]) if g.flip(.6) else None
            _, m, rs = torch.ops.aten.native_group_norm(x, w, b, N, C, math.prod(sp), gr, 1e-5)
            c.add(g.t(dt, [N, C] + sp), x, m, rs, w, N, C, math.prod(sp), gr, [g.flip(.8), g.flip(.8), g.flip(.8)])
    x, m = g.t(f32, [2, 4, 3]), torch.zeros(2, 2)
    for a in ((x, m, m, None, 2, 4, 3, 3), (x, torch.zeros(2, 3), m, None, 2, 4, 3, 2), (x, m, m, g.t(f32, [3]), 2, 4, 3, 2), (x, m, m, None, 2, 4, 5, 2)):
        c.err("shape", g.t(f32, [2, 4, 3]), *a, [True, True, True])


def bn_in(g, dt):
    C = g.i(1, 4)
    r = g.i(0, 3)
    s = [g.i(2, 4), C] + g.shape(r, 2, 4)
    return C, g.t(dt, s, "n", g.pick([None, None, "CL", "P"]) if r == 2 else None)


@spec("_native_batch_norm_legit_no_training", "norm", "acc")
def _(c, g):
    for dt in F:
        for _ in range(11):
            C, x = bn_in(g, dt)
            c.add(x, g.t(dt, [C]) if g.flip(.7) else None, g.t(dt, [C]) if g.flip(.7) else None, g.t(dt, [C]), g.t(dt, [C], "pos"), 0.1, g.pick([1e-5, 1e-3]))
    for dt in (f16, bf16):
        c.add(g.t(dt, [2, 4, 3]), g.t(f32, [4]), g.t(f32, [4]), g.t(f32, [4]), g.t(f32, [4], "pos"), 0.1, 1e-5, tags=["mixed_dtype"])
    c.add(g.t(f32, [0, 4, 3]), None, None, g.t(f32, [4]), g.t(f32, [4], "pos"), 0.1, 1e-5, tags=["empty"])
    c.err("shape", g.t(f32, [3]), None, None, g.t(f32, [3]), g.t(f32, [3], "pos"), 0.1, 1e-5)


@spec("_native_batch_norm_legit", "norm", "acc")
def _(c, g):
    for dt in F:
        for _ in range(11):
            C, x = bn_in(g, dt)
            tr = g.flip(.6)
            c.add(x, g.t(dt, [C]) if g.flip(.7) else None, g.t(dt, [C]) if g.flip(.7) else None, g.t(dt, [C]), g.t(dt, [C], "pos"), tr,
                  g.pick([0.1, 0.3, 0.0, 1.0]), g.pick([1e-5, 1e-3]), tags=["training" if tr else "eval"])
    for dt in (f16, bf16):
        c.add(g.t(dt, [2, 4, 3]), g.t(f32, [4]), g.t(f32, [4]), g.t(f32, [4]), g.t(f32, [4], "pos"), True, 0.1, 1e-5, tags=["mixed_dtype", "training"])


@spec("_native_batch_norm_legit.no_stats", "norm", "acc")
def _(c, g):
    for dt in F:
        for _ in range(11):
            C, x = bn_in(g, dt)
            c.add(x, g.t(dt, [C]) if g.flip(.7) else None, g.t(dt, [C]) if g.flip(.7) else None, True, 0.1, g.pick([1e-5, 1e-3]), tags=["training"])
    for dt in (f16, bf16):
        c.add(g.t(dt, [2, 4, 3]), g.t(f32, [4]), g.t(f32, [4]), True, 0.1, 1e-5, tags=["mixed_dtype"])
    c.err("shape", g.t(f32, [3]), None, g.t(f32, [2]), True, 0.1, 1e-5)


@spec("_fft_r2c", "fft", "acc")
def _(c, g):
    for dt in (f32, f64):
        for _ in range(24):
            r = g.i(1, 3)
            s = g.shape(r, 2, 8)
            d = g.some(range(r), g.i(1, r))
            c.add(g.t(dt, s, "n", g.pick([None, None, None, "T", "S"])), d, g.i(0, 2), g.flip(.7), tags=["onesided"])
    c.add(g.t(f32, [0, 4]), [1], 0, True, tags=["empty"])
    c.add(g.t(f32, [g.i(60, 130)]), [0], 0, True, tags=["long"])
    c.err("dtype", g.t(i32, [4]), [0], 0, True)
    c.err("dtype", g.t(c64, [4]), [0], 0, True)


@spec("_fft_c2r", "fft", "acc")
def _(c, g):
    for dt in (c64, c128):
        for _ in range(24):
            r = g.i(1, 3)
            s = g.shape(r, 2, 7)
            d = g.some(range(r), g.i(1, r))
            n = 2 * (s[d[-1]] - 1) + g.i(0, 1)
            c.add(g.t(dt, s, "n", g.pick([None, None, None, "T", "S"])), d, g.i(0, 2), n, tags=["odd" if n % 2 else "even"])
    n = g.i(30, 60)
    c.add(g.t(c64, [n]), [0], 2, 2 * (n - 1), tags=["long"])
    c.err("dtype", g.t(f32, [4]), [0], 0, 6)
    c.err("value", g.t(c64, [4]), [0], 0, 0)
