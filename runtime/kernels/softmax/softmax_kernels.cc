#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/dims.h"
#include "runtime/kernels/dense.h"
#include "runtime/kernels/reference/operands.h"
#include "runtime/kernels/softmax/softmax.h"

namespace belay {
namespace {

template <void (*kRow)(const float*, size_t, float*)>
absl::Status Run(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self,
                        TensorOf(context, 0, "self", DTypeSet{DType::kFloat32}));
  ABSL_ASSIGN_OR_RETURN(const int64_t argument, context.Int(1));
  ABSL_ASSIGN_OR_RETURN(const int dim, NormalizeDim(argument, self->rank()));
  ABSL_ASSIGN_OR_RETURN(const bool half_to_float, context.Bool(2));
  if (half_to_float)
    return absl::InvalidArgumentError("half_to_float: expected false, as on every CPU");
  if (self->rank() != 0 && dim != self->rank() - 1) {
    return absl::InternalError("the dimension changed after the kernel was chosen");
  }
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*self));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, *self));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*out));
  const int64_t n = self->rank() == 0 ? 1 : self->sizes[dim];
  if (self->numel() == 0) return absl::OkStatus();
  for (int64_t at = 0; at < self->numel(); at += n) {
    kRow(self->as<float>() + at, static_cast<size_t>(n), out->as<float>() + at);
  }
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context) {
  if (context.num_arguments() != 3 || context.num_outputs() != 1 || !IsRowMajorF32(context, 0) ||
      !IsRowMajorF32Output(context, 0)) {
    return false;
  }
  const int64_t* dim = context.argument(1).get_if<int64_t>();
  const int rank = context.argument(0).get_if<TensorView>()->rank();
  return dim != nullptr && (*dim == -1 || *dim == rank - 1 || rank == 0);
}

constexpr Kernel kKernels[] = {
    {"aten._softmax.default", "SoftmaxF32", KernelEngine::kHighway, &Run<&SoftmaxRowF32>, &Accepts},
    {"aten._log_softmax.default", "LogSoftmaxF32", KernelEngine::kHighway, &Run<&LogSoftmaxRowF32>,
     &Accepts},
};

}  // namespace

absl::Span<const Kernel> SoftmaxHighwayKernels() { return kKernels; }

}  // namespace belay
