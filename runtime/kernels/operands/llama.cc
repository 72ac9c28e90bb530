#include "runtime/kernels/operands/llama.h"

#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

absl::Status WriteTokens(const TensorView& value, int64_t start, const TensorView& cache) {
  if (value.numel() == 0) return absl::OkStatus();
  // One copy per sequence, since its tokens are usually contiguous in both tensors.
  for (int64_t b = 0; b < value.sizes[0]; ++b) {
    TensorView from = value, to = cache;
    to.sizes[1] = value.sizes[1];
    from.data = PartAddress(value, b * value.strides[0]);
    to.data = PartAddress(cache, b * cache.strides[0] + start * cache.strides[1]);
    from.sizes[0] = to.sizes[0] = 1;
    ABSL_RETURN_IF_ERROR(CopyElements(from, to));
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
