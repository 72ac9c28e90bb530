#include "runtime/kernels/creation/creation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/creation/creation.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

// Plain loops over arrays, which compilers vectorize best.
void CountInt64Impl(uint64_t first, uint64_t step, int64_t start, size_t n,
                    int64_t* HWY_RESTRICT out) {
  const uint64_t base = first + static_cast<uint64_t>(start) * step;
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(base + i * step);
}
template <class T>
HWY_INLINE void CountFloats(double first, double step, int64_t start, size_t n,
                            T* HWY_RESTRICT out) {
  const int64_t count = static_cast<int64_t>(n);
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(first + step * static_cast<double>(start + i));
  }
}
void CountFloat64Impl(double first, double step, int64_t start, size_t n, double* out) {
  CountFloats(first, step, start, n, out);
}
void CountFloat32Impl(double first, double step, int64_t start, size_t n, float* out) {
  CountFloats(first, step, start, n, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(CountInt64Impl);
HWY_EXPORT(CountFloat64Impl);
HWY_EXPORT(CountFloat32Impl);
void CountInt64(uint64_t first, uint64_t step, int64_t start, size_t n, int64_t* out) {
  HWY_DYNAMIC_DISPATCH(CountInt64Impl)(first, step, start, n, out);
}
void CountFloat64(double first, double step, int64_t start, size_t n, double* out) {
  HWY_DYNAMIC_DISPATCH(CountFloat64Impl)(first, step, start, n, out);
}
void CountFloat32(double first, double step, int64_t start, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(CountFloat32Impl)(first, step, start, n, out);
}

}  // namespace belay
#endif  // HWY_ONCE
