#include "exir/ops/pointwise.h"

#include <complex>
#include <utility>

#include "absl/status/status.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::Status MetaError(const MetaContext& context, std::string_view message) {
  const FunctionSchema& s = context.schema();
  return absl::InvalidArgumentError(absl::StrCat(s.ns, "::", s.op, ".", s.overload, ": ", message));
}

absl::Status ArgumentError(const MetaContext& context, int i, std::string_view message) {
  return MetaError(context,
                   absl::StrCat("argument '", context.schema().arguments[i].name, "': ", message));
}

absl::Status CheckRealNumber(const MetaContext& context, int i) {
  ABSL_RETURN_IF_ERROR(context.ScalarCategory(i).status());
  const auto* number = context.argument(i).get_if<std::complex<double>>();
  if (number == nullptr || number->imag() == 0) return absl::OkStatus();
  return ArgumentError(context, i, "expected a real number, got complex");
}

absl::Status CheckWritable(const MetaContext& context, int i, const TensorMeta& tensor) {
  for (int d = 0; d < tensor.rank(); ++d) {
    if (tensor.strides[d].AsInt() == 0 && tensor.sizes[d].AsInt().value_or(0) > 1) {
      return ArgumentError(context, i,
                           absl::StrCat("can't be written: its elements along dimension ", d,
                                        " are one place in memory"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SymInt>> PointwiseShape(const MetaContext& context,
                                                   const PointwiseOperands<MetaArguments>& call) {
  absl::StatusOr<std::vector<SymInt>> shape = call.Shape();
  if (!shape.ok()) return MetaError(context, FromAbsl(shape.status().message()));
  return shape;
}

absl::Status SetPointwise(MetaContext& context, const PointwiseOperands<MetaArguments>& call,
                          DType result) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, PointwiseShape(context, call));
  const TensorMeta number = TensorMeta::Contiguous(DType::kFloat32, {});
  std::vector<const TensorMeta*> operands;
  for (int k = 0; k < call.count; ++k) {
    operands.push_back(call.operands[k].tensor == nullptr ? &number : call.operands[k].tensor);
  }
  context.SetOutput(0, PointwiseResult(result, std::move(shape), operands));
  return absl::OkStatus();
}

}  // namespace belay::exir
