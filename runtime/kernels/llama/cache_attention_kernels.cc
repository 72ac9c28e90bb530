#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/llama/llama.h"
#include "runtime/kernels/operands/attention_ranges.h"
#include "runtime/kernels/operands/llama.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/packed/attention.h"
#include "runtime/kernels/quantize/quantize.h"

namespace belay {
namespace {

using Call = CacheAttentionCall<KernelArguments>;

// Floats of working memory.
struct Workspace {
  CheckedInt attention;               // per thread
  CheckedInt mask;                    // of a causal call with start_pos > 0
  CheckedInt query, key, value, out;  // copies in float32 [batch, heads, tokens, size]

  CheckedInt total(int threads) const {
    return attention * threads + mask + query + key + value + out;
  }

  // For a call that uses `used` tokens of the caches.
  static Workspace Of(const Call& call, CheckedInt used) {
    const Sizes &q = call.query->sizes, &k = call.key->sizes;
    const int64_t queries = q[call.tokens()], size = q[3];
    Workspace workspace;
    const std::optional<int64_t> floats = AttentionFloats(queries, used.value(), size, size);
    // On overflow, the total is not ok() either.
    workspace.attention = floats.has_value() ? CheckedInt(*floats) : CheckedInt(INT64_MAX) * 2;
    if (call.causal && queries > 1) workspace.mask = used + CheckedInt(queries);
    if (call.query->dtype == DType::kFloat32) return workspace;
    workspace.query = CheckedInt(q[0]) * q[1] * q[2] * q[3];
    workspace.key = CheckedInt(k[0]) * k[call.heads()] * used * k[3];
    workspace.value = workspace.key;
    if (call.dtype() != DType::kFloat32) workspace.out = workspace.query;
    return workspace;
  }
};

HeadStrides StridesOf(const Call& call, const TensorView& tensor) {
  return {.batch = tensor.strides[0],
          .head = tensor.strides[call.heads()],
          .token = tensor.strides[call.tokens()]};
}
// Of [batch, heads, tokens, size].
HeadStrides RowMajor(int64_t heads, int64_t tokens, int64_t size) {
  return {.batch = heads * tokens * size, .head = tokens * size, .token = size};
}

// Calls body(b, h, t, row) for all rows of [batch, heads, tokens] in order.
template <class Body>
void ForRows(const KernelContext& context, int64_t batch, int64_t heads, int64_t tokens,
             int64_t size, const Body& body) {
  const int64_t rows = batch * heads * tokens;
  const double work = kElementWork * static_cast<double>(rows) * static_cast<double>(size);
  RunRanges(context, rows, 1, work, [&](int part, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      body(row / tokens / heads, row / tokens % heads, row % tokens, row);
    }
  });
}

// Converts the first `tokens` tokens to float32 [batch, heads, tokens, size].
void ToFloats(const KernelContext& context, const Call& call, const TensorView& tensor,
              const RowQuantization<KernelArguments>& parameters, int64_t tokens, float* to) {
  const int64_t size = tensor.sizes[3];
  ForRows(context, tensor.sizes[0], tensor.sizes[call.heads()], tokens, size,
          [&](int64_t b, int64_t h, int64_t t, int64_t row) {
            const void* from = ElementAddress(tensor, RowOffset(call, tensor, b, h, t));
            float* const out = to + row * size;
            const auto n = static_cast<size_t>(size);
            if (parameters.scales == nullptr) return LoadFloats(tensor.dtype, from, n, out);
            const float scale =
                parameters.scales->as<const float>()[RowOffset(call, *parameters.scales, b, h, t)];
            const int8_t zero =
                parameters.zero_points
                    ->as<const int8_t>()[RowOffset(call, *parameters.zero_points, b, h, t)];
            DequantizeInt8Run(static_cast<const int8_t*>(from), n, zero, scale, out);
          });
}

// Attends to the used tokens. Query i of a causal call attends to start_pos + i + 1 tokens; for
// start_pos > 0, a mask says so. It depends on token - query only, so it is one array:
//   mask(query, token) = array[queries - 1 - query + token]
absl::Status CacheAttention(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const CacheAttentionOperands operands, OperandsOf(context, call));
  const TensorView& out = *operands.out;
  if (out.numel() == 0) return absl::OkStatus();
  const int64_t used = operands.used, queries = operands.queries, size = operands.size;
  const Workspace workspace = Workspace::Of(call, used);
  ABSL_ASSIGN_OR_RETURN(float* scratch,
                        ScratchArray<float>(context, workspace.total(context.num_threads())));
  const auto take = [&](CheckedInt floats) {
    float* const part = scratch;
    scratch += floats.value();
    return part;
  };
  AttentionArgs g = {.batch = operands.batch,
                     .heads = operands.heads,
                     .kv_heads = operands.kv_heads,
                     .queries = queries,
                     .keys = used,
                     .head_size = size,
                     .value_size = size};
  g.scale = static_cast<float>(call.Scale(size));
  g.nan_rows = true;
  float* const per_thread = take(workspace.attention * context.num_threads());
  if (call.mask != nullptr) {
    g.mask = call.mask->as<const float>();
    g.mask_strides.token = call.mask->strides[0];
    g.mask_key_stride = call.mask->strides[1];
  } else if (call.causal && queries > 1) {
    g.causal = operands.first == 0;
    if (!g.causal) {
      float* const mask = take(workspace.mask);
      std::fill(mask, mask + used, 0.0f);
      std::fill(mask + used, mask + used + queries, -std::numeric_limits<float>::infinity());
      g.mask = mask + queries - 1;
      g.mask_strides.token = -1;
    }
  }
  const bool converts = call.query->dtype != DType::kFloat32;
  if (converts) {
    float *const query = take(workspace.query), *const key = take(workspace.key),
                 *const value = take(workspace.value);
    ToFloats(context, call, *call.query, call.query_parameters, queries, query);
    ToFloats(context, call, *call.key, call.key_parameters, used, key);
    ToFloats(context, call, *call.value, call.value_parameters, used, value);
    g.query = query;
    g.key = key;
    g.value = value;
    g.query_strides = RowMajor(g.heads, queries, size);
    g.key_strides = g.value_strides = RowMajor(g.kv_heads, used, size);
  } else {
    g.query = call.query->as<const float>();
    g.key = call.key->as<const float>();
    g.value = call.value->as<const float>();
    g.query_strides = StridesOf(call, *call.query);
    g.key_strides = StridesOf(call, *call.key);
    g.value_strides = StridesOf(call, *call.value);
  }
  const bool converts_back = out.dtype != DType::kFloat32;
  g.out = converts_back ? take(workspace.out) : out.as<float>();
  g.out_strides = converts_back ? RowMajor(g.heads, queries, size) : StridesOf(call, out);
  RunAttention(context, g, per_thread, workspace.attention.value());
  if (converts_back) {
    ForRows(context, g.batch, g.heads, queries, size,
            [&](int64_t b, int64_t h, int64_t t, int64_t row) {
              StoreFloats(g.out + row * size, static_cast<size_t>(size), out.dtype,
                          ElementAddress(out, RowOffset(call, out, b, h, t)));
            });
  }
  return absl::OkStatus();
}

bool HasDenseRows(const TensorView& tensor) {
  return tensor.rank() == 4 && (tensor.sizes[3] <= 1 || tensor.strides[3] == 1);
}

bool Accepts(const KernelContext& context, const Call& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return out.ok() && HasDenseRows(**out) && HasDenseRows(*call.query) && HasDenseRows(*call.key) &&
         HasDenseRows(*call.value);
}

// Bounds the used tokens by the reserved ones.
uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  if (!Accepts(context, call)) return 0;
  const Workspace workspace = Workspace::Of(call, call.key->sizes[call.tokens()]);
  return ScratchBytesOf<float>(workspace.total(context.num_threads()));
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

constexpr Kernel kKernels[] = {
    KernelRow<&CacheAttention, &Accepts, &ScratchBytes>("llama.custom_quantized_sdpa.default",
                                                        kCustomQuantizedSdpaNames,
                                                        "CustomQuantizedSdpaPacked", kHighway),
    KernelRow<&CacheAttention, &Accepts, &ScratchBytes>(
        "llama.custom_sdpa.default", kCustomSdpaNames, "CustomSdpaPacked", kHighway),
    KernelRow<&CacheAttention, &Accepts, &ScratchBytes>("llama.sdpa_with_kv_cache.default",
                                                        kSdpaWithKvCacheNames,
                                                        "SdpaWithKvCachePacked", kHighway),
};

}  // namespace

absl::Span<const Kernel> CacheAttentionHighwayKernels() { return kKernels; }

}  // namespace belay
