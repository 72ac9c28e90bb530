#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/kernels/llama/llama.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/llama/hadamard.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Butterflies: (a[i], b[i]) = (a[i] + b[i], a[i] - b[i]) for n elements.
HWY_INLINE void Butterflies(float* HWY_RESTRICT a, float* HWY_RESTRICT b, size_t n) {
  const hn::CappedTag<float, 16> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += lanes) {
    const auto x = hn::LoadN(d, a + i, n - i), y = hn::LoadN(d, b + i, n - i);
    hn::StoreN(hn::Add(x, y), d, a + i, n - i);
    hn::StoreN(hn::Sub(x, y), d, b + i, n - i);
  }
}

// The butterflies of distances 1 and 2 in one pass.
HWY_INLINE void FirstTwoStages(float* HWY_RESTRICT row, size_t size) {
  for (size_t i = 0; i < size; i += 4) {
    const float a = row[i] + row[i + 1], b = row[i] - row[i + 1];
    const float c = row[i + 2] + row[i + 3], d = row[i + 2] - row[i + 3];
    row[i] = a + c;
    row[i + 1] = b + d;
    row[i + 2] = a - c;
    row[i + 3] = b - d;
  }
}

void HadamardRowImpl(float* HWY_RESTRICT row, size_t size) {
  size_t step = 1;
  if (size >= 4) {
    FirstTwoStages(row, size);
    step = 4;
  }
  for (; step < size; step *= 2) {
    for (size_t i = 0; i < size; i += 2 * step) Butterflies(row + i, row + i + step, step);
  }
  const float factor = 1 / std::sqrt(static_cast<float>(size));
  for (size_t i = 0; i < size; ++i) row[i] *= factor;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(HadamardRowImpl);

void HadamardRow(float* row, int64_t size) {
  HWY_DYNAMIC_DISPATCH(HadamardRowImpl)(row, static_cast<size_t>(size));
}

}  // namespace belay
#endif  // HWY_ONCE
