"""Encodes arguments and results as JSON, and decodes them."""
import base64
import math

import torch

f32, f64, f16, bf16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
i8, u8, i16, u16, i32, i64 = (torch.int8, torch.uint8, torch.int16, torch.uint16,
                              torch.int32, torch.int64)
b8, c64, c128 = torch.bool, torch.complex64, torch.complex128
F = [f32, f64, f16, bf16]
I = [i8, u8, i16, i32, i64]
ALL = F + I + [b8]
SHORT = {f32: "f32", f64: "f64", f16: "f16", bf16: "bf16", i8: "i8", u8: "u8", i16: "i16",
         u16: "u16", i32: "i32", i64: "i64", b8: "b8", c64: "c64", c128: "c128"}
NAME = {d: str(d).split(".")[1] for d in SHORT}
DT = {v: k for k, v in NAME.items()}
MF = {torch.contiguous_format: "contiguous", torch.channels_last: "channels_last",
      torch.channels_last_3d: "channels_last_3d", torch.preserve_format: "preserve"}
MFR = {v: k for k, v in MF.items()}
INF, NAN = float("inf"), float("nan")


def enc_float(x):
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return float(x).hex()


def dec_float(s):
    return {"nan": NAN, "inf": INF, "-inf": -INF}[s] if s in ("nan", "inf", "-inf") else float.fromhex(s)


def reach(t):
    """Number of storage elements from the first to one past the last element."""
    if t.numel() == 0:
        return 0
    return 1 + sum((s - 1) * st for s, st in zip(t.shape, t.stride()))


def region(t, lo, hi):
    if hi <= lo:
        return b""
    sz = t.element_size()
    flat = torch.empty(0, dtype=torch.uint8).set_(t.untyped_storage(), lo * sz, ((hi - lo) * sz,), (1,))
    return flat.numpy().tobytes()


def enc_tensor(t, rebase=False):
    t = t.detach().resolve_conj().resolve_neg()
    off = t.storage_offset() if t.numel() else 0
    d = {"dtype": NAME[t.dtype], "shape": list(t.shape)}
    if not t.is_contiguous():
        d["strides"] = list(t.stride())
    lo = off if rebase else 0
    if off - lo:
        d["storage_offset"] = off - lo
    d["data"] = base64.b64encode(region(t, lo, off + reach(t))).decode()
    return {"tensor": d}


def dec_tensor(d):
    dt = DT[d["dtype"]]
    shape = d["shape"]
    raw = base64.b64decode(d["data"])
    sz = torch.empty(0, dtype=dt).element_size()
    store = torch.empty(len(raw) // sz, dtype=dt)
    if raw:
        torch.empty(0, dtype=torch.uint8).set_(store.untyped_storage(), 0, (len(raw),), (1,)).copy_(
            torch.frombuffer(bytearray(raw), dtype=torch.uint8))
    if "strides" in d or d.get("storage_offset"):
        st = d.get("strides")
        if st is None:
            st, acc = [0] * len(shape), 1
            for i in range(len(shape) - 1, -1, -1):
                st[i] = acc
                acc *= max(shape[i], 1)
        return store.as_strided(shape, st, d.get("storage_offset", 0))
    return store.view(shape) if raw or 0 not in shape else torch.empty(shape, dtype=dt)


def enc(v, ty="", rebase=False):
    """Encode one argument or result; ty is the schema type used for lists."""
    if isinstance(v, torch.Tensor):
        return enc_tensor(v, rebase)
    if v is None:
        return {"none": True}
    if isinstance(v, bool):
        return {"bool": v}
    if isinstance(v, int):
        return {"int": v}
    if isinstance(v, float):
        return {"float": enc_float(v)}
    if isinstance(v, complex):
        return {"complex": [enc_float(v.real), enc_float(v.imag)]}
    if isinstance(v, str):
        return {"string": v}
    if isinstance(v, torch.dtype):
        return {"scalar_type": NAME[v]}
    if isinstance(v, torch.memory_format):
        return {"memory_format": MF[v]}
    if isinstance(v, torch.layout):
        return {"layout": str(v).split(".")[1]}
    if isinstance(v, torch.device):
        return {"device": str(v)}
    if isinstance(v, (list, tuple)):
        if "Optional[Tensor]" in ty:
            return {"optional_tensors": [None if x is None else enc_tensor(x, rebase)["tensor"] for x in v]}
        if "Tensor" in ty or (v and isinstance(v[0], torch.Tensor)):
            return {"tensors": [enc_tensor(x, rebase)["tensor"] for x in v]}
        if "bool" in ty or (v and isinstance(v[0], bool)):
            return {"bools": [bool(x) for x in v]}
        if "float" in ty or (v and isinstance(v[0], float)):
            return {"floats": [enc_float(x) for x in v]}
        return {"ints": [int(x) for x in v]}
    raise TypeError(f"cannot encode {type(v)}")


def dec(a):
    (k, v), = a.items()
    if k == "tensor":
        return dec_tensor(v)
    if k == "none":
        return None
    if k in ("int", "bool", "string"):
        return v
    if k == "float":
        return dec_float(v)
    if k == "complex":
        return complex(dec_float(v[0]), dec_float(v[1]))
    if k == "scalar_type":
        return DT[v]
    if k == "memory_format":
        return MFR[v]
    if k == "layout":
        return getattr(torch, v)
    if k == "device":
        return torch.device(v)
    if k == "tensors":
        return [dec_tensor(x) for x in v]
    if k == "optional_tensors":
        return [None if x is None else dec_tensor(x) for x in v]
    if k == "floats":
        return [dec_float(x) for x in v]
    if k in ("ints", "bools"):
        return list(v)
    raise TypeError(k)
