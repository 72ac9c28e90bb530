#!/usr/bin/env python3
"""Records the tables of this folder with the ExecuTorch Python package.

Usage:  python make_tables.py [--out DIR]

Reference versions: torch 2.13.0, executorch 1.5.1.
"""
import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lowering"))

import torch
from executorch.exir.dialects._ops import bind_pattern_to_op, ops as exir_ops
from make_lowering_cases import DelegateMappingBuilder, NamedDataStore, first_line, named_out, op_name, write_json


def _outcome(f):
    try:
        return f()
    except Exception as e:
        return {"error": type(e).__name__, "message": first_line(e)[:300]}


def builder_table(rows):
    """rows: (title, generated, [call]) with call = {"nodes": [...]|h, "handles": ..., "identifier": ...}"""

    class Nd:
        def __init__(self, h):
            self.meta = {} if h is None else {"debug_handle": h}

    out = []
    for title, gen, calls in rows:
        b = DelegateMappingBuilder(generated_identifiers=gen)
        res = []
        for c in calls:
            kw = dict(c)
            if "nodes" in c:
                kw["nodes"] = [Nd(h) for h in c["nodes"]] if isinstance(c["nodes"], list) else Nd(c["nodes"])
            res.append(_outcome(lambda: {"identifier": b.insert_delegate_mapping_entry(**kw)}))
        mapping = [[k, list(v)] for k, v in b.get_delegate_mapping().items()]
        out.append({"title": title, "generated_identifiers": gen, "calls": calls, "results": res, "mapping": mapping})
    return {"format": "calls give the debug handle of each node; mapping is a list of [identifier, handles]", "rows": out}


def named_data_table(rows):
    """rows: (title, [step]); step: add/merge/externalize on store "s" (default) or another name."""
    out = []
    for title, steps in rows:
        stores = {}

        def go(st):
            store = stores.setdefault(st.get("store", "s"), NamedDataStore())
            if st["do"] == "add":
                data = bytes.fromhex(st["data_hex"]) if "data_hex" in st else bytes([st["fill"]]) * st["size"]
                store.add_named_data(st["key"], data, alignment=st.get("alignment", 1), external_tag=st.get("external"))
            elif st["do"] == "merge":
                store.merge_named_data_store(stores[st["from"]].get_named_data_store_output())
            elif st["do"] == "externalize":
                store.externalize_pte_data(st["cap"], st["prefix"])
            return "ok"

        res = [_outcome(lambda: go(st)) for st in steps]
        final = named_out(stores["s"].get_named_data_store_output())
        out.append({"title": title, "steps": steps, "results": res, "final": final})
    return {"format": "steps run in order; final is the content of store s", "rows": out}


_LIB = []


def backend_ops_table(rows):
    """Each row runs its steps in order against fresh operators."""
    lib = torch.library.Library("DO_NOT_USE_TEST_ONLY", "FRAGMENT")
    _LIB.append(lib)

    def find(st):
        o = getattr(exir_ops, st["dialect"])
        for p in st["path"]:
            o = getattr(o, p)
        return o

    def go(st):
        if st["do"] == "define":
            lib.define(st["schema"])
        elif st["do"] == "impl":
            lib.impl(st["name"], lambda *a: a[0].clone(), st["key"])
        elif st["do"] == "bind":
            bind_pattern_to_op(lib, st["name"])(lambda x: torch.relu(x))
        if "path" not in st:
            return "ok"
        o = find(st)
        r = {"type": type(o).__name__}
        if hasattr(o, "_equivalent_callable"):
            r["has_equivalent_callable"] = o._equivalent_callable is not None
            r["has_meta_kernel"] = o._has_meta_kernel
            r["has_composite_explicit_kernel"] = o._has_composite_explicit_autograd_kernel
            r["has_composite_implicit_kernel"] = o._has_composite_implicit_autograd_kernel
        if st["do"] == "call":
            r["result"] = o(torch.tensor(st["input"])).tolist()
        if st["do"] == "to_out":
            r["out_variant"] = op_name(o.to_out_variant())
        if st["do"] == "same":
            r["identical"] = o is find(st)
        if hasattr(o, "_schema"):
            r["schema"] = o._schema.name + ("." + o._schema.overload_name if o._schema.overload_name else "")
        return r

    out = [{"title": title, "steps": steps, "results": [_outcome(lambda: go(st)) for st in steps]} for title, steps in rows]
    return {"format": "steps of a row run in order in one process; operators are new in every row", "rows": out}


def _bt():
    return builder_table([
        ("generated: list, single node, handles", True, [{"nodes": [3, 1, 3]}, {"nodes": 7}, {"handles": 5}, {"handles": [9, 8]}]),
        ("generated: identifier given", True, [{"nodes": 1, "identifier": 4}, {"nodes": 1}]),
        ("generated: a failing insert still consumes a number", True, [{"handles": [None]}, {"handles": 2}]),
        ("manual: ints and strings", False, [{"nodes": [1, 2], "identifier": "a"}, {"handles": 3, "identifier": 0}]),
        ("manual: missing identifier", False, [{"nodes": 1}]),
        ("manual: identifier used twice", False, [{"nodes": 1, "identifier": "a"}, {"handles": 2, "identifier": "a"}]),
        ("both or neither source", False, [{"nodes": 1, "handles": 1, "identifier": 1}, {"identifier": 1}]),
        ("nodes without a handle are skipped", True, [{"nodes": [None, 4]}, {"nodes": [None]}]),
        ("handle zero is accepted", True, [{"handles": 0}, {"nodes": [0, 2]}]),
    ])


def _nt():
    a = lambda k, h, **kw: {"do": "add", "key": k, "data_hex": h, **kw}
    return named_data_table([
        ("two keys, two buffers", [a("x", "0102", alignment=4), a("y", "0103")]),
        ("same bytes under two keys share a buffer; alignments per key", [a("x", "0102", alignment=4), a("y", "0102", alignment=6)]),
        ("same key and bytes again: ignored, first alignment kept", [a("x", "0102", alignment=4), a("x", "0102", alignment=8)]),
        ("same key, other bytes", [a("x", "0102"), a("x", "0103"), a("x", "010203")]),
        ("keys are unique over internal and external data", [a("x", "0102", external="w"), a("x", "0103"), a("x", "0102")]),
        ("alignment zero and negative", [a("x", "01", alignment=0), a("x", "01", alignment=-1)]),
        ("equal prefix and length, different content", [a("x", "00" * 32 + "01"), a("y", "00" * 32 + "02"), a("z", "00" * 32 + "02")]),
        ("merge", [a("x", "01"), a("y", "02", store="o", alignment=16), a("z", "01", store="o"), {"do": "merge", "from": "o"}]),
        ("merge conflict keeps what was merged before it", [a("y", "01"), a("x", "05", store="o"), a("y", "02", store="o"), {"do": "merge", "from": "o"}]),
        ("externalize by cap in key order", [{"do": "add", "key": k, "fill": f, "size": 6} for k, f in (("c", 3), ("a", 1), ("b", 2))] + [{"do": "externalize", "cap": 12, "prefix": "w"}]),
        ("externalize: buffer over the cap changes nothing", [{"do": "add", "key": "a", "fill": 1, "size": 6}, {"do": "externalize", "cap": 5, "prefix": "w"}]),
        ("externalize: bad arguments", [a("x", "01"), {"do": "externalize", "cap": 0, "prefix": "w"}, {"do": "externalize", "cap": True, "prefix": "w"}, {"do": "externalize", "cap": 4, "prefix": ""}]),
    ])


def _ot():
    L = lambda dialect, *p, do="lookup", **kw: {"do": do, "dialect": dialect, "path": list(p), **kw}
    ns = "DO_NOT_USE_TEST_ONLY"
    return backend_ops_table([
        ("edge lookup is cached", [L("edge", "aten", "add", "Tensor", do="same")]),
        ("edge packet", [L("edge", "aten", "add")]),
        ("unknown edge op and overload", [L("edge", "aten", "no_such_op"), L("edge", "aten", "add", "nope")]),
        ("namespace outside the allow list", [L("backend", "aten", "add", "Tensor")]),
        ("unknown backend op", [L("backend", ns, "lc_missing")]),
        ("schema without kernel: fails, second lookup succeeds with an edge overload", [{"do": "define", "schema": "lc_bare(Tensor x) -> Tensor"}, L("backend", ns, "lc_bare", "default"), L("backend", ns, "lc_bare", "default")]),
        ("meta kernel", [{"do": "define", "schema": "lc_meta(Tensor x) -> Tensor"}, {"do": "impl", "name": "lc_meta", "key": "Meta"}, L("backend", ns, "lc_meta", "default", do="same")]),
        ("composite explicit kernel and call", [{"do": "define", "schema": "lc_expl(Tensor x) -> Tensor"}, {"do": "impl", "name": "lc_expl", "key": "CompositeExplicitAutograd"}, L("backend", ns, "lc_expl", "default", do="call", input=[1.0, -2.0])]),
        ("bind a pattern by full schema", [{"do": "bind", "name": "lc_bound(Tensor x) -> Tensor"}, L("backend", ns, "lc_bound", "default", do="call", input=[1.0, -2.0])]),
        ("unknown overload of a backend op", [{"do": "define", "schema": "lc_ovl(Tensor x) -> Tensor"}, {"do": "impl", "name": "lc_ovl", "key": "Meta"}, L("backend", ns, "lc_ovl", "nope")]),
        ("out variants", [L("edge", "aten", "add", "Tensor", do="to_out"), L("edge", "aten", "relu", "default", do="to_out"), L("edge", "aten", "view_copy", "default", do="to_out")]),
        ("out variant missing", [{"do": "define", "schema": "lc_noout(Tensor x) -> Tensor"}, {"do": "impl", "name": "lc_noout", "key": "Meta"}, L("backend", ns, "lc_noout", "default", do="to_out")]),
    ])


TABLES = {"delegate_mapping_builder.json": _bt, "named_data_store.json": _nt, "backend_ops.json": _ot}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=HERE)
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)
    for name, make in TABLES.items():
        write_json(os.path.join(out, name), make())


if __name__ == "__main__":
    main()
