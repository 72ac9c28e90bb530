"""Compares numbers with recorded ones."""

import numpy


def difference(got, want, tolerance):
    """None, or how the arrays differ: |got - want| <= atol + rtol * |want|, NaN equals NaN.

    Args:
      got: an array.
      want: an array; integers and booleans must be the same.
      tolerance: (atol, rtol) for real and complex numbers.
    """
    if got.shape != want.shape:
        return f"has the sizes {list(got.shape)}, not {list(want.shape)}"
    if got.dtype.kind not in "fc":
        same = got == want
    else:
        atol, rtol = tolerance
        with numpy.errstate(invalid="ignore"):
            same = numpy.abs(got - want) <= atol + rtol * numpy.abs(want)
        same |= (got == want) | (numpy.isnan(got) & numpy.isnan(want))
    if same.all():
        return None
    at = tuple(int(i) for i in numpy.argwhere(~same)[0]) if got.ndim else ()
    return f"{int((~same).sum())} of {got.size} differ, at {list(at)}: {got[at]} instead of {want[at]}"


def relative_difference(got, want, most):
    """None, or the relative error |got - want| / |want| (Euclidean norms) as text, if it is above `most`."""
    if got.shape != want.shape:
        return f"has the sizes {list(got.shape)}, not {list(want.shape)}"
    share = numpy.linalg.norm((got - want).ravel()) / (numpy.linalg.norm(want.ravel()) or 1)
    return None if share <= most else f"has a relative error of {share:.3g}, expected at most {most:g}"


def difference_of_scalars(got, want, tolerance):
    """As difference(), for values that are not tensors."""
    if want is None:
        return None if got is None else f"is {got!r}, not None"
    if isinstance(want, float):
        return difference(numpy.float64(got), numpy.float64(want), tolerance)
    return None if got == want else f"is {got!r}, not {want!r}"
