// Distances between the rows of matrices, in double precision.

#include <cmath>
#include <cstdint>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/matmul.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

struct Row {
  const Reader<double>& read;
  int64_t offset = 0, step = 0;
  double operator()(int64_t i) const { return read(offset + i * step); }
};

// Norm of order `p` of the difference: p = 0 counts nonzeros, infinity is the maximum.
double Distance(const Row& a, const Row& b, int64_t count, double p) {
  double total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double d = std::fabs(a(i) - b(i));
    if (p == 0) {
      total += d != 0 ? 1 : 0;
    } else if (std::isinf(p)) {
      if (!(d <= total)) total = d;  // keeps NaN
      if (std::isnan(total)) break;
    } else {
      total += p == 1 ? d : p == 2 ? d * d : std::pow(d, p);
    }
  }
  if (p == 0 || p == 1 || std::isinf(p)) return total;
  return p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
}

absl::Status Cdist(KernelContext& context, const CdistCall<KernelArguments>& call) {
  const TensorView *const x1 = call.x1, *const x2 = call.x2;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, x1->dtype, shape));

  // x1 is repeated along the last dimension of the result, x2 along the one before it.
  const int rank = out->rank();
  const auto strides_of = [&](const TensorView& x, int row_dim) {
    Strides strides(rank, 0);
    for (int d = 0; d < x.rank() - 2; ++d) {
      if (x.sizes[d] != 1) strides[d + rank - x.rank()] = x.strides[d];
    }
    strides[row_dim] = x.strides[x.rank() - 2];
    return strides;
  };
  const Reader<double> a(*x1), b(*x2);
  const Writer<double> write(*out);
  Budget::Pace pace;
  for (StridedIterator<3> it(out->sizes,
                             {strides_of(*x1, rank - 2), strides_of(*x2, rank - 1), out->strides});
       !it.done() && !pace.Stop(8 * x1->sizes.back()); it.Next()) {
    write(it.offset(2), Distance({a, it.offset(0), x1->strides.back()},
                                 {b, it.offset(1), x2->strides.back()}, x1->sizes.back(), call.p));
  }
  return absl::OkStatus();
}

absl::Status Pdist(KernelContext& context, const PdistCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, shape));
  const Reader<double> in(*self);
  const Writer<double> write(*out);
  int64_t next = 0;
  Budget::Pace pace;
  for (int64_t i = 0; i < self->sizes[0]; ++i) {
    for (int64_t k = i + 1; k < self->sizes[0]; ++k, ++next) {
      if (pace.Stop(8 * self->sizes[1])) return absl::OkStatus();
      write(next * out->strides[0],
            Distance({in, i * self->strides[0], self->strides[1]},
                     {in, k * self->strides[0], self->strides[1]}, self->sizes[1], call.p));
    }
  }
  return absl::OkStatus();
}

constexpr Kernel kKernels[] = {
    KernelRow<&Cdist>("aten._cdist_forward.default", "x1 x2 p compute_mode", "Cdist",
                      KernelEngine::kReference),
    KernelRow<&Pdist>("aten._pdist_forward.default", "self p", "Pdist", KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> DistanceKernels() { return kKernels; }

}  // namespace belay
