"""Measures a call and its C function, in µs. call_overhead.py ARCHIVE (of one addition)"""

import sys
import time

import belay
from belay import _library


def measure(function, calls=20000, repetitions=7):
    """The least mean of several repetitions."""
    least = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        least = min(least, (time.perf_counter() - start) / calls * 1e6)
    return least


def main():
    program = belay.lower(sys.argv[1])
    method = program._method("forward")
    for library in ("numpy", "torch"):
        try:
            module = __import__(library)
        except ImportError:
            print(f"skipped: {library} is not installed")
            continue
        inputs = [module.zeros(given["sizes"], dtype=getattr(module, given["dtype"])) for given in program.inputs()]
        whole = measure(lambda: program(*inputs))
        kept = program(*inputs)  # the memory that the C function writes to
        c_call = measure(lambda: _library.lib.belay_method_call(*method._arguments))
        del kept
        print(f"{library}: {whole:.1f} µs, C function by ctypes {c_call:.1f} µs, overhead {whole - c_call:.1f} µs")


if __name__ == "__main__":
    main()
