// Python's arithmetic of floating-point numbers.
#ifndef BELAY_RUNTIME_CORE_PYTHON_FLOATS_H_
#define BELAY_RUNTIME_CORE_PYTHON_FLOATS_H_

#include <cmath>

namespace belay {

// a // b, as CPython and PyTorch compute it: exact where a / b rounds up to an integer. Each step is
// rounded by `round`, for types narrower than T. a / b if b is 0.
template <class T, class Round>
T PythonFloatFloorDiv(T a, T b, Round round) {
  if (b == 0) return a / b;
  const T r = std::fmod(a, b);
  T q = round(round(a - r) / b);
  if (r != 0 && ((b < 0) != (r < 0))) q = round(q - 1);
  if (q == 0) return std::copysign(T{0}, a / b);
  T floored = std::floor(q);
  if (round(q - floored) > T{0.5}) floored = round(floored + 1);
  return floored;
}
template <class T>
T PythonFloatFloorDiv(T a, T b) {
  return PythonFloatFloorDiv(a, b, [](T x) { return x; });
}

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_PYTHON_FLOATS_H_
