// Softmax of float64: passes over a row in the first-level cache.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/pointwise/loops.h"
#include "runtime/kernels/softmax/softmax.h"

namespace belay {
namespace {

constexpr size_t kLanes = 8;  // partial results, which do not wait for each other

// The result is NaN only if the sum of exponentials will be, too.
double Largest(const double* in, size_t n) {
  double lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<double>::infinity());
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) lanes[k] = in[i + k] > lanes[k] ? in[i + k] : lanes[k];
  }
  for (; i < n; ++i) lanes[0] = std::max(lanes[0], in[i]);
  return *std::max_element(lanes, lanes + kLanes);
}

// out[i] = exp(in[i] - top). Returns the sum.
double Exponentials(const double* in, size_t n, double top, double* out) {
  for (size_t i = 0; i < n; ++i) out[i] = in[i] - top;
  const void* const operands[] = {out};
  FindDoubleLoop(PointwiseOp::kExp)(operands, out, n, PointwiseParams());
  double lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) lanes[k] += out[i + k];
  }
  for (; i < n; ++i) lanes[0] += out[i];
  for (size_t k = 1; k < kLanes; ++k) lanes[0] += lanes[k];
  return lanes[0];
}

}  // namespace

void SoftmaxRowF64(const double* in, size_t n, double* out) {
  const double factor = 1 / Exponentials(in, n, Largest(in, n), out);
  for (size_t i = 0; i < n; ++i) out[i] *= factor;
}

void LogSoftmaxRowF64(const double* in, size_t n, double* out) {
  const double top = Largest(in, n);
  constexpr size_t kBlock = 256;
  double block[kBlock], sum = 0;
  for (size_t i = 0; i < n; i += kBlock) {
    sum += Exponentials(in + i, std::min(kBlock, n - i), top, block);
  }
  const double log = std::log(sum);
  for (size_t i = 0; i < n; ++i) out[i] = in[i] - top - log;
}

}  // namespace belay
