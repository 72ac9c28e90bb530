#include "runtime/kernels/operands/llama.h"

#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

TensorView TokensOf(const TensorView& tensor, int64_t batch, int64_t first, int64_t count) {
  TensorView view = tensor;
  view.sizes[0] = 1;
  view.sizes[1] = count;
  view.data = PartAddress(tensor, batch * tensor.strides[0] + first * tensor.strides[1]);
  return view;
}

absl::Status WriteTokens(const TensorView& value, int64_t start, const TensorView& cache) {
  if (value.numel() == 0) return absl::OkStatus();
  // One copy per sequence, since its tokens are usually contiguous in both tensors.
  const int64_t count = value.sizes[1];
  for (int64_t b = 0; b < value.sizes[0]; ++b) {
    ABSL_RETURN_IF_ERROR(
        CopyElements(TokensOf(value, b, 0, count), TokensOf(cache, b, start, count)));
  }
  return absl::OkStatus();
}

absl::StatusOr<CacheAttentionOperands> OperandsOf(KernelContext& context,
                                                  const CacheAttentionCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype(), shape));
  const int64_t start = call.start_pos.value();
  if (call.new_key != nullptr) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* key, context.MutableTensor(call.key_target));
    ABSL_ASSIGN_OR_RETURN(const TensorView* value, context.MutableTensor(call.value_target));
    ABSL_RETURN_IF_ERROR(WriteTokens(*call.new_key, start, *key));
    ABSL_RETURN_IF_ERROR(WriteTokens(*call.new_value, start, *value));
  }
  return CacheAttentionOperands{.out = out,
                                .batch = out->sizes[0],
                                .heads = out->sizes[call.heads()],
                                .kv_heads = call.key->sizes[call.heads()],
                                .queries = out->sizes[call.tokens()],
                                .size = out->sizes[3],
                                .used = call.UsedTokens().value(),
                                .first = start};
}

}  // namespace belay
