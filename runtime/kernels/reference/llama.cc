// Operators that ExecuTorch defines for language models: updates of key and value caches, attention
// over caches, Hadamard transforms. Computed in double precision.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/llama.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

absl::Status CheckIndices(const TensorView& indices, int64_t room) {
  const Reader<int64_t> index(indices);
  for (StridedIterator<1> it(indices.sizes, {indices.strides}); !it.done(); it.Next()) {
    const int64_t token = index(it.offset(0));
    if (token >= 0 && token < room) continue;
    return absl::OutOfRangeError(
        absl::StrCat("indices: expected tokens of a cache of ", room, " tokens, got ", token));
  }
  return absl::OkStatus();
}

// Writes `cache`, or output 0, which becomes `self` with the new tokens and may be `self`.
absl::Status UpdateCache(KernelContext& context, const UpdateCacheCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const TensorView &value = *call.value, &cache = *call.cache;
  if (call.indices != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckIndices(*call.indices, cache.sizes[1]));
  }
  const TensorView* to = nullptr;
  if (call.target.position >= 0) {
    const CheckedInt one[] = {1};
    ABSL_ASSIGN_OR_RETURN(const TensorView* placeholder, OutputOf(context, 0, cache.dtype, one));
    ABSL_ASSIGN_OR_RETURN(to, context.MutableTensor(call.target));
    FillZero(*placeholder);
  } else {
    ABSL_ASSIGN_OR_RETURN(to, OutputOf(context, 0, cache.dtype, cache));
    if (to->data != cache.data) ABSL_RETURN_IF_ERROR(CopyElements(cache, *to));
  }
  if (call.indices == nullptr) return WriteTokens(value, call.start_pos.value(), *to);
  // Next to a size of 0, others may have any magnitude.
  if (value.numel() == 0) return absl::OkStatus();
  const Reader<int64_t> index(*call.indices);
  for (int64_t b = 0; b < value.sizes[0]; ++b) {
    for (int64_t t = 0; t < value.sizes[1]; ++t) {
      const int64_t token = index(b * call.indices->strides[0] + t * call.indices->strides[1]);
      ABSL_RETURN_IF_ERROR(CopyElements(TokensOf(value, b, t, 1), TokensOf(*to, b, token, 1)));
    }
  }
  return absl::OkStatus();
}

using AttentionCall = CacheAttentionCall<KernelArguments>;

// Reads elements of query, key or value as real numbers.
class RowReader {
 public:
  RowReader(const AttentionCall& call, const TensorView& tensor,
            const RowQuantization<KernelArguments>& parameters)
      : call_(call), tensor_(tensor), read_(tensor), parameters_(parameters) {}

  // Selects the row [b, h, t].
  void Select(int64_t b, int64_t h, int64_t t) {
    row_ = RowOffset(call_, tensor_, b, h, t);
    if (parameters_.scales == nullptr) return;
    scale_ = Reader<double>(*parameters_.scales)(RowOffset(call_, *parameters_.scales, b, h, t));
    zero_ = Reader<double>(*parameters_.zero_points)(
        RowOffset(call_, *parameters_.zero_points, b, h, t));
  }
  double operator[](int64_t i) const {
    return (read_(row_ + i * tensor_.strides[3]) - zero_) * scale_;
  }

 private:
  const AttentionCall& call_;
  const TensorView& tensor_;
  const Reader<double> read_;
  const RowQuantization<KernelArguments>& parameters_;
  int64_t row_ = 0;
  double scale_ = 1, zero_ = 0;
};

absl::Status CacheAttention(KernelContext& context, const AttentionCall& call) {
  ABSL_ASSIGN_OR_RETURN(const CacheAttentionOperands operands, OperandsOf(context, call));
  const TensorView& out = *operands.out;
  if (out.numel() == 0) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(double* weights, ScratchArray<double>(context, operands.used));
  RowReader query(call, *call.query, call.query_parameters),
      key(call, *call.key, call.key_parameters), value(call, *call.value, call.value_parameters);
  const Writer<double> write(out);
  const double scale = static_cast<float>(call.Scale(operands.size));  // as in ExecuTorch
  const int64_t group = operands.heads / operands.kv_heads;            // query heads per key head
  for (int64_t b = 0; b < operands.batch; ++b) {
    for (int64_t h = 0; h < operands.heads; ++h) {
      for (int64_t q = 0; q < operands.queries; ++q) {
        const int64_t visible = operands.Visible(call.causal, q);
        query.Select(b, h, q);
        double largest = -std::numeric_limits<double>::infinity();
        for (int64_t t = 0; t < visible; ++t) {
          key.Select(b, h / group, t);
          double score = 0;
          for (int64_t i = 0; i < operands.size; ++i) score += query[i] * key[i];
          weights[t] = score * scale;
          if (call.mask != nullptr) {
            weights[t] +=
                Reader<double>(*call.mask)(q * call.mask->strides[0] + t * call.mask->strides[1]);
          }
          largest = std::max(largest, weights[t]);
        }
        double sum = 0;
        for (int64_t t = 0; t < visible; ++t) sum += weights[t] = std::exp(weights[t] - largest);
        const int64_t to = RowOffset(call, out, b, h, q);
        for (int64_t i = 0; i < operands.size; ++i) {
          double result = 0;
          for (int64_t t = 0; t < visible; ++t) {
            value.Select(b, h / group, t);
            // Masked tokens have no effect, even if their values are not finite.
            if (weights[t] != 0) result += weights[t] * value[i];
          }
          write(to + i * out.strides[3], result / sum);
        }
      }
    }
  }
  return absl::OkStatus();
}

uint64_t CacheAttentionScratch(const KernelContext& context, const AttentionCall& call) {
  const Sizes& sizes = call.key->sizes;
  return sizes.size() == 4 ? ScratchBytesOf<double>(sizes[call.tokens()]) : 0;
}

using Hadamard = HadamardCall<KernelArguments>;

// row = the Hadamard transform of `size` elements, with butterflies at distances 1, 2, 4, …
void Transform(double* row, int64_t size) {
  for (int64_t step = 1; step < size; step *= 2) {
    for (int64_t i = 0; i < size; ++i) {
      if ((i & step) != 0) continue;
      const double a = row[i], b = row[i + step];
      row[i] = a + b;
      row[i + step] = a - b;
    }
  }
  const double factor = 1 / std::sqrt(static_cast<double>(size));
  for (int64_t i = 0; i < size; ++i) row[i] *= factor;
}

absl::Status HadamardTransform(KernelContext& context, const Hadamard& call) {
  const TensorView& in = *call.mat;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, in.dtype, in));
  if (in.numel() == 0) return absl::OkStatus();
  if (in.rank() == 0) return CopyElements(in, *out);
  const int64_t size = in.sizes.back();
  const HadamardSize split = *HadamardSize::Of(size);  // CheckShapes() has checked it
  ABSL_ASSIGN_OR_RETURN(double* row, ScratchArray<double>(context, size));
  const Reader<double> read(in);
  const Writer<double> write(*out);
  Sizes rows = in.sizes;
  rows.back() = 1;
  for (StridedIterator<2> it(rows, {in.strides, out->strides}); !it.done(); it.Next()) {
    for (int64_t i = 0; i < size; ++i) row[i] = read(it.offset(0) + i * in.strides.back());
    for (int64_t k = 0; k < split.blocks; ++k) Transform(row + k * split.block, split.block);
    for (int64_t i = 0; i < split.block && split.blocks > 1; ++i) {
      double column[28] = {};
      for (int r = 0; r < 28; ++r) {
        for (int c = 0; c < 28; ++c) {
          const double x = row[c * split.block + i];
          column[r] += HadamardSign28(r, c) ? -x : x;
        }
      }
      for (int r = 0; r < 28; ++r) row[r * split.block + i] = column[r];
    }
    for (int64_t i = 0; i < size; ++i) write(it.offset(1) + i * out->strides.back(), row[i]);
  }
  return absl::OkStatus();
}

uint64_t HadamardScratch(const KernelContext& context, const Hadamard& call) {
  const Sizes& sizes = call.mat->sizes;
  return sizes.empty() ? 0 : ScratchBytesOf<double>(sizes.back());
}

constexpr KernelEngine kReference = KernelEngine::kReference;
constexpr std::string_view kSelf = "self value start_pos indices";

constexpr Kernel kKernels[] = {
    KernelRow<&UpdateCache>("belay.update_cache_.default", kSelf, "UpdateCacheInPlace", kReference),
    KernelRow<&CacheAttention, nullptr, &CacheAttentionScratch>(
        "llama.custom_quantized_sdpa.default", kCustomQuantizedSdpaNames, "CustomQuantizedSdpa",
        kReference),
    KernelRow<&CacheAttention, nullptr, &CacheAttentionScratch>(
        "llama.custom_sdpa.default", kCustomSdpaNames, "CustomSdpa", kReference),
    KernelRow<&HadamardTransform, nullptr, &HadamardScratch>(
        "llama.fast_hadamard_transform.default", "mat", "FastHadamardTransform", kReference),
    KernelRow<&CacheAttention, nullptr, &CacheAttentionScratch>(
        "llama.sdpa_with_kv_cache.default", kSdpaWithKvCacheNames, "SdpaWithKvCache", kReference),
    KernelRow<&UpdateCache>("llama.update_cache.default", "value cache start_pos", "UpdateCache",
                            kReference),
    KernelRow<&UpdateCache>("llama.update_cache_functional.default", kSelf, "UpdateCacheFunctional",
                            kReference),
    KernelRow<&UpdateCache>("llama.update_cache_with_indices.default",
                            "value cache start_pos indices", "UpdateCacheWithIndices", kReference),
};

}  // namespace

absl::Span<const Kernel> LlamaKernels() { return kKernels; }

}  // namespace belay
