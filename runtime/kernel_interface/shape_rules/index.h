// Shape rules of operators with index tensors.
//
// Source:
// aten/src/ATen/native/{TensorAdvancedIndexing,ScatterGatherChecks,IndexingUtils,Embedding}.h of
// PyTorch. Where PyTorch compares sizes, symbolic sizes that may be equal pass; the kernel checks
// the integers.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_INDEX_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/broadcast.h"
#include "runtime/kernel_interface/shape_rules/strided.h"
#include "runtime/kernel_interface/type_promotion.h"

namespace belay {

inline constexpr DTypeSet kIndexTypes = {DType::kInt32, DType::kInt64};

// Returns whether a tensor of sizes `from` expands to `to`.
template <class D>
bool MayExpandTo(absl::Span<const D> from, absl::Span<const D> to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    const D& size = from[i];
    if (KnownInt(size) != 1 && KnownDifferent(size, to[to.size() - from.size() + i])) return false;
  }
  return true;
}

template <class D>
bool KnownEmpty(absl::Span<const D> sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const D& size) { return KnownInt(size) == 0; });
}

// Checks gather, scatter and related operators. `index` has the rank of `self`, is no larger than
// `self` in all dimensions except `dim`, and no larger than `src` in all dimensions. Scalars count
// as vectors of one element. An index without elements always passes. Returns the dimension counted
// from 0.
template <class D>
absl::StatusOr<int> CheckGatherShapes(std::string_view op, absl::Span<const D> self, int64_t dim,
                                      absl::Span<const D> index, const absl::Span<const D>* src) {
  const int rank = static_cast<int>(self.size());
  ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, rank));
  if (KnownEmpty(index)) return d;
  const auto rank_of = [](absl::Span<const D> sizes) { return std::max<size_t>(sizes.size(), 1); };
  bool fits =
      rank_of(index) == rank_of(self) && (src == nullptr || rank_of(*src) == rank_of(index));
  // Returns a size of a tensor; a scalar counts as a vector of one element.
  const auto size_of = [](absl::Span<const D> sizes, int i) {
    return sizes.empty() ? D(int64_t{1}) : sizes[i];
  };
  for (int i = 0; fits && i < static_cast<int>(rank_of(index)); ++i) {
    const D size = size_of(index, i);
    fits = (i == d || KnownLessEqual(size, size_of(self, i)) != false) &&
           (src == nullptr || KnownLessEqual(size, size_of(*src, i)) != false);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        op, ": index ", FormatDims<D>(index), " does not fit into self ", FormatDims<D>(self),
        src == nullptr ? "" : absl::StrCat(" and src ", FormatDims<D>(*src)), " along dimension ",
        d));
  }
  return d;
}

// index_select(self, dim, index)
template <class D>
absl::StatusOr<Dims<D>> IndexSelectShape(absl::Span<const D> self, int64_t dim,
                                         absl::Span<const D> index) {
  ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, static_cast<int>(self.size())));
  const D count = ProductOf(index);
  if (index.size() > 1 || (self.empty() && KnownDifferent(count, D(int64_t{1})))) {
    return absl::InvalidArgumentError(
        absl::StrCat("index_select: index ", FormatDims<D>(index),
                     " must be a vector, of one element for a scalar"));
  }
  Dims<D> out;
  for (const D& size : self) out.push_back(size);
  if (!self.empty()) out[d] = count;
  return out;
}

// Checks index_add, index_copy and index_fill. `source` (null for index_fill) has one slice of
// `self` per index. For index_copy, a self or source of rank 0 counts as a vector of one element.
// Returns the dimension counted from 0.
template <class D>
absl::StatusOr<int> CheckIndexUpdateShapes(std::string_view op, absl::Span<const D> self,
                                           int64_t dim, absl::Span<const D> index,
                                           const absl::Span<const D>* source) {
  ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, static_cast<int>(self.size())));
  bool fits = index.size() <= 1;
  const bool scalar = source != nullptr && (self.empty() || source->empty());
  if (scalar && op == "index_copy") {
    const D from = source->empty() ? D(int64_t{1}) : (*source)[0];
    fits =
        fits && self.size() <= 1 && source->size() <= 1 && !KnownDifferent(from, ProductOf(index));
  } else if (source != nullptr) {
    const D count = ProductOf(index);
    fits = fits && source->size() == self.size();
    for (int i = 0; fits && i < static_cast<int>(self.size()); ++i) {
      fits = !KnownDifferent((*source)[i], i == d ? count : self[i]);
    }
    if (self.empty()) fits = fits && !KnownDifferent(count, D(int64_t{1}));
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": index ", FormatDims<D>(index),
                     source == nullptr ? "" : absl::StrCat(" and source ", FormatDims<D>(*source)),
                     " do not fit self ", FormatDims<D>(self), " along dimension ", d));
  }
  return d;
}

// embedding(weight, indices)
template <class D>
absl::StatusOr<Dims<D>> EmbeddingShape(absl::Span<const D> weight, absl::Span<const D> indices) {
  if (weight.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("embedding: weight must have 2 dimensions, got ", FormatDims<D>(weight)));
  }
  ABSL_RETURN_IF_ERROR(CheckRank(indices.size() + 1));
  Dims<D> out;
  for (const D& size : indices) out.push_back(size);
  out.push_back(weight[1]);
  return out;
}

template <class Arguments>
struct EmbeddingCall {
  typename Arguments::TensorRef weight, indices;

  static absl::StatusOr<EmbeddingCall> Read(const Arguments& arguments) {
    EmbeddingCall call;
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight"));
    ABSL_ASSIGN_OR_RETURN(call.indices, arguments.Tensor("indices", kIndexTypes));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return EmbeddingShape<typename Arguments::Dim>(Arguments::SizesOf(weight),
                                                   Arguments::SizesOf(indices));
  }
};

// embedding_dense_backward(grad_output, indices, num_weights): `gradient` has one row per index.
template <class D>
absl::StatusOr<Dims<D>> EmbeddingGradientShape(absl::Span<const D> gradient,
                                               absl::Span<const D> indices, const D& rows) {
  bool fits = !gradient.empty() && !KnownNegative(rows);
  if (fits) {
    const D none(int64_t{0}), width = gradient.back();
    // If one size is 0, the others may have any magnitude.
    const D elements = KnownEmpty(gradient) ? none : ProductOf(gradient);
    const D expected =
        KnownEmpty(indices) || KnownInt(width) == 0 ? none : ProductOf(indices) * width;
    if constexpr (std::is_same_v<D, CheckedInt>) {
      fits = elements == expected;  // false on overflow
    } else {
      fits = !KnownDifferent(elements, expected);
    }
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "embedding_dense_backward: gradient ", FormatDims<D>(gradient), " does not fit indices ",
        FormatDims<D>(indices), " and ", DimToString(rows), " rows"));
  }
  Dims<D> out;
  out.push_back(rows);
  out.push_back(gradient.back());
  return out;
}

template <class Arguments>
struct EmbeddingBackwardCall {
  typename Arguments::TensorRef grad_output, indices;
  typename Arguments::Dim num_weights = int64_t{0}, padding_idx = int64_t{0};
  bool scale_grad_by_freq = false;

  static absl::StatusOr<EmbeddingBackwardCall> Read(const Arguments& arguments) {
    EmbeddingBackwardCall call;
    ABSL_ASSIGN_OR_RETURN(call.grad_output, arguments.Tensor("grad_output", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.indices, arguments.Tensor("indices", kIndexTypes));
    ABSL_ASSIGN_OR_RETURN(call.num_weights, arguments.Int("num_weights"));
    ABSL_ASSIGN_OR_RETURN(call.padding_idx, arguments.Int("padding_idx"));
    ABSL_ASSIGN_OR_RETURN(call.scale_grad_by_freq, arguments.Bool("scale_grad_by_freq"));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return EmbeddingGradientShape<typename Arguments::Dim>(
        Arguments::SizesOf(grad_output), Arguments::SizesOf(indices), num_weights);
  }
};

// searchsorted: returns the dtype in which values and boundaries are compared.
inline absl::StatusOr<DType> SearchType(DType boundaries, int boundaries_rank, DType values,
                                        int values_rank) {
  constexpr DTypeSet kTypes = kIntegralTypes | kFloatTypes;
  TypePromotion promotion;
  promotion.AddTensor(boundaries, boundaries_rank);
  promotion.AddTensor(values, values_rank);
  ABSL_ASSIGN_OR_RETURN(const DType common, promotion.Result());
  if (kTypes.contains(common)) return common;
  return absl::InvalidArgumentError(
      absl::StrCat("boundaries of ", DTypeName(boundaries), " for values of ", DTypeName(values)));
}

// searchsorted: `boundaries` is one row, or has one row per row of `values`.
template <class D>
absl::Status CheckSearchShapes(absl::Span<const D> boundaries, absl::Span<const D> values) {
  bool fits = !boundaries.empty();
  if (boundaries.size() > 1) {
    fits = boundaries.size() == values.size() &&
           MayBeEqual(boundaries.first(boundaries.size() - 1), values.first(values.size() - 1));
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("boundaries of shape ", FormatDims<D>(boundaries),
                                                 " do not fit values of shape ",
                                                 FormatDims<D>(values)));
}

// _embedding_bag: PyTorch's values of the argument `mode`.
enum class BagMode : uint8_t { kSum = 0, kMean = 1, kMax = 2 };

template <class D>
struct BagShape {
  D bags = D(int64_t{0});
  D features = D(int64_t{0});
  D indices = D(int64_t{0});
};

// kInvalidArgument if ranks or sizes are inconsistent; `weights` is per_sample_weights, null if
// absent.
template <class D>
absl::StatusOr<BagShape<D>> EmbeddingBagShape(absl::Span<const D> weight,
                                              absl::Span<const D> indices,
                                              absl::Span<const D> offsets, int64_t mode,
                                              const absl::Span<const D>* weights,
                                              bool include_last_offset) {
  if (mode < 0 || mode > 2) {
    return absl::InvalidArgumentError(absl::StrCat("_embedding_bag: mode ", mode, " is unknown"));
  }
  if (weight.size() != 2 || indices.size() != 1 || offsets.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "_embedding_bag: expected a matrix and two vectors, got weight ", FormatDims<D>(weight),
        ", indices ", FormatDims<D>(indices), " and offsets ", FormatDims<D>(offsets)));
  }
  if (weights != nullptr &&
      (static_cast<BagMode>(mode) != BagMode::kSum || !MayBeEqual(*weights, indices))) {
    return absl::InvalidArgumentError(absl::StrCat("_embedding_bag: per_sample_weights ",
                                                   FormatDims<D>(*weights),
                                                   " must be one per index, and the mode a sum"));
  }
  const D bags = include_last_offset ? offsets[0] - D(int64_t{1}) : offsets[0];
  if (KnownNegative(bags)) {
    return absl::InvalidArgumentError("_embedding_bag: include_last_offset without a last offset");
  }
  return BagShape<D>{bags, weight[1], indices[0]};
}

// Returns whether offset2bag stays empty: PyTorch does not fill it for sums that it delegates to a
// library.
inline bool BagSkipsOffsets(DType dtype, int64_t mode, int64_t padding_idx, bool unit_strides) {
  return static_cast<BagMode>(mode) == BagMode::kSum && padding_idx < 0 && unit_strides &&
         (dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16);
}

template <class Arguments>
struct EmbeddingBagCall {
  typename Arguments::TensorRef weight, indices, offsets;
  typename Arguments::TensorRef per_sample_weights;  // null for none
  int64_t mode = 0, padding_idx = -1;
  bool include_last_offset = false;

  static absl::StatusOr<EmbeddingBagCall> Read(const Arguments& arguments) {
    EmbeddingBagCall call;
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.indices, arguments.Tensor("indices", kIndexTypes));
    ABSL_ASSIGN_OR_RETURN(call.offsets, arguments.Tensor("offsets", kIndexTypes));
    ABSL_ASSIGN_OR_RETURN(call.mode, arguments.StaticInt("mode"));
    ABSL_ASSIGN_OR_RETURN(
        call.per_sample_weights,
        arguments.OptionalTensor("per_sample_weights", DTypeSet{call.weight->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.include_last_offset, arguments.Bool("include_last_offset"));
    ABSL_ASSIGN_OR_RETURN(call.padding_idx, arguments.StaticInt("padding_idx"));
    return call;
  }
  absl::StatusOr<BagShape<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    Dims<D> weights;
    if (per_sample_weights != nullptr) weights = Arguments::SizesOf(per_sample_weights);
    const absl::Span<const D> weights_sizes = weights;
    return EmbeddingBagShape<D>(
        Arguments::SizesOf(weight), Arguments::SizesOf(indices), Arguments::SizesOf(offsets), mode,
        per_sample_weights == nullptr ? nullptr : &weights_sizes, include_last_offset);
  }
  // Dtype of the results after the first. Precondition: Shape() succeeded.
  DType IndexType() const {
    return indices->dtype == DType::kInt64 ? DType::kInt64 : offsets->dtype;
  }
};

// index.Tensor and index_put: the result's shape and the origin of its dimensions.
template <class D>
struct IndexedShape {
  Dims<D> sizes;
  Dims<D> positions;  // the broadcast shape of the index tensors
  int first = 0;      // first dimension of `positions` within `sizes`
};

// `indices` has one entry per dimension of `self`: the shape of its index tensor, or null. If the
// indexed dimensions are adjacent, the positions replace them; otherwise the positions are the
// leading dimensions.
template <class D>
absl::StatusOr<IndexedShape<D>> IndexShape(absl::Span<const D> self,
                                           absl::Span<const absl::Span<const D>* const> indices) {
  IndexedShape<D> out;
  int first = -1, last = -1, count = 0;
  for (int d = 0; d < static_cast<int>(self.size()); ++d) {
    if (indices[d] == nullptr) continue;
    if (first < 0) first = d;
    last = d;
    ++count;
    ABSL_ASSIGN_OR_RETURN(out.positions, BroadcastShape<D>(out.positions, *indices[d]));
  }
  if (count == 0) {
    return absl::InvalidArgumentError("index: expected at least one index tensor");
  }
  const bool known_places =
      std::all_of(out.positions.begin(), out.positions.end(),
                  [](const D& size) { return KnownInt(size).value_or(0) > 0; });
  for (int d = 0; known_places && d < static_cast<int>(self.size()); ++d) {
    if (indices[d] != nullptr && KnownInt(self[d]) == 0) {
      return absl::OutOfRangeError(
          absl::StrCat("index: dimension ", d, " of ", FormatDims<D>(self), " has no elements"));
    }
  }
  const bool neighbors = last - first + 1 == count;
  ABSL_RETURN_IF_ERROR(CheckRank(self.size() - count + out.positions.size()));
  out.first = neighbors ? first : 0;
  for (int d = 0; d <= static_cast<int>(self.size()); ++d) {
    if (d == out.first) {
      for (const D& size : out.positions) out.sizes.push_back(size);
    }
    if (d < static_cast<int>(self.size()) && indices[d] == nullptr) out.sizes.push_back(self[d]);
  }
  return out;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_INDEX_H_
