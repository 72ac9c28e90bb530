"""Runs cases in PyTorch and checks results."""
import collections
import hashlib
import json
import math
import re
import warnings

import torch

from cases import Cases, Gen, SPECS, find_op
from encoding import (
    DT, NAME, NAN, SHORT, b8, bf16, c128, c64, dec, enc, f16, f32, f64, i16, i32, i64)

TOL = {  # class -> dtype -> (rtol, atol)
    "arith": {f64: (1e-14, 1e-300), f32: (1e-6, 1e-37), f16: (1e-3, 6e-8), bf16: (8e-3, 1e-38)},
    "trans": {f64: (1e-12, 1e-14), f32: (2e-6, 1e-7), f16: (2e-3, 1e-5), bf16: (1.6e-2, 1e-5)},
    "acc": {f64: (1e-11, 1e-12), f32: (1e-5, 1e-6), f16: (4e-3, 1e-3), bf16: (2e-2, 1e-3)},
    "values": {f64: (0, 0), f32: (0, 0), f16: (0, 0), bf16: (0, 0)},
}
BASE = {c64: f32, c128: f64}
DEBUG = False
MAXSCALE = {"arith": 4, "trans": 16, "acc": 64, "values": 1}
UNCLEAR = re.compile(r'" not implemented for|INTERNAL ASSERT|does not have a device|' r"Could not run|missing value for argument|Expected a value of type|"
                     r"unsupported operand|has no attribute|not defined|incompatible function|name '.*' is not|site-packages|[\s\"'(]/\w+/\w")
FALLBACK_OK = re.compile(r'"[\w:]+" not implemented for')


def clone_arg(v):
    return dec(enc(v)) if isinstance(v, torch.Tensor) else [clone_arg(x) for x in v] if isinstance(v, (list, tuple)) else v


def typed(op):
    return [(a.name, str(a.type)) for a in op._schema.arguments]


def encode_call(op, args, kwargs):
    ty = typed(op)
    names = dict(ty)
    return ([enc(a, ty[k][1]) for k, a in enumerate(args)], {k: enc(v, names.get(k, "")) for k, v in kwargs.items()})


def as_list(r):
    return [r] if not isinstance(r, (tuple, list)) else list(r)


def flat(r):
    out = []
    for x in r:
        out += x if isinstance(x, (list, tuple)) else [x]
    return out


def call(op, eargs, ekw):
    """Decode arguments, run, and return (results, name -> mutated tensor)."""
    args, kw = [dec(a) for a in eargs], {k: dec(v) for k, v in ekw.items()}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        r = op(*args, **kw)
    if "[]" in str(op._schema.returns[0].type) or "List" in str(op._schema.returns[0].type):
        res = [list(r)]
    else:
        res = list(r) if isinstance(r, tuple) else [r]
    mut = {}
    for k, a in enumerate(op._schema.arguments):
        if a.alias_info is not None and a.alias_info.is_write and not a.is_out and op._schema.name.split("::")[1][-1] != "_":
            mut[a.name] = args[k] if k < len(args) else kw.get(a.name)
    return res, mut


def sym(v):
    if isinstance(v, (torch.SymInt, torch.SymBool, torch.SymFloat)):
        return v.node.maybe_as_int() if isinstance(v, torch.SymInt) else bool(v)
    return v


def same(a, b):
    """Bit equality, any NaN equal to any NaN."""
    if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
        return False
    if not isinstance(a, torch.Tensor):
        if isinstance(a, (list, tuple)):
            return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
        if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
            return True
        return type(a) is type(b) and a == b
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.numel() == 0:
        return True
    a, b = a.contiguous(), b.contiguous()
    if a.dtype.is_complex:
        a, b = torch.view_as_real(a).contiguous(), torch.view_as_real(b).contiguous()
    if a.dtype.is_floating_point:
        na, nb = a.isnan(), b.isnan()
        if not torch.equal(na, nb):
            return False
        it = {2: i16, 4: i32, 8: i64}[a.element_size()]
        return bool(((a.view(it) == b.view(it)) | na).all())
    return torch.equal(a, b)


def up(v):
    if isinstance(v, torch.Tensor):
        return v.to(f64) if v.dtype in (f32, f16, bf16) else v.to(c128) if v.dtype == c64 else v
    if isinstance(v, (list, tuple)):
        return [up(x) for x in v]
    return f64 if isinstance(v, torch.dtype) and v in (f32, f16, bf16) else v


def ref_scale(op, eargs, ekw, outs, tol, scale_max):
    """Widen tol until a double precision evaluation passes with margin 2; None if it never does."""
    low = [o for o in outs if isinstance(o, torch.Tensor) and o.dtype in (f32, f16, bf16, c64)]
    if not low:
        return 1
    args, kw = [up(dec(a)) for a in eargs], {k: up(dec(v)) for k, v in ekw.items()}
    if "out" in kw:
        return 1
    try:
        with torch.no_grad():
            r = op(*args, **kw)
    except Exception:
        return 1
    ref = flat([list(r) if isinstance(r, tuple) else r])
    ref = [x for y in ref for x in (y if isinstance(y, (list, tuple)) else [y])]
    diffs = []
    for o, q in zip(outs, ref):
        if not isinstance(o, torch.Tensor) or o.dtype not in (f32, f16, bf16, c64) or not isinstance(q, torch.Tensor):
            continue
        if o.shape != q.shape:
            return None
        if not (q.dtype.is_floating_point or q.dtype.is_complex):
            continue
        q = q.to(o.dtype)
        if o.dtype.is_complex:
            o, q = torch.view_as_real(o), torch.view_as_real(q)
        o, q = o.to(f64), q.to(f64)
        bad = o.isnan() != q.isnan()
        fin = o.isfinite() & q.isfinite()
        bad |= (o.isinf() | q.isinf()) & (o != q)
        if bad.any():
            return None
        diffs.append(((o - q).abs()[fin], o.abs()[fin]))
    s = 1
    while s <= scale_max:
        rt, at = scaled(tol, s)
        if all(bool((2 * d <= at + rt * m).all()) for d, m in diffs):
            return s
        s *= 2
    return None


def scaled(tol, s):
    return min(tol[0] * min(s, 4), max(tol[0], 0.05)), tol[1] * s


def undefined_cast(op, case, res):
    """Conversions of floats outside the range of an integer type are undefined."""
    if not re.search(r"_to_copy|::copy|dim_order_copy|convert_element|::fill", op._schema.name) or not isinstance(res[0], torch.Tensor):
        return False
    dt = res[0].dtype
    if dt.is_floating_point or dt.is_complex or dt == b8:
        return False
    info = torch.iinfo(dt)
    for x in all_tensors(case.args[:2]):
        if x.dtype.is_floating_point and x.numel():
            y = x.to(f64).trunc()
            if not bool((y.isfinite() & (y >= info.min) & (y <= info.max)).all()):
                return True
    return False


def all_tensors(vs):
    for v in vs:
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from all_tensors(v)


def auto_tags(case):
    t = list(dict.fromkeys(case.tags))
    ts = list(all_tensors(case.args)) + list(all_tensors(case.kwargs.values()))
    for x in ts:
        if x.numel() == 0:
            t.append("empty")
        elif x.dim() == 0:
            t.append("zero_dim")
        if not x.is_contiguous():
            if (x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)) or (
                    x.dim() == 5 and x.is_contiguous(memory_format=torch.channels_last_3d)):
                t.append("channels_last")
            else:
                t.append("noncontiguous")
        if x.storage_offset():
            t.append("offset")
        if x.dtype.is_floating_point and x.numel():
            if x.isnan().any():
                t.append("nan")
            if x.isinf().any():
                t.append("inf")
    drop = {"n", "sp", "unit", "pos", "gt1", "half", "big", "tie", "nz", "wide", "clamp", "plain"}
    return [x for x in dict.fromkeys(t) if x not in drop]


def run_case(op, case, tolclass, stats):
    if sum(x.numel() for x in all_tensors(case.args)) > 6000:
        stats["too_large"] += 1
        return None
    eargs, ekw = encode_call(op, case.args, case.kwargs)
    out = {"id": "", "args": eargs, "kwargs": ekw}
    if case.err:
        try:
            call(op, eargs, ekw)
        except Exception as e:  # noqa: BLE001
            msg = str(e).split("\n")[0].strip()[:300]
            if UNCLEAR.search(msg) and not (case.err == "dtype" and FALLBACK_OK.search(msg)):
                stats["error_unclear"] += 1
                if DEBUG:
                    print("  unclear:", op, msg[:150])
                return None
            out["error"] = {"class": case.err, "torch_message": msg}
            out["tags"] = auto_tags(case) + ["error"]
            return out
        stats["error_not_raised"] += 1
        if DEBUG:
            print("  not raised:", op, [k if "tensor" not in k else k["tensor"]["shape"] for k in eargs])
        return None
    try:
        r1, m1 = call(op, eargs, ekw)
    except Exception as e:  # noqa: BLE001
        stats["unsupported"] += 1
        if DEBUG:
            print("  unsupported:", op, str(e).split("\n")[0][:150])
        return None
    if case.check != "meta":
        for _ in range(2):
            torch.empty(4096).fill_(NAN)
            r2, m2 = call(op, eargs, ekw)
            if not all(same(a, b) for k, (a, b) in enumerate(zip(r1, r2)) if k not in case.any) or not all(same(m1[k], m2[k]) for k in m1):
                stats["nondeterministic"] += 1
                return None
    outs = [x for k, x in enumerate(r1) if k not in case.any]
    ft = [x for x in list(all_tensors(outs)) + list(m1.values()) if x.dtype.is_floating_point or x.dtype.is_complex]
    for x in all_tensors(outs):
        if x.numel() > 4096:
            stats["too_large"] += 1
            return None
    if undefined_cast(op, case, r1):
        stats["undefined_cast"] += 1
        return None
    check, tol = case.check, (0.0, 0.0)
    if check is None:
        check = "bits" if tolclass == "bits" or not ft else "values"
    if check == "values":
        ds = {BASE.get(x.dtype, x.dtype) for x in ft}
        cand = [TOL[tolclass][d] for d in ds if d in TOL[tolclass]]
        tol = (max(x[0] for x in cand), max(x[1] for x in cand))
        if case.tol:
            tol = case.tol
        elif case.ref and tolclass != "values":
            s = ref_scale(op, eargs, ekw, flat(r1) if len(r1) == 1 else r1, tol, MAXSCALE[tolclass])
            if s is None:
                stats["ill_conditioned"] += 1
                return None
            tol = scaled(tol, s)
    ty = [str(a.type) for a in op._schema.returns]
    out["expect"] = []
    for k, x in enumerate(r1):
        x = sym(x)
        if k in case.any:
            out["expect"].append({"any": True})
        elif check == "meta" and isinstance(x, torch.Tensor):
            d = {"dtype": NAME[x.dtype], "shape": list(x.shape)}
            if not x.is_contiguous():
                d["strides"] = list(x.stride())
            out["expect"].append({"tensor": d})
        else:
            out["expect"].append(enc(x, ty[min(k, len(ty) - 1)], rebase=True))
    if m1:
        out["mutated"] = {k: enc(v, "", rebase=True) for k, v in m1.items()}
    out["check"] = check
    if check == "values":
        out["rtol"], out["atol"] = float(f"{tol[0]:.3g}"), float(f"{tol[1]:.3g}")
    out["tags"] = auto_tags(case)
    return out


def first_dtype(c):
    for a in list(c["args"]) + list(c["kwargs"].values()):
        if "tensor" in a:
            return SHORT[DT[a["tensor"]["dtype"]]]
        for k in ("tensors", "optional_tensors"):
            for x in a.get(k, []):
                if x:
                    return SHORT[DT[x["dtype"]]]
    for a in c["kwargs"].values():
        if "scalar_type" in a:
            return SHORT[DT[a["scalar_type"]]]
    return "any"


def case_key(c):
    return hashlib.sha256(json.dumps([c["args"], c["kwargs"]], sort_keys=True).encode()).hexdigest()


def select(cases, cap, r):
    """Greedy cover of (dtype, tag) features, then random fill; keeps generation order."""
    if len(cases) <= cap:
        return cases
    def feats(c):
        d = first_dtype(c)
        return {("d", d)} | {("t", t) for t in c["tags"]} | {("dt", d, t) for t in c["tags"]}
    order = [int(x) for x in r.permutation(len(cases))]
    fs = {k: feats(cases[k]) for k in order}
    seen, keep = set(), []
    while order and len(keep) < cap:
        best = max(order, key=lambda k: len(fs[k] - seen))
        keep.append(best)
        seen |= fs[best]
        order.remove(best)
        if not any(fs[k] - seen for k in order):
            keep += order[:cap - len(keep)]
            break
    return [cases[k] for k in sorted(keep)]


def generate(name, seed, cap, errcap):
    family, tolclass, fn = SPECS[name]
    op = find_op(name)
    g = Gen([seed, int(hashlib.sha256(name.encode()).hexdigest()[:12], 16)])
    c = Cases(g, name)
    torch.manual_seed(seed)
    fn(c, g)
    stats = collections.Counter()
    good, errs, seen = [], [], set()
    for case in c.list:
        tc = tolclass
        if name.startswith("aten.scatter.") or (name.startswith("aten.index_put") and "accumulate" not in case.tags):
            tc = "bits"  # pure data movement
        q = run_case(op, case, tc, stats)
        if q is None:
            continue
        key = case_key(q)
        if key in seen:
            stats["duplicate"] += 1
            continue
        seen.add(key)
        (errs if "error" in q else good).append(q)
    errs = errs[:errcap]
    good = select(good, cap - len(errs), g.r)
    n = collections.Counter()
    for q in good + errs:
        lead = next((t for t in q["tags"] if t != "error"), "case") if "error" not in q else "error_" + q["error"]["class"]
        stem = f"{first_dtype(q)}_{lead}"
        q["id"] = f"{stem}_{n[stem]}"
        n[stem] += 1
    tags = {"core": torch.Tag.core in op.tags, "view_copy": torch.Tag.view_copy in op.tags,
            "pointwise": torch.Tag.pointwise in op.tags, "portable": name in PORTABLE,
            "quantized": name.startswith("quantized_decomposed."), "dim_order": name.startswith("dim_order_ops.")}
    return {"op": name, "schema": str(op._schema), "family": family, "tags": tags, "cases": good + errs}, stats


def check_file(path):
    """Re-run every case of one file against this PyTorch; return a list of failures."""
    d = json.load(open(path))
    op = find_op(d["op"] if d["op"].count(".") == 2 else d["op"] + ".default")
    bad = []
    for c in d["cases"]:
        try:
            r, m = call(op, c["args"], c["kwargs"])
        except Exception as e:  # noqa: BLE001
            if "error" not in c or str(e).split("\n")[0].strip()[:300] != c["error"]["torch_message"]:
                bad.append((d["op"], c["id"], "raised: " + str(e).split("\n")[0][:120]))
            continue
        if "error" in c:
            bad.append((d["op"], c["id"], "did not raise"))
            continue
        if len(r) != len(c["expect"]):
            bad.append((d["op"], c["id"], "result count"))
            continue
        for x, e in zip(r, c["expect"]):
            x = sym(x)
            if "any" in e:
                continue
            if c["check"] == "meta" and "tensor" in e:
                st = e["tensor"].get("strides")
                if NAME[x.dtype] != e["tensor"]["dtype"] or list(x.shape) != e["tensor"]["shape"] or (st and list(x.stride()) != st):
                    bad.append((d["op"], c["id"], "meta"))
                continue
            if not same(x, dec(e)):
                bad.append((d["op"], c["id"], "value"))
            elif isinstance(x, torch.Tensor) and ("strides" in e["tensor"]) != (not x.is_contiguous()):
                bad.append((d["op"], c["id"], "layout"))
        for k, e in c.get("mutated", {}).items():
            if not same(m[k], dec(e)):
                bad.append((d["op"], c["id"], "mutated " + k))
    return bad, len(d["cases"])


PORTABLE = set("""aten._adaptive_avg_pool2d.default aten._cdist_forward.default aten._conj_physical.default
aten._log_softmax.default aten._native_batch_norm_legit.default aten._native_batch_norm_legit.no_stats
aten._native_batch_norm_legit_no_training.default aten._pdist_forward.default aten._softmax.default
aten._to_copy.default aten._upsample_bilinear2d_aa.default aten.abs.default aten.acos.default
aten.acosh.default aten.add.Scalar aten.add.Tensor aten.addmm.default aten.alias_copy.default
aten.amax.default aten.amin.default aten.any.default aten.any.dim aten.any.dims aten.arange.default
aten.arange.start_step aten.argmax.default aten.argmin.default aten.as_strided_copy.default aten.asin.default
aten.asinh.default aten.atan.default aten.atan2.default aten.atanh.default aten.avg_pool2d.default
aten.bitwise_and.Scalar aten.bitwise_and.Tensor aten.bitwise_left_shift.Tensor
aten.bitwise_left_shift.Tensor_Scalar aten.bitwise_not.default aten.bitwise_or.Scalar aten.bitwise_or.Tensor
aten.bitwise_right_shift.Tensor aten.bitwise_right_shift.Tensor_Scalar aten.bitwise_xor.Scalar
aten.bitwise_xor.Tensor aten.bmm.default aten.cat.default aten.ceil.default aten.clamp.Tensor
aten.clamp.default aten.clone.default aten.constant_pad_nd.default aten.convolution.default
aten.convolution_backward.default aten.copy.default aten.cos.default aten.cosh.default aten.cumsum.default
aten.detach_copy.default aten.diagonal_copy.default aten.div.Scalar aten.div.Scalar_mode aten.div.Tensor
aten.div.Tensor_mode aten.elu.default aten.embedding.default aten.empty.memory_format aten.eq.Scalar
aten.eq.Tensor aten.erf.default aten.exp.default aten.expand_copy.default aten.expm1.default aten.fill.Scalar
aten.fill.Tensor aten.flip.default aten.floor.default aten.floor_divide.default aten.fmod.Scalar
aten.fmod.Tensor aten.full.default aten.full_like.default aten.gather.default aten.ge.Scalar aten.ge.Tensor
aten.gelu.default aten.glu.default aten.grid_sampler_2d.default aten.gt.Scalar aten.gt.Tensor
aten.hardtanh.default aten.index.Tensor aten.index_put.default aten.index_select.default aten.isinf.default
aten.isnan.default aten.le.Scalar aten.le.Tensor aten.leaky_relu.default aten.lift_fresh_copy.default
aten.log.default aten.log10.default aten.log1p.default aten.log2.default aten.logical_and.default
aten.logical_not.default aten.logical_or.default aten.logical_xor.default aten.logit.default aten.lt.Scalar
aten.lt.Tensor aten.masked_fill.Scalar aten.masked_scatter.default aten.masked_select.default aten.max.default
aten.max.dim aten.max_pool2d_with_indices.default aten.max_pool2d_with_indices_backward.default
aten.maximum.default aten.mean.default aten.mean.dim aten.min.default aten.min.dim aten.minimum.default
aten.mm.default aten.mul.Scalar aten.mul.Tensor aten.narrow_copy.default aten.native_dropout.default
aten.native_group_norm.default aten.native_layer_norm.default aten.ne.Scalar aten.ne.Tensor aten.neg.default
aten.nonzero.default aten.ones.default aten.permute_copy.default aten.pixel_shuffle.default
aten.pixel_unshuffle.default aten.pow.Scalar aten.pow.Tensor_Scalar aten.pow.Tensor_Tensor aten.prod.default
aten.prod.dim_int aten.rand.default aten.randn.default aten.reciprocal.default aten.reflection_pad1d.default
aten.reflection_pad2d.default aten.reflection_pad3d.default aten.relu.default aten.remainder.Scalar
aten.remainder.Tensor aten.repeat.default aten.repeat_interleave.Tensor aten.replication_pad1d.default
aten.replication_pad2d.default aten.replication_pad3d.default aten.roll.default aten.round.default
aten.rsqrt.default aten.rsub.Scalar aten.scalar_tensor.default aten.scatter.src aten.scatter.value
aten.scatter_add.default aten.select_copy.int aten.select_scatter.default aten.sigmoid.default
aten.sign.default aten.sin.default aten.sinh.default aten.slice_copy.Tensor aten.slice_scatter.default
aten.split_copy.Tensor aten.split_with_sizes_copy.default aten.sqrt.default aten.squeeze_copy.dim
aten.squeeze_copy.dims aten.stack.default aten.sub.Scalar aten.sub.Tensor aten.sum.dim_IntList
aten.t_copy.default aten.tan.default aten.tanh.default aten.topk.default aten.transpose_copy.int
aten.tril.default aten.trunc.default aten.unbind_copy.int aten.unfold_copy.default aten.unsqueeze_copy.default
aten.upsample_bilinear2d.vec aten.upsample_nearest2d.vec aten.var.correction aten.var.dim
aten.var_mean.correction aten.view_as_real_copy.default aten.view_copy.default aten.where.self
aten.zeros.default aten.copy_.default aten.index_put_.default dim_order_ops._empty_dim_order.default
dim_order_ops._to_dim_order_copy.default dim_order_ops._clone_dim_order.default""".split())
