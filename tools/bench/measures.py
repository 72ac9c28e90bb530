"""Arithmetic on runs: outputs compared with golden ones, medians, ratios. Standard library only."""

import array
import ast
import math
import statistics
import sys

_TYPE_CODES = {"f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "b1": "B"}


def read_npy(path):
    """The shape and the numbers of a .npy file, in C order. ValueError for unsupported files."""
    with open(path, "rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError(f"{path}: not a .npy file")
        length_bytes = 2 if file.read(2)[0] == 1 else 4
        header = ast.literal_eval(file.read(int.from_bytes(file.read(length_bytes), "little")).decode())
        order, kind = header["descr"][0], header["descr"][1:]
        if kind not in _TYPE_CODES or order == ">" or header["fortran_order"]:
            raise ValueError(f"{path}: expected a little-endian array in C order, got {header}")
        numbers = array.array(_TYPE_CODES[kind], file.read())
    if sys.byteorder == "big":
        numbers.byteswap()
    if len(numbers) != math.prod(header["shape"]):
        raise ValueError(f"{path}: expected {math.prod(header['shape'])} elements, got {len(numbers)}")
    return tuple(header["shape"]), numbers


def relative_error(got, golden):
    """|got - golden| / |golden| of two lists of numbers, Euclidean; NaN where there is a NaN, infinity for other lengths."""
    if len(got) != len(golden):
        return math.inf
    difference = math.sqrt(sum((a - b) * (a - b) for a, b in zip(got, golden)))
    size = math.sqrt(sum(b * b for b in golden))
    return difference / size if size else (0.0 if difference == 0 else difference if difference != difference else math.inf)


def worst_error(got_paths, golden_paths):
    """The largest relative_error of the outputs; NaN counts as the largest."""
    if len(got_paths) != len(golden_paths):
        return math.inf
    errors = [relative_error(read_npy(got)[1], read_npy(golden)[1]) for got, golden in zip(got_paths, golden_paths)]
    return math.nan if any(math.isnan(e) for e in errors) else max(errors)


def median(numbers):
    """The median of the numbers; None without numbers."""
    numbers = [x for x in numbers if x is not None]
    return statistics.median(numbers) if numbers else None


def figure(rounds, key):
    """The median over rounds of one figure; a round that failed is None."""
    return median([r.get(key) for r in rounds if r is not None])


def ratio(ours, theirs, key="latency_ms_median"):
    """The median over rounds of ours / theirs: a disturbance affects both. None without a round that both finished."""
    return median(
        [a[key] / b[key] for a, b in zip(ours, theirs) if a is not None and b is not None and a.get(key) and b.get(key)]
    )


def best(rounds_of, key="latency_ms_median"):
    """The name with the smallest median among {name: rounds}; None if no round finished."""
    medians = {name: figure(rounds, key) for name, rounds in rounds_of.items()}
    medians = {name: m for name, m in medians.items() if m is not None}
    return min(medians, key=medians.get) if medians else None


def least_microseconds(row, limits):
    """The minimum time of a row of //tools/bench:kernels by the machine's limits; None if a figure is missing.

    The constants come from memory, or from the nearest cache that holds them.
    """
    peak = limits.get(row["peak"] + "_t1")
    if not peak:
        return None
    compute = row["operations"] / peak["best"] / 1e3
    if row["from_memory"]:
        level = "memory"
    else:
        held = [n for n in ("l1", "l2", "l3") if row["constant_bytes"] <= limits["cache_bytes"][n]]
        level = held[0] if held else "memory"
    bandwidth = limits.get(f"read_{level}_gbs_t1")
    return max(compute, row["constant_bytes"] / bandwidth["best"] / 1e3) if bandwidth else None
