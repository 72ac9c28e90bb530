// Window positions inside an image.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_INSIDE_RANGE_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_INSIDE_RANGE_H_

#include <algorithm>
#include <cstdint>

namespace belay {

// Positions x < count with x * stride + shift in [0, size): first <= x < last. stride >= 1.
struct InsideRange {
  int64_t first, last;
};
inline InsideRange Inside(int64_t stride, int64_t shift, int64_t size, int64_t count) {
  // Quotients rounded up, in a form that no stride makes overflow.
  const int64_t first = shift >= 0 ? 0 : (-shift - 1) / stride + 1;
  const int64_t last = shift >= size ? 0 : (size - shift - 1) / stride + 1;
  return {std::min(first, count), std::max(std::min(first, count), std::min(last, count))};
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_INSIDE_RANGE_H_
