// Rows of a table: lookups, bags of lookups, and the gradient of a lookup.

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_args.h"
#include "exir/ops/meta_checks.h"
#include "runtime/kernel/shape_rules/index.h"

namespace belay::exir {
namespace {

constexpr DTypeSet kIndexTypes = {DType::kInt32, DType::kInt64};
constexpr Tolerance kSums = {1e-5, 1e-6};

absl::Status EmbeddingMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* weight, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* indices, TensorOf(context, 1, kIndexTypes));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes,
                        EmbeddingShape<SymInt>(weight->sizes, indices->sizes));
  context.SetOutput(0, CopyOf(*weight, std::move(sizes)));
  return absl::OkStatus();
}

absl::Status EmbeddingBackwardMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* grad, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* indices, TensorOf(context, 1, kIndexTypes));
  ABSL_ASSIGN_OR_RETURN(const SymInt rows, context.Int(2));
  if (grad->sizes.empty() || KnownNegative(rows) ||
      KnownDifferent(grad->NumElements(), indices->NumElements() * grad->sizes.back())) {
    return absl::InvalidArgumentError(
        absl::StrCat("embedding_dense_backward: gradient ", FormatDims<SymInt>(grad->sizes),
                     " does not fit indices ", FormatDims<SymInt>(indices->sizes), " and ",
                     rows.ToString(), " rows"));
  }
  context.SetOutput(0, CopyOf(*grad, {rows, grad->sizes.back()}));
  return absl::OkStatus();
}

absl::Status EmbeddingBagMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* weight, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* indices, TensorOf(context, 1, kIndexTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* offsets, TensorOf(context, 2, kIndexTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t mode, context.StaticInt(4));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* weights, context.OptionalTensor(6));
  ABSL_ASSIGN_OR_RETURN(const bool include_last, context.Bool(7));
  ABSL_ASSIGN_OR_RETURN(const int64_t padding, context.StaticInt(8));
  if (weights != nullptr && weights->dtype != weight->dtype) {
    return absl::InvalidArgumentError(absl::StrCat("per_sample_weights: expected ",
                                                   DTypeName(weight->dtype), ", got ",
                                                   DTypeName(weights->dtype)));
  }
  const absl::Span<const SymInt> weights_sizes =
      weights == nullptr ? absl::Span<const SymInt>() : absl::Span<const SymInt>(weights->sizes);
  ABSL_ASSIGN_OR_RETURN(
      const BagShape<SymInt> shape,
      EmbeddingBagShape<SymInt>(weight->sizes, indices->sizes, offsets->sizes, mode,
                                weights == nullptr ? nullptr : &weights_sizes, include_last));
  const DType index_type = indices->dtype == DType::kInt64 ? DType::kInt64 : offsets->dtype;
  const bool unit_strides =
      weight->strides[1].AsInt() == 1 && (weights == nullptr || weights->strides[0].AsInt() == 1);
  context.SetOutput(0, CopyOf(*weight, {shape.bags, shape.features}));
  const bool skips = BagSkipsOffsets(weight->dtype, mode, padding, unit_strides);
  context.SetTensor(1, index_type, {skips ? SymInt(0) : shape.indices});
  context.SetTensor(2, index_type, {shape.bags});
  if (static_cast<BagMode>(mode) == BagMode::kMax) {
    context.SetTensor(3, index_type, {shape.bags, shape.features});
  } else {
    context.SetTensor(3, index_type, {shape.bags});
  }
  return absl::OkStatus();
}

constexpr OpDef kOps[] = {
    {"aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
     "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
     "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     &EmbeddingBagMeta, kCore,
     "weight:A indices:B offsets:C per_sample_weights:A ->0:A ->1:{i32,i64} ->2:{i32,i64} "
     "->3:{i32,i64} A=float B={i32,i64} C={i32,i64}",
     kSums},
    {"aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
     "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     &EmbeddingMeta, kCore, "weight:A indices:{i32,i64} ->:A A=any"},
    {"aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, "
     "SymInt "
     "padding_idx, bool scale_grad_by_freq) -> Tensor",
     &EmbeddingBackwardMeta, kCore, "grad_output:A indices:{i32,i64} ->:A A=float", kSums},
};

}  // namespace

absl::Span<const OpDef> EmbeddingOps() { return kOps; }

}  // namespace belay::exir
