// Softmax and log-softmax along one dimension, in double precision.

#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/softmax.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

template <bool kLog>
absl::Status Softmax(KernelContext& context, const SoftmaxCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  const int dim = call.dim;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, *self));

  // A tensor of rank 0 is a row of one element.
  const bool scalar = self->rank() == 0;
  const int64_t count = scalar ? 1 : self->sizes[dim];
  const int64_t in_step = scalar ? 0 : self->strides[dim];
  const int64_t out_step = scalar ? 0 : out->strides[dim];
  Sizes rows = self->sizes;
  if (!scalar) rows[dim] = count == 0 ? 0 : 1;
  const Reader<double> in(*self);
  const Writer<double> write(*out);
  for (StridedIterator<2> row(rows, {self->strides, out->strides}); !row.done(); row.Next()) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double x = in(row.offset(0) + i * in_step);
      if (!(x <= top)) top = x;  // keeps NaN
      if (std::isnan(top)) break;
    }
    for (int64_t i = 0; i < count; ++i) sum += std::exp(in(row.offset(0) + i * in_step) - top);
    const double log_sum = kLog ? std::log(sum) : 0;
    for (int64_t i = 0; i < count; ++i) {
      const double x = in(row.offset(0) + i * in_step) - top;
      write(row.offset(1) + i * out_step, kLog ? x - log_sum : std::exp(x) / sum);
    }
  }
  return absl::OkStatus();
}

constexpr Kernel kKernels[] = {
    KernelRow<&Softmax<false>>("aten._softmax.default", "self dim half_to_float", "Softmax",
                               KernelEngine::kReference),
    KernelRow<&Softmax<true>>("aten._log_softmax.default", "self dim half_to_float", "LogSoftmax",
                              KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> SoftmaxKernels() { return kKernels; }

}  // namespace belay
