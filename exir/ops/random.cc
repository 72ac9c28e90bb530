// Operators on given tensors that use random numbers.

#include <algorithm>

#include "exir/ops/families.h"
#include "exir/ops/meta_checks.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

absl::Status DropoutMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const double p, context.Double(1));
  bool train = true;
  if (!context.is_none(2)) {
    ABSL_ASSIGN_OR_RETURN(train, context.Bool(2));
  }
  // Without elements PyTorch returns a mask of the input's dtype and looks at nothing else. Of what
  // nothing is dropped, anything is taken.
  const bool empty = std::any_of(input->sizes.begin(), input->sizes.end(),
                                 [](const SymInt& size) { return size.AsInt() == 0; });
  if (train && !empty) {
    ABSL_RETURN_IF_ERROR(TensorOf(context, 0, kFloatTypes).status());
    if (!(p >= 0 && p <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("p: expected a number from 0 to 1, got ", p));
    }
  }
  for (int i = 0; i < 2; ++i) {
    const DType dtype = i == 0 || empty ? input->dtype : DType::kBool;
    ABSL_ASSIGN_OR_RETURN(TensorMeta result, ResultLike(dtype, *input, MemoryFormat::kPreserve));
    context.SetOutput(i, std::move(result));
  }
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     .meta = &DropoutMeta,
     .traits = kCore | kNondeterministic,
     .dtypes = "input:A ->0:A ->1:{b8} A=float",
     .tolerance = {1e-6, 0}},
};

}  // namespace

absl::Span<const OpDef> RandomOps() { return kRows; }

}  // namespace belay::exir
