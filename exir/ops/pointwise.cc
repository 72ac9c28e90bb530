#include "exir/ops/pointwise.h"

#include <complex>
#include <utility>

#include "absl/status/status.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/broadcast.h"

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

absl::Status PointwiseMeta::Add(int i) {
  if (const TensorMeta* tensor = context_.argument(i).get_if<TensorMeta>()) {
    AddTensor(*tensor);
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(PromoteWith(i));
  ABSL_ASSIGN_OR_RETURN(const DType category, context_.ScalarCategory(i));
  operands_.push_back(TensorMeta::Contiguous(category, {}));
  return absl::OkStatus();
}

void PointwiseMeta::AddTensor(const TensorMeta& tensor) {
  operands_.push_back(tensor);
  promotion_.AddTensor(tensor.dtype, tensor.rank());
}

absl::Status PointwiseMeta::AddMask(int i, DTypeSet types) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* tensor, context_.Tensor(i));
  if (!types.contains(tensor->dtype)) {
    return ArgumentError(
        context_, i,
        absl::StrCat("expected dtype ", FormatDTypeSet(types), ", got ", DTypeName(tensor->dtype)));
  }
  operands_.push_back(*tensor);
  return absl::OkStatus();
}

absl::Status PointwiseMeta::PromoteWith(int i) {
  if (context_.is_none(i))
    return ArgumentError(context_, i, "expected a tensor or a number, got none");
  ABSL_ASSIGN_OR_RETURN(const DType category, context_.ScalarCategory(i));
  promotion_.AddScalar(category);
  return absl::OkStatus();
}

absl::StatusOr<PromotedTypes> PointwiseMeta::Promote(const PromotionRule& rule) const {
  absl::StatusOr<PromotedTypes> types = belay::Promote(rule, promotion_);
  if (!types.ok()) return MetaError(context_, FromAbsl(types.status().message()));
  return types;
}

absl::StatusOr<std::vector<SymInt>> PointwiseMeta::Shape() const {
  std::vector<SymInt> shape;
  for (const TensorMeta& t : operands_) {
    absl::StatusOr<std::vector<SymInt>> both = BroadcastShape<SymInt>(shape, t.sizes);
    if (!both.ok()) return MetaError(context_, FromAbsl(both.status().message()));
    shape = *std::move(both);
  }
  return shape;
}

absl::Status PointwiseMeta::Finish(DType result) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, Shape());
  std::vector<const TensorMeta*> operands;
  for (const TensorMeta& t : operands_) operands.push_back(&t);
  context_.SetOutput(0, PointwiseResult(result, std::move(shape), operands));
  return absl::OkStatus();
}

absl::Status InferPointwise(MetaContext& context, int operands, const PromotionRule& rule) {
  PointwiseMeta meta(context);
  for (int i = 0; i < operands; ++i) ABSL_RETURN_IF_ERROR(meta.Add(i));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, meta.Promote(rule));
  return meta.Finish(types.result);
}

}  // namespace belay::exir
