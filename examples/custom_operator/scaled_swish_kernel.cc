#include "scaled_swish_kernel.h"

#include <cmath>
#include <cstdint>

#include "runtime/core/status_macros.h"

namespace custom_operator {
namespace {

using belay::DType;
using belay::TensorView;

// A program file decides what stands in an argument: all of it is checked, by these accessors.
absl::Status ScaledSwish(belay::KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* x, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const double scale, context.Double(1));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, x->sizes));
  if (x->dtype != DType::kFloat32 || out->dtype != DType::kFloat32 || !x->is_contiguous() ||
      !out->is_contiguous()) {
    return absl::InvalidArgumentError("scaled_swish: expected row-major float32");
  }
  const float* from = x->as<const float>();
  float* to = out->as<float>();
  const float s = static_cast<float>(scale);
  for (int64_t i = 0; i < x->numel(); ++i) to[i] = from[i] / (1 + std::exp(-from[i] * s));
  return absl::OkStatus();
}

// Asked when a program is loaded: another kernel of the operator may take what this one does not.
bool Accepts(const belay::KernelContext& context) {
  if (context.num_arguments() != 2 || context.num_outputs() != 1) return false;
  const TensorView* x = context.argument(0).get_if<TensorView>();
  const auto out = context.PlannedOutput(0);
  return x != nullptr && x->dtype == DType::kFloat32 && x->is_contiguous() && out.ok() &&
         (*out)->is_contiguous();
}

constexpr belay::Kernel kKernels[] = {
    {"zoo.scaled_swish.default", "ScaledSwishF32", belay::KernelEngine::kReference, &ScaledSwish,
     &Accepts},
};

}  // namespace

absl::Span<const belay::Kernel> ScaledSwishKernels() { return kKernels; }

}  // namespace custom_operator
