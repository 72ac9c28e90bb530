#include "scaled_swish_op.h"

#include "exir/op_definition/meta_context.h"
#include "runtime/core/status_macros.h"

namespace custom_operator {
namespace {

// Counterpart of torch.library's register_fake in Python: the result is like x. Sizes may be
// symbols.
absl::Status InferScaledSwish(belay::exir::MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const belay::exir::TensorMeta* x, context.Tensor(0));
  context.SetOutput(0, *x);
  return absl::OkStatus();
}

constexpr belay::exir::OpDef kScaledSwish = {
    .schema = "zoo::scaled_swish(Tensor x, float scale) -> Tensor",
    .meta = &InferScaledSwish,
    .traits = belay::exir::kPointwise,
    .dtypes = "x:A ->:A A=float",
    .tolerance = {},
    .domain = {},
};

}  // namespace

absl::Status DefineScaledSwish(belay::exir::OpRegistry& ops) {
  return ops.Define(kScaledSwish).status();
}

}  // namespace custom_operator
