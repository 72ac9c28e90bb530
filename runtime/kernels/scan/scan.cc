#include "runtime/kernels/scan/scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/scan/scan.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

HWY_INLINE double Sum(double a, double b) { return a + b; }
HWY_INLINE int64_t Sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <class T, class Acc>
HWY_INLINE void Row(const T* in, size_t n, Acc& total, T* out) {
  Acc sum = total;
  for (size_t i = 0; i < n; ++i) {
    sum = Sum(sum, static_cast<Acc>(in[i]));
    out[i] = static_cast<T>(sum);
  }
  total = sum;
}

template <class T, class Acc>
HWY_INLINE void Step(const T* HWY_RESTRICT in, size_t n, Acc* HWY_RESTRICT totals,
                     T* HWY_RESTRICT out) {
  for (size_t i = 0; i < n; ++i) {
    totals[i] = Sum(totals[i], static_cast<Acc>(in[i]));
    out[i] = static_cast<T>(totals[i]);
  }
}

void RunningSumF32Impl(const float* in, size_t n, double& total, float* out) {
  Row(in, n, total, out);
}
void RunningSumI64Impl(const int64_t* in, size_t n, int64_t& total, int64_t* out) {
  Row(in, n, total, out);
}
void RunningStepF32Impl(const float* in, size_t n, double* totals, float* out) {
  Step(in, n, totals, out);
}
void RunningStepI64Impl(const int64_t* in, size_t n, int64_t* totals, int64_t* out) {
  Step(in, n, totals, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(RunningSumF32Impl);
HWY_EXPORT(RunningSumI64Impl);
HWY_EXPORT(RunningStepF32Impl);
HWY_EXPORT(RunningStepI64Impl);
void RunningSumF32(const float* in, size_t n, double& total, float* out) {
  HWY_DYNAMIC_DISPATCH(RunningSumF32Impl)(in, n, total, out);
}
void RunningSumI64(const int64_t* in, size_t n, int64_t& total, int64_t* out) {
  HWY_DYNAMIC_DISPATCH(RunningSumI64Impl)(in, n, total, out);
}
void RunningStepF32(const float* in, size_t n, double* totals, float* out) {
  HWY_DYNAMIC_DISPATCH(RunningStepF32Impl)(in, n, totals, out);
}
void RunningStepI64(const int64_t* in, size_t n, int64_t* totals, int64_t* out) {
  HWY_DYNAMIC_DISPATCH(RunningStepI64Impl)(in, n, totals, out);
}

}  // namespace belay
#endif  // HWY_ONCE
