// Shape rules of the operators that ExecuTorch defines for language models: the namespace llama.
//
// Attention and caches have tensors [batch, tokens, heads, size]. A cache reserves more tokens than
// it uses: a call at position `start_pos` with n tokens uses the first start_pos + n of them.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_LLAMA_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_LLAMA_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/same_shape.h"

namespace belay {

inline constexpr DTypeSet kAttentionTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

// kInvalidArgument unless the tensor has rank 4.
template <class D>
absl::Status CheckRank4(std::string_view name, absl::Span<const D> sizes) {
  if (sizes.size() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected four dimensions, got shape ", FormatDims<D>(sizes)));
}

// kOutOfRange unless [start, start + count) is in [0, room).
template <class D>
absl::Status CheckTokenRange(const D& start, const D& count, const D& room) {
  const std::optional<int64_t> first = KnownInt(start), tokens = KnownInt(count),
                               size = KnownInt(room);
  if (!first.has_value() || !tokens.has_value() || !size.has_value()) return absl::OkStatus();
  if (RangeFits(static_cast<uint64_t>(*first), static_cast<uint64_t>(*tokens),
                static_cast<uint64_t>(*size))) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(absl::StrCat("start_pos: ", *tokens, " tokens at position ", *first,
                                            " exceed a cache of ", *size, " tokens"));
}

// Checks that `value` fits the cache: all sizes except the number of tokens are equal.
template <class D>
absl::Status CheckCacheEntry(std::string_view name, const Dims<D>& value, const Dims<D>& cache) {
  ABSL_RETURN_IF_ERROR(CheckRank4<D>(name, value));
  ABSL_RETURN_IF_ERROR(CheckRank4<D>("cache", cache));
  Dims<D> expected = cache;
  expected[1] = value[1];
  return CheckSameShape<D>(name, value, expected);
}

// update_cache, update_cache_with_indices -> a placeholder of one element; they write `cache`.
// update_cache_functional -> the new cache, whose old contents are `self`.
// Token t of `value` becomes token start_pos + t, or indices[batch, t], of the cache.
template <class Arguments>
struct UpdateCacheCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef value, cache;
  typename Arguments::TensorRef indices = nullptr;  // null for none
  D start_pos = D(int64_t{0});                      // unused with indices
  MutableArgument target;                           // `cache`, if the operator writes it

  static absl::StatusOr<UpdateCacheCall> Read(const Arguments& arguments) {
    UpdateCacheCall call;
    const bool writes = arguments.Has("cache");
    ABSL_ASSIGN_OR_RETURN(call.cache, arguments.Tensor(writes ? "cache" : "self"));
    ABSL_ASSIGN_OR_RETURN(call.value, arguments.Tensor("value", DTypeSet{call.cache->dtype}));
    if (arguments.Has("indices")) {
      ABSL_ASSIGN_OR_RETURN(call.indices,
                            arguments.OptionalTensor("indices", DTypeSet{DType::kInt64}));
    }
    ABSL_ASSIGN_OR_RETURN(call.start_pos, arguments.Int("start_pos"));
    if (writes) {
      ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("cache"));
    }
    return call;
  }
  // Elements of `indices` are checked by kernels.
  absl::Status CheckShapes() const {
    const Dims<D> from = Dims<D>(Arguments::SizesOf(value)),
                  to = Dims<D>(Arguments::SizesOf(cache));
    ABSL_RETURN_IF_ERROR(CheckCacheEntry<D>("value", from, to));
    if (indices == nullptr) return CheckTokenRange<D>(start_pos, from[1], to[1]);
    return CheckSameShape<D>("indices", Dims<D>(Arguments::SizesOf(indices)),
                             absl::MakeConstSpan(from).subspan(0, 2));
  }
};

// Parameters of an int8 tensor, one per row of the last dimension: [..., 1].
template <class Arguments>
struct RowQuantization {
  typename Arguments::TensorRef scales = nullptr, zero_points = nullptr;

  static absl::StatusOr<RowQuantization> Read(const Arguments& arguments, std::string_view scales,
                                              std::string_view zero_points) {
    RowQuantization parameters;
    ABSL_ASSIGN_OR_RETURN(parameters.scales, arguments.Tensor(scales, DTypeSet{DType::kFloat32}));
    ABSL_ASSIGN_OR_RETURN(parameters.zero_points,
                          arguments.Tensor(zero_points, DTypeSet{DType::kInt8}));
    return parameters;
  }
  // `name` is that of the quantized tensor.
  absl::Status Check(std::string_view name, Dims<typename Arguments::Dim> sizes) const {
    using D = typename Arguments::Dim;
    sizes[sizes.size() - 1] = D(int64_t{1});
    for (const auto parameter : {scales, zero_points}) {
      ABSL_RETURN_IF_ERROR(CheckSameShape<D>(absl::StrCat(name, ": scales and zero points"),
                                             Dims<D>(Arguments::SizesOf(parameter)), sizes));
    }
    return absl::OkStatus();
  }
};

// custom_sdpa, sdpa_with_kv_cache, custom_quantized_sdpa -> result of the query's shape.
//
//   softmax(scale * Q K^T + attn_mask) V     over all tokens of the cache
//   softmax(scale * Q K^T) V                 over tokens [0, start_pos + queries); if is_causal,
//                                            query i attends to tokens [0, start_pos + i]
//
// Heads of K and V divide those of Q; query head h uses head h / (heads / kv_heads). The default of
// `scale`, a float32, is 1 / sqrt(size). `drpout_p` (the schema's spelling) and `seq_len` are unused,
// as in ExecuTorch.
template <class Arguments>
struct CacheAttentionCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef query, key, value;  // key and value are the caches
  typename Arguments::TensorRef mask = nullptr;     // [queries, tokens of the cache]; null for none
  // sdpa_with_kv_cache writes these to the caches first; null for the other operators.
  typename Arguments::TensorRef new_key = nullptr, new_value = nullptr;
  MutableArgument key_target, value_target;
  // Of custom_quantized_sdpa.
  bool quantized = false;
  RowQuantization<Arguments> query_parameters, key_parameters, value_parameters;
  bool heads_first = false;  // tensors are [batch, heads, tokens, size]
  D start_pos = D(int64_t{0});
  bool causal = false;
  std::optional<double> scale;

  // Dimensions of tokens and heads.
  int tokens() const { return heads_first ? 2 : 1; }
  int heads() const { return heads_first ? 1 : 2; }

  static absl::StatusOr<CacheAttentionCall> Read(const Arguments& arguments) {
    CacheAttentionCall call;
    call.quantized = arguments.Has("q_scales");
    ABSL_ASSIGN_OR_RETURN(
        call.query,
        arguments.Tensor("query", call.quantized ? DTypeSet{DType::kInt8} : kAttentionTypes));
    const DTypeSet same = {call.query->dtype};
    ABSL_ASSIGN_OR_RETURN(call.key, arguments.Tensor("key", same));
    ABSL_ASSIGN_OR_RETURN(call.value, arguments.Tensor("value", same));
    if (arguments.Has("key_cache")) {
      call.new_key = call.key;
      call.new_value = call.value;
      ABSL_ASSIGN_OR_RETURN(call.key, arguments.Tensor("key_cache", same));
      ABSL_ASSIGN_OR_RETURN(call.value, arguments.Tensor("value_cache", same));
      ABSL_ASSIGN_OR_RETURN(call.key_target, arguments.Mutable("key_cache"));
      ABSL_ASSIGN_OR_RETURN(call.value_target, arguments.Mutable("value_cache"));
    }
    ABSL_ASSIGN_OR_RETURN(call.start_pos, arguments.Int("start_pos"));
    ABSL_ASSIGN_OR_RETURN(call.mask,
                          arguments.OptionalTensor("attn_mask", DTypeSet{DType::kFloat32}));
    ABSL_RETURN_IF_ERROR(arguments.Double("drpout_p").status());
    if (arguments.Has("seq_len")) ABSL_RETURN_IF_ERROR(arguments.Int("seq_len").status());
    ABSL_ASSIGN_OR_RETURN(call.causal, arguments.Bool("is_causal"));
    if (call.causal && call.mask != nullptr) {
      return arguments.ArgumentError("attn_mask", "expected none, since is_causal is true");
    }
    ABSL_ASSIGN_OR_RETURN(call.scale, arguments.OptionalDouble("scale"));
    if (call.quantized) {
      using Parameters = RowQuantization<Arguments>;
      ABSL_ASSIGN_OR_RETURN(call.query_parameters,
                            Parameters::Read(arguments, "q_scales", "q_zero_points"));
      ABSL_ASSIGN_OR_RETURN(call.key_parameters,
                            Parameters::Read(arguments, "k_scales", "k_zero_points"));
      ABSL_ASSIGN_OR_RETURN(call.value_parameters,
                            Parameters::Read(arguments, "v_scales", "v_zero_points"));
      ABSL_ASSIGN_OR_RETURN(call.heads_first, arguments.Bool("is_seq_at_dim_2"));
    }
    return call;
  }

  DType dtype() const { return quantized ? DType::kFloat32 : query->dtype; }

  // Returns the shape of the result; checks all operands.
  absl::StatusOr<Dims<D>> Shape() const {
    const Dims<D> q = Dims<D>(Arguments::SizesOf(query)), k = Dims<D>(Arguments::SizesOf(key)),
                  v = Dims<D>(Arguments::SizesOf(value));
    ABSL_RETURN_IF_ERROR(CheckRank4<D>("query", q));
    ABSL_RETURN_IF_ERROR(CheckRank4<D>("key", k));
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("value", v, k));
    Dims<D> expected = q;
    expected[tokens()] = k[tokens()];
    expected[heads()] = k[heads()];
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("key", k, expected));
    const std::optional<int64_t> kv_heads = KnownInt(k[heads()]),
                                 query_heads = KnownInt(q[heads()]);
    if (kv_heads == 0 ||
        (kv_heads.has_value() && query_heads.has_value() && *query_heads % *kv_heads != 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "key: expected a divisor of ", DimToString(q[heads()]), " heads, got ", *kv_heads));
    }
    if (mask != nullptr) {
      const Dims<D> scores = {q[tokens()], k[tokens()]};
      ABSL_RETURN_IF_ERROR(
          CheckSameShape<D>("attn_mask", Dims<D>(Arguments::SizesOf(mask)), scores));
    } else {
      ABSL_RETURN_IF_ERROR(CheckTokenRange<D>(start_pos, q[tokens()], k[tokens()]));
    }
    for (const auto entry : {new_key, new_value}) {
      if (entry == nullptr) continue;
      const Dims<D> sizes = Dims<D>(Arguments::SizesOf(entry));
      ABSL_RETURN_IF_ERROR(CheckCacheEntry<D>(entry == new_key ? "key" : "value", sizes, k));
      ABSL_RETURN_IF_ERROR(CheckTokenRange<D>(start_pos, sizes[1], k[1]));
    }
    if (quantized) {
      ABSL_RETURN_IF_ERROR(query_parameters.Check("query", q));
      ABSL_RETURN_IF_ERROR(key_parameters.Check("key", k));
      ABSL_RETURN_IF_ERROR(value_parameters.Check("value", v));
    }
    return q;
  }

  // Number of tokens of the caches that the call uses. Precondition: Shape() is OK.
  D UsedTokens() const {
    return mask != nullptr ? D(Arguments::SizesOf(key)[tokens()])
                           : start_pos + D(Arguments::SizesOf(query)[tokens()]);
  }
  double Scale(int64_t size) const {
    return scale.has_value() ? *scale : 1 / std::sqrt(static_cast<double>(size));
  }
};

// The number of elements of a Hadamard transform: 2^k, or 28 * 2^k.
struct HadamardSize {
  int64_t blocks = 1;  // 1 or 28
  int64_t block = 1;   // a power of two

  // kInvalidArgument for other sizes.
  static absl::StatusOr<HadamardSize> Of(int64_t size) {
    HadamardSize split;
    if (size > 0 && size % 28 == 0) split.blocks = 28;
    split.block = size / split.blocks;
    if (size >= 0 && (split.block & (split.block - 1)) == 0) return split;
    return absl::InvalidArgumentError(
        absl::StrCat("mat: expected a last dimension of 2^k or 28 * 2^k elements, got ", size));
  }
};

// fast_hadamard_transform: transforms the last dimension.
//
//   2^k elements:       out[i] = 2^(-k/2) * sum over j of (-1)^popcount(i & j) * in[j]
//   28 * 2^k elements:  that for each of the 28 rows, then each column times H28
//
// H28 is the Hadamard matrix of Williamson type in SpinQuant (HadamardSign28 of
// runtime/kernels/operands/llama.h); it is not normalized.
template <class Arguments>
struct HadamardCall {
  typename Arguments::TensorRef mat;

  static absl::StatusOr<HadamardCall> Read(const Arguments& arguments) {
    HadamardCall call;
    ABSL_ASSIGN_OR_RETURN(call.mat, arguments.Tensor("mat", kAttentionTypes));
    return call;
  }
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    const Dims<D> sizes = Dims<D>(Arguments::SizesOf(mat));
    const std::optional<int64_t> last = sizes.empty() ? 1 : KnownInt(sizes.back());
    return last.has_value() ? HadamardSize::Of(*last).status() : absl::OkStatus();
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_LLAMA_H_
