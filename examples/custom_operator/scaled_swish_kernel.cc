#include "scaled_swish_kernel.h"

#include <cmath>
#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"

namespace custom_operator {
namespace {

using belay::DType;
using belay::TensorView;

// Operands of a call, read once at load by the names of the operator's schema. Program files are
// untrusted: the reader checks all arguments.
struct ScaledSwishCall {
  const TensorView* x = nullptr;
  double scale = 0;

  static absl::StatusOr<ScaledSwishCall> Read(const belay::KernelArguments& arguments) {
    ScaledSwishCall call;
    ABSL_ASSIGN_OR_RETURN(call.x, arguments.Tensor("x", {DType::kFloat32}));
    ABSL_ASSIGN_OR_RETURN(call.scale, arguments.Double("scale"));
    return call;
  }
};

absl::Status ScaledSwish(belay::KernelContext& context, const ScaledSwishCall& call) {
  const TensorView& x = *call.x;
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, x.sizes));
  if (out->dtype != DType::kFloat32 || !x.is_contiguous() || !out->is_contiguous()) {
    return absl::InvalidArgumentError("scaled_swish: expected row-major float32");
  }
  const float* from = x.as<const float>();
  float* to = out->as<float>();
  const float s = static_cast<float>(call.scale);
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] / (1 + std::exp(-from[i] * s));
  return absl::OkStatus();
}

// Called at load; other kernels of the operator may support calls that this one does not.
bool Accepts(const belay::KernelContext& context, const ScaledSwishCall& call) {
  const auto out = context.PlannedOutput(0);
  return call.x->is_contiguous() && out.ok() && (*out)->is_contiguous();
}

constexpr belay::Kernel kKernels[] = {
    belay::KernelRow<&ScaledSwish, &Accepts>("zoo.scaled_swish.default", "x scale",
                                             "ScaledSwishF32", belay::KernelEngine::kReference),
};

}  // namespace

absl::Span<const belay::Kernel> ScaledSwishKernels() { return kKernels; }

}  // namespace custom_operator
