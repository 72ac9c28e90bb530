#!/usr/bin/env python3
"""A second reader of program files, written only from runtime/schema/file_format.md and program.proto.
read_program.py FILE... prints a line of JSON per file: the output of `belay inspect --json`."""
import hashlib
import json
import math
import os
import struct
import sys
import zlib

DTYPES = ("- u8 i8 i16 i32 i64 f16 f32 f64 c32 c64 c128 b8 bf16 u16 u32 u64 "
          "f8e4m3fn f8e5m2 f8e4m3fnuz f8e5m2fnuz f8e8m0fnu").split()
KINDS = ["-", "constants", "delegate", "named_data", "debug"]
SLOTS = ["-", "int", "float", "bool"]

def check(ok, what):
    if not ok:
        raise ValueError(what)

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value & (1 << 64) - 1, at

def message(data):
    fields, at = {}, 0  # {field number: [value, ...]}
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        check(key >> 3 and wire in (0, 1, 2, 5), "a field of wire type %d" % wire)
        if wire == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            check(at + size <= len(data), "a field runs out")
            value, at = bytes(data[at:at + size]), at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields

def num(m, field, default=0):
    check(len(m.get(field, [])) < 2, "a field that is there twice")
    return m.get(field, [default])[0]

def signed(m, field):
    return num(m, field) - (num(m, field) >> 63 << 64)

def double(m, field):
    value, = struct.unpack("<d", num(m, field, bytes(8)))
    return value if math.isfinite(value) else str(value)

def raw(m, field):
    return num(m, field, b"")

def text(m, field):
    return raw(m, field).decode("utf-8")

def sub(m, field):
    return message(raw(m, field))

def subs(m, field):
    return [message(piece) for piece in m.get(field, [])]

def numbers(m, field):
    out, at, packed = [], 0, raw(m, field)
    while at < len(packed):
        value, at = varint(packed, at)
        out.append(value)
    return out

def member(m, fields):
    found = [f for f in m if f in fields]
    check(len(found) == 1, "a union with %d members" % len(found))
    return found[0]

def header(data, magic, size_at):
    check(len(data) >= 64 and data[:8] == magic, "the magic")
    check(zlib.crc32(data[:60]) == struct.unpack_from("<I", data, 60)[0], "CRC-32 of the header")
    major, minor = struct.unpack_from("<II", data, 8)
    check(major == 1, "format version %d.%d, this reader reads 1.0" % (major, minor))
    check(struct.unpack_from("<Q", data, size_at)[0] == len(data), "the size of the file")
    return minor

def place(segments, data, end):
    for s in segments:
        check(s["offset"] == -(-end // s["alignment"]) * s["alignment"], "a segment's offset")
        check(not any(data[end:s["offset"]]), "padding that is not zero")
        end = s["offset"] + s["bytes"]
        check(end <= len(data), "a segment runs out")
        check(hashlib.sha256(data[s["offset"]:end]).hexdigest() == s["sha256"], "a digest")
    check(end == len(data), "bytes after the last segment")

def read_segments(program, data, end, folder):
    segments, companions = [], {"": []}
    for m in subs(program, 3):
        s = {"kind": KINDS[num(m, 1)], "offset": num(m, 2), "bytes": num(m, 3), "alignment": num(m, 4),
             "sha256": raw(m, 5).hex(), **({"companion": text(m, 6)} if raw(m, 6) else {})}
        companions.setdefault(text(m, 6), []).append(s)
        segments.append(s)
    own = companions.pop("")
    place(own, data, end)
    check(struct.unpack_from("<Q", data, 24)[0] == (own[0]["offset"] if own else 0), "the first segment")
    for name, members in companions.items():
        with open(os.path.join(folder, name), "rb") as file:
            other = file.read()
        header(other, b"BELAY\r\n\x1c", 16)
        digests = other[64:64 + 32 * len(members)]
        check(struct.unpack_from("<Q", other, 24)[0] == len(members), "the number of segments")
        check(zlib.crc32(digests) == struct.unpack_from("<I", other, 56)[0], "CRC-32 of the digests")
        check(digests.hex() == "".join(s["sha256"] for s in members), "another program's companion")
        place(members, other, 64 + len(digests))
    return segments

def constant(constants, index):
    c = constants[index]
    where = {"segment": num(c, 1), "offset": num(c, 2)} if num(c, 3) else {}
    return {**where, "bytes": num(c, 3)}

def describe(m):
    kind, t = member(m, range(1, 12)), sub(m, 6) if 6 in m else {}
    sizes = ",".join(str(n) for n in numbers(t, 2))
    return {1: "None", 5: '"%s"' % (text(m, 5) if kind == 5 else ""), 6: "%s[%s]" % (DTYPES[num(t, 1)], sizes),
            11: SLOTS[num(sub(m, 11), 1)] if kind == 11 else ""}.get(kind, "constant")

def value(m, constants, banks):
    kind = member(m, range(1, 12))
    if kind == 6:
        t, at = sub(m, 6), member(sub(m, 6), range(5, 9))
        where = constant(constants, num(t, 5)) if at == 5 else True if at == 8 else num(t, at)
        return {**{"bank": b["name"] for i, b in enumerate(banks)
                   if at == 6 and sum(x["bytes"] for x in banks[:i]) <= where}, "kind": "tensor",
                "type": describe(m), "dim_order": list(raw(t, 3)), "dynamic_dims": num(t, 4),
                ("constant", "arena", "state", "external")[at - 5]: where}
    name = "- none int double bool string - list dtype memory_format complex slot".split()[kind]
    return {"kind": name, **{
        1: lambda: {}, 2: lambda: {"value": signed(m, 2)}, 3: lambda: {"value": double(m, 3)},
        4: lambda: {"value": bool(num(m, 4))}, 5: lambda: {"value": text(m, 5)},
        7: lambda: {"elements": numbers(sub(m, 7), 1)}, 8: lambda: {"value": DTYPES[num(m, 8)]},
        9: lambda: {"value": num(m, 9)}, 11: lambda: {"type": SLOTS[num(sub(m, 11), 1)]},
        10: lambda: {"real": double(sub(m, 10), 1), "imag": double(sub(m, 10), 2)}}[kind]()}

def instruction(m, operators):
    kind = member(m, range(1, 6))
    i = sub(m, kind)
    call = {"arguments": numbers(i, 2), "outputs": numbers(i, 3)} if kind < 3 else {}
    return [{"kernel": operators[num(i, 1)], **call} if kind == 1 else {"delegate": num(i, 1), **call},
            {"move": [num(i, 1), num(i, 2)]}, {"jump_if_false": num(i, 1), "target": num(i, 2)},
            {"jump": num(i, 1)}][max(kind - 2, 0)]

def input_of(m, values):
    constraints = [{"dim": num(c, 1), "min": signed(c, 2), "max": signed(c, 3), "symbol": text(c, 4),
                    "multiplier": signed(c, 5), "offset": signed(c, 6)} for c in subs(m, 3)]
    return {"name": text(m, 2), "value": num(m, 1), "type": describe(values[num(m, 1)]),
            **({"mutated": True} if num(m, 4) else {}), **({"constraints": constraints} if constraints else {})}

def method(m, segments, constants, owners):
    values, operators, delegates, state = subs(m, 2), [o.decode("utf-8") for o in m.get(5, [])], [], []
    code = [instruction(i, operators) for i in subs(m, 7)]
    for d in subs(m, 6):
        owners[num(d, 2)] = "delegate " + text(d, 1)
        specs = [{"key": text(spec, 1), "value": raw(spec, 2).hex()} for spec in subs(d, 3)]
        delegates.append({"backend": text(d, 1), "bytes": segments[num(d, 2)]["bytes"],
                          **({"compile_specs": specs} if specs else {})})
    for s in subs(m, 10):
        initial = {"initial": constant(constants, num(s, 3) - 1)} if num(s, 3) else {}
        state.append({"name": text(s, 1), "value": num(s, 2), "type": describe(values[num(s, 2)]), **initial})
    called = [i["kernel"] for i in code if "kernel" in i]
    outputs = numbers(m, 4)
    banks = [{"name": text(b, 1), "bytes": num(b, 2), "alignment": num(b, 3)} for b in subs(m, 13)]
    return {**({"banks": banks} if banks else {}), "name": text(m, 1), "arena_bytes": num(m, 8), "state_bytes": num(m, 9), "instructions": len(code),
            "inputs": [input_of(i, values) for i in subs(m, 3)], "outputs": [describe(values[o]) for o in outputs],
            "in_spec": text(m, 11), "out_spec": text(m, 12), "output_values": outputs, "delegates": delegates,
            "values": [value(v, constants, banks) for v in values], "code": code, "state": state,
            "operators": {o: called.count(o) for o in called}, "delegate_calls": sum("delegate" in i for i in code)}

def read(path):
    with open(path, "rb") as file:
        data = file.read()
    minor = header(data, b"BELAY\r\n\x1a", 32)
    size, = struct.unpack_from("<Q", data, 16)
    check(zlib.crc32(data[64:64 + size]) == struct.unpack_from("<I", data, 56)[0], "CRC-32 of the metadata")
    program = message(data[64:64 + size])
    check(2 not in program, "required features: %s" % program.get(2))
    segments = read_segments(program, data, 64 + size, os.path.dirname(path))
    owners = [s["kind"] for s in segments]
    methods = [method(m, segments, subs(program, 4), owners) for m in subs(program, 5)]
    sizes = [("header", 64), ("metadata", size)]
    sizes += [(owner, s["bytes"]) for owner, s in zip(owners, segments) if "companion" not in s]
    sizes.append(("padding", len(data) - sum(n for _, n in sizes)))
    return {"kind": "program", "producer": text(program, 1), "format": "1.%d" % minor, "file_bytes": len(data),
            "segments": segments, "methods": methods, "size": [{"owner": o, "bytes": n} for o, n in sizes],
            "debug_bytes": segments[num(program, 7) - 1]["bytes"] if num(program, 7) else 0,
            "named_data": [{"key": text(d, 1), "bytes": num(d, 4), "alignment": num(d, 5, 1) or 1}
                           for d in subs(program, 6)]}

for name in sys.argv[1:]:
    print(json.dumps(read(name)))
