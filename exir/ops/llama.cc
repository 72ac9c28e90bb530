// Operators that ExecuTorch defines for language models (namespace llama): updates of key and value
// caches, attention over caches, Hadamard transforms.

#include <utility>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/llama.h"

namespace belay::exir {
namespace {

absl::Status UpdateCacheMeta(MetaContext& context, const UpdateCacheCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  if (call.target.position < 0) {
    context.SetOutput(0, *call.cache);
  } else {
    context.SetTensor(0, call.cache->dtype, {SymInt(1)});
  }
  return absl::OkStatus();
}

absl::Status CacheAttentionMeta(MetaContext& context,
                                const CacheAttentionCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, call.dtype(), std::move(shape));
  return absl::OkStatus();
}

absl::Status HadamardMeta(MetaContext& context, const HadamardCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(TensorMeta result,
                        ResultLike(call.mat->dtype, *call.mat, MemoryFormat::kPreserve));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

constexpr Tolerance kAttention = {1e-5, 1e-6};

constexpr OpDef kRows[] = {
    {.schema = "llama::custom_quantized_sdpa(Tensor query, Tensor key, Tensor value, SymInt "
               "start_pos, Tensor? attn_mask=None, float drpout_p=0., bool is_causal=False, float? "
               "scale=None, Tensor? q_zero_points=None, Tensor? q_scales=None, Tensor? "
               "k_zero_points=None, Tensor? k_scales=None, Tensor? v_zero_points=None, Tensor? "
               "v_scales=None, bool is_seq_at_dim_2=False) -> Tensor",
     .meta = &MetaKernel<&CacheAttentionMeta>,
     .tolerance = kAttention},
    {.schema = "llama::custom_sdpa(Tensor query, Tensor key, Tensor value, SymInt start_pos, "
               "Tensor? attn_mask=None, float drpout_p=0., bool is_causal=False, float? "
               "scale=None) -> Tensor",
     .meta = &MetaKernel<&CacheAttentionMeta>,
     .tolerance = kAttention},
    {.schema = "llama::fast_hadamard_transform(Tensor mat) -> Tensor",
     .meta = &MetaKernel<&HadamardMeta>,
     .tolerance = kAttention},
    {.schema = "llama::sdpa_with_kv_cache(Tensor query, Tensor key, Tensor value, Tensor(a!) "
               "key_cache, Tensor(b!) value_cache, SymInt start_pos, SymInt seq_len, Tensor? "
               "attn_mask=None, float drpout_p=0., bool is_causal=False, float? scale=None) -> "
               "Tensor",
     .meta = &MetaKernel<&CacheAttentionMeta>,
     .tolerance = kAttention},
    {.schema = "llama::update_cache(Tensor value, Tensor(a!) cache, SymInt start_pos) -> Tensor",
     .meta = &MetaKernel<&UpdateCacheMeta>},
    // Returns the new cache; functionalization replaces the other updates by it.
    {.schema = "llama::update_cache_functional(Tensor self, Tensor value, SymInt start_pos, "
               "Tensor? indices=None) -> Tensor",
     .meta = &MetaKernel<&UpdateCacheMeta>},
    {.schema = "llama::update_cache_with_indices(Tensor value, Tensor(a!) cache, SymInt "
               "start_pos, Tensor indices) -> Tensor",
     .meta = &MetaKernel<&UpdateCacheMeta>},
};

}  // namespace

absl::Span<const OpDef> LlamaOps() { return kRows; }

}  // namespace belay::exir
