// Operators on given tensors that use random numbers.

#include "runtime/kernel/shape_rules/random.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

absl::Status DropoutMeta(MetaContext& context, const DropoutCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const TensorMeta* const input = call.input;
  for (int i = 0; i < 2; ++i) {
    const DType dtype = i == 0 || call.IsEmpty() ? input->dtype : DType::kBool;
    ABSL_ASSIGN_OR_RETURN(TensorMeta result, ResultLike(dtype, *input, MemoryFormat::kPreserve));
    context.SetOutput(i, std::move(result));
  }
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&DropoutMeta>,
     .traits = kCore | kNondeterministic,
     .dtypes = "input:A ->0:A ->1:{b8} A=float",
     .tolerance = {1e-6, 0}},
};

}  // namespace

absl::Span<const OpDef> RandomOps() { return kRows; }

}  // namespace belay::exir
