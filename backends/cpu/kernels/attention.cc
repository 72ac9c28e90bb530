// belay_cpu::attention.
#include "runtime/kernels/packed/attention.h"
#include "runtime/kernels/operands/attention_ranges.h"

#include "backends/cpu/calls.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/operands/operands.h"

namespace belay::cpu {
namespace {

using Call = AttentionCall<KernelArguments>;

// Strides of [.., heads, tokens, size]; rank 3 has a batch of one. kInvalidArgument unless the last
// dimension is dense.
absl::StatusOr<HeadStrides> StridesOf(std::string_view name, const TensorView& t) {
  const int last = t.rank() - 1;
  if (t.sizes[last] > 1 && t.strides[last] != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected a dense last dimension, got ", t.ToString()));
  }
  return HeadStrides{.batch = t.rank() == 4 ? t.strides[0] : 0,
                     .head = t.strides[last - 2],
                     .token = t.strides[last - 1]};
}

std::optional<int64_t> FloatsOf(const Call& call) {
  const int last = call.query->rank() - 1;
  return AttentionFloats(call.query->sizes[last - 1], call.key->sizes[last - 1],
                         call.query->sizes[last], call.value->sizes[last]);
}

absl::Status Attention(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  AttentionArgs g;
  ABSL_ASSIGN_OR_RETURN(g.query_strides, StridesOf("query", *call.query));
  ABSL_ASSIGN_OR_RETURN(g.key_strides, StridesOf("key", *call.key));
  ABSL_ASSIGN_OR_RETURN(g.value_strides, StridesOf("value", *call.value));
  ABSL_ASSIGN_OR_RETURN(g.out_strides, StridesOf("result", *out));
  if (out->numel() == 0) return absl::OkStatus();
  const int last = out->rank() - 1;
  g.batch = last == 3 ? out->sizes[0] : 1;
  g.heads = out->sizes[last - 2];
  g.kv_heads = call.key->sizes[last - 2];
  g.queries = out->sizes[last - 1];
  g.keys = call.key->sizes[last - 1];
  g.head_size = call.query->sizes[last];
  g.value_size = out->sizes[last];
  if (g.keys == 0) {
    FillZero(*out);
    return absl::OkStatus();
  }
  g.query = call.query->as<const float>();
  g.key = call.key->data;
  g.value = call.value->data;
  g.key_dtype = call.key->dtype;
  g.scale = static_cast<float>(call.scale);
  g.causal = call.is_causal;
  g.nan_rows = call.nan_rows;
  if (call.mask != nullptr) {
    const TensorView& mask = *call.mask;
    // Stride of the dimension of the scores at index `rank - back`.
    const auto stride = [&](int back) -> int64_t {
      const int d = mask.rank() - back;
      return d < 0 || mask.sizes[d] == 1 ? 0 : mask.strides[d];
    };
    g.mask_key_stride = stride(1);
    g.mask_strides = {.batch = stride(4), .head = stride(3), .token = stride(2)};
    if (mask.dtype == DType::kBool) {
      g.mask_bits = mask.as<const uint8_t>();
    } else {
      g.mask = mask.as<const float>();
    }
  }
  g.out = out->as<float>();
  const std::optional<int64_t> floats = FloatsOf(call);
  if (!floats.has_value()) return absl::ResourceExhaustedError("attention: too many keys");
  ABSL_ASSIGN_OR_RETURN(float* scratch,
                        ScratchArray<float>(context, CheckedInt(*floats) * context.num_threads()));
  RunAttention(context, g, scratch, *floats);
  return absl::OkStatus();
}

bool Accepts(const KernelContext& context, const Call& call) {
  return call.Shape().ok() && FloatsOf(call).has_value();
}

// The size for the maximum number of queries also suffices for fewer, which may select another
// algorithm.
uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  return ScratchBytesOf<float>(CheckedInt(FloatsOf(call).value_or(0)) * context.num_threads());
}

constexpr OperatorFacts kFacts = {.work = {WorkRule::Kind::kMatmul, 0, 1, 2},
                                  .flops = {FlopRule::Kind::kAttention}};
constexpr Kernel kKernels[] = {
    KernelRow<&Attention, &Accepts, &ScratchBytes>(
        "belay_cpu.attention.default", "query key value mask scale is_causal nan_rows",
        "AttentionPacked", KernelEngine::kHighway, &kFacts),
};

}  // namespace

absl::Span<const Kernel> AttentionKernels() { return kKernels; }

}  // namespace belay::cpu
