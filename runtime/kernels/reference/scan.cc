// Cumulative sums, products and extremes along one dimension.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/scan.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Iterates over the rows of `self` along one dimension: calls fn(count, three offsets of the first
// element and three steps).
struct Row {
  int64_t count = 1;
  int64_t offset[3] = {};
  int64_t step[3] = {};
};

template <class Fn>
void ForEachRow(const TensorView& self, int dim, const TensorView& first, const TensorView& second,
                Fn&& fn) {
  const TensorView* const views[] = {&self, &first, &second};
  Row row;
  Sizes rows = self.sizes;
  if (self.rank() > 0) {
    row.count = self.sizes[dim];
    rows[dim] = row.count == 0 ? 0 : 1;
    for (int k = 0; k < 3; ++k) row.step[k] = views[k]->strides[dim];
  }
  for (StridedIterator<3> it(rows, {self.strides, first.strides, second.strides}); !it.done();
       it.Next()) {
    for (int k = 0; k < 3; ++k) row.offset[k] = it.offset(k);
    fn(row);
  }
}

// Elements are first converted to the result's dtype.
template <bool kProduct>
absl::Status Cumulate(KernelContext& context, const CumulateCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  if (!kNumberTypes.contains(call.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dtype: ", DTypeName(call.dtype), " is not supported"));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *self));
  WithComputeType(call.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Reader<T> in(*self);
    const Writer<T> write(*out);
    ForEachRow(*self, call.dim, *out, *out, [&](const Row& row) {
      T total = kProduct ? T(1) : T(0);
      for (int64_t i = 0; i < row.count; ++i) {
        const T x = in(row.offset[0] + i * row.step[0]);
        total = kProduct ? WrappingMul(total, x) : WrappingAdd(total, x);
        write(row.offset[1] + i * row.step[1], total);
      }
    });
  });
  return absl::OkStatus();
}

// logcumsumexp, computed without overflow or underflow of the exponentials.
absl::Status LogCumulate(KernelContext& context, const LogCumulateCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, *self));
  const Reader<double> in(*self);
  const Writer<double> write(*out);
  ForEachRow(*self, call.dim, *out, *out, [&](const Row& row) {
    double total = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < row.count; ++i) {
      const double x = in(row.offset[0] + i * row.step[0]);
      const double high = std::fmax(total, x), low = std::fmin(total, x);
      if (std::isnan(x) || std::isnan(total)) {
        total = std::numeric_limits<double>::quiet_NaN();
      } else if (high != low || !std::isinf(high)) {
        total = high + std::log1p(std::exp(low - high));
      }
      write(row.offset[1] + i * row.step[1], total);
    }
  });
  return absl::OkStatus();
}

// Returns the last of equal elements. NaN replaces every number, and the last NaN wins.
template <bool kLargest>
absl::Status RunningExtreme(KernelContext& context,
                            const RunningExtremeCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self->dtype, *self));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, *self));
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const Reader<T> in(*self);
    const Writer<T> write(*values);
    const Writer<int64_t> write_index(*indices);
    ForEachRow(*self, call.dim, *values, *indices, [&](const Row& row) {
      T best = 0;
      int64_t index = 0;
      for (int64_t i = 0; i < row.count; ++i) {
        const T x = in(row.offset[0] + i * row.step[0]);
        if (i == 0 || x != x || (best == best && (kLargest ? x >= best : x <= best))) {
          best = x;
          index = i;
        }
        write(row.offset[1] + i * row.step[1], best);
        write_index(row.offset[2] + i * row.step[2], index);
      }
    });
  };
  if (IsFloatingPoint(self->dtype)) {
    run(double{});
  } else {
    run(int64_t{});
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&Cumulate<false>>("aten.cumsum.default", "self dim dtype", "Cumsum", kReference),
    KernelRow<&Cumulate<true>>("aten.cumprod.default", "self dim dtype", "Cumprod", kReference),
    KernelRow<&LogCumulate>("aten.logcumsumexp.default", "self dim", "LogCumsumExp", kReference),
    KernelRow<&RunningExtreme<true>>("aten.cummax.default", "self dim -> 2", "Cummax", kReference),
    KernelRow<&RunningExtreme<false>>("aten.cummin.default", "self dim -> 2", "Cummin", kReference),
};

}  // namespace

absl::Span<const Kernel> ScanKernels() { return kKernels; }

}  // namespace belay
