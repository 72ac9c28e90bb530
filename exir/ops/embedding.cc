// Embedding lookups, embedding bags, and the gradient of a lookup.

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/strided_meta.h"
#include "runtime/kernel_interface/shape_rules/index.h"

namespace belay::exir {
namespace {

constexpr Tolerance kSums = {1e-5, 1e-6};

absl::Status EmbeddingMeta(MetaContext& context, const EmbeddingCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, call.Shape());
  context.SetOutput(0, CopyOf(*call.weight, std::move(sizes)));
  return absl::OkStatus();
}

absl::Status EmbeddingBackwardMeta(MetaContext& context,
                                   const EmbeddingBackwardCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, call.Shape());
  context.SetOutput(0, CopyOf(*call.grad_output, std::move(sizes)));
  return absl::OkStatus();
}

absl::Status EmbeddingBagMeta(MetaContext& context, const EmbeddingBagCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const BagShape<SymInt> shape, call.Shape());
  const TensorMeta *const weight = call.weight, *const weights = call.per_sample_weights;
  const DType index_type = call.IndexType();
  const bool unit_strides =
      weight->strides[1].AsInt() == 1 && (weights == nullptr || weights->strides[0].AsInt() == 1);
  context.SetOutput(0, CopyOf(*weight, {shape.bags, shape.features}));
  const bool skips = BagSkipsOffsets(weight->dtype, call.mode, call.padding_idx, unit_strides);
  context.SetTensor(1, index_type, {skips ? SymInt(0) : shape.indices});
  context.SetTensor(2, index_type, {shape.bags});
  if (static_cast<BagMode>(call.mode) == BagMode::kMax) {
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
     &MetaKernel<&EmbeddingBagMeta>, kCore,
     "weight:A indices:B offsets:C per_sample_weights:A ->0:A ->1:{i32,i64} ->2:{i32,i64} "
     "->3:{i32,i64} A=float B={i32,i64} C={i32,i64}",
     kSums},
    {"aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
     "scale_grad_by_freq=False, bool sparse=False) -> Tensor",
     &MetaKernel<&EmbeddingMeta>, kCore, "weight:A indices:{i32,i64} ->:A A=any"},
    {"aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, "
     "SymInt "
     "padding_idx, bool scale_grad_by_freq) -> Tensor",
     &MetaKernel<&EmbeddingBackwardMeta>, kCore, "grad_output:A indices:{i32,i64} ->:A A=float",
     kSums},
};

}  // namespace

absl::Span<const OpDef> EmbeddingOps() { return kOps; }

}  // namespace belay::exir
