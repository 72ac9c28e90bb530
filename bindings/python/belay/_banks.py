"""Memory banks: their descriptions, and memory of the caller for them."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ._errors import Error
from ._library import BankInfo, BankMemory, Handle, byref, call, lib

Banks = Mapping[str, Any]


def describe(program: Handle, method: str) -> List[Dict[str, Any]]:
    """name, bytes and alignment of each bank."""
    found = []
    for i in range(lib.belay_program_num_banks(program.value, method.encode())):
        info = BankInfo()
        call("belay_program_bank", program.value, method.encode(), i, byref(info))
        found.append(
            {"name": info.name.decode("utf-8", "replace"), "bytes": info.bytes, "alignment": info.alignment}
        )
    return found


def check_names(program: Handle, methods: Sequence[str], banks: Optional[Banks]) -> None:
    """Raises Error: INVALID_ARGUMENT for a bank that no method has."""
    known = {bank["name"] for method in methods for bank in describe(program, method)}
    for name in banks or {}:
        if name not in known:
            raise Error("INVALID_ARGUMENT", f"banks: unknown bank '{name}'; the program has {sorted(known)}")


def memory_of(program: Handle, method: str, banks: Optional[Banks]) -> Tuple[Any, int, List[Any]]:
    """An array of the method's banks among `banks`, or None, its length, and the owners of the memory.

    Raises Error: INVALID_ARGUMENT for an object without a writable contiguous buffer.
    """
    memory, owners = [], []
    names = {bank["name"] for bank in describe(program, method)} if banks else set()
    for name, value in (banks or {}).items():
        if name not in names:
            continue
        try:
            view = memoryview(value).cast("B")
            owner = (ctypes.c_char * view.nbytes).from_buffer(view)
        except (TypeError, ValueError, BufferError) as error:
            raise Error("INVALID_ARGUMENT", f"bank '{name}': expected writable contiguous memory: {error}") from None
        owners.append(owner)
        memory.append(BankMemory(name=name.encode(), data=ctypes.addressof(owner), size=view.nbytes))
    return ((BankMemory * len(memory))(*memory) if memory else None), len(memory), owners
