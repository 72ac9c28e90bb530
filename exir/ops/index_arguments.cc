#include "exir/ops/index_arguments.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "exir/ops/pointwise_layout.h"
#include "exir/symbolic/assumed_equalities.h"

namespace belay::exir {
namespace {

bool IsMask(DType dtype) { return dtype == DType::kBool || dtype == DType::kUint8; }

// Returns the broadcast shape of the index tensors that are not masks; nullopt without any.
absl::StatusOr<std::optional<std::vector<SymInt>>> IntegerPositions(
    const std::vector<const TensorMeta*>& indices) {
  std::optional<std::vector<SymInt>> positions;
  for (const TensorMeta* index : indices) {
    if (index == nullptr || IsMask(index->dtype)) continue;
    if (!positions.has_value()) positions.emplace();
    ABSL_ASSIGN_OR_RETURN(*positions, BroadcastShape<SymInt>(*positions, index->sizes));
  }
  return positions;
}

// Returns the number of elements that the masks select; all masks select the same number or one.
absl::StatusOr<SymInt> SelectedPlaces(MetaContext& context,
                                      const std::vector<const TensorMeta*>& indices) {
  ABSL_ASSIGN_OR_RETURN(const std::optional<std::vector<SymInt>> positions,
                        IntegerPositions(indices));
  if (positions.has_value() && !positions->empty() && positions->back().AsInt() != 1) {
    return positions->back();
  }
  int64_t most = 0;
  for (const TensorMeta* index : indices) {
    if (index == nullptr || !IsMask(index->dtype)) continue;
    most = std::max(most, index->NumElements().AsInt().value_or(SymRange::kUnboundedAbove));
  }
  return context.FreshSymbol({.min = 0, .max = most});
}

}  // namespace

absl::StatusOr<IndexArguments> IndexArgumentsOf(MetaContext& context,
                                                const std::vector<const TensorMeta*>& indices,
                                                const TensorMeta& self) {
  ABSL_RETURN_IF_ERROR(CheckRank(self.sizes.size()));
  // All checks precede the creation of a symbol.
  size_t dims = 0;
  bool has_mask = false;
  for (size_t k = 0; k < indices.size(); ++k) {
    const TensorMeta* index = indices[k];
    if (index == nullptr) {
      ++dims;
      continue;
    }
    const bool mask = IsMask(index->dtype);
    if (!mask && index->dtype != DType::kInt64 && index->dtype != DType::kInt32) {
      return absl::InvalidArgumentError(absl::StrCat(
          "index ", k, ": expected int64, int32, bool or uint8, got ", DTypeName(index->dtype)));
    }
    if (mask && index->rank() == 0) {
      return absl::UnimplementedError(absl::StrCat("index ", k, ": a mask without dimensions"));
    }
    for (int d = 0; mask && d < index->rank() && dims + d < self.sizes.size(); ++d) {
      if (KnownDifferent(index->sizes[d], self.sizes[dims + d])) {
        return absl::InvalidArgumentError(absl::StrCat(
            "index ", k, ": the mask ", FormatDims<SymInt>(index->sizes), " does not match ",
            FormatDims<SymInt>(self.sizes), " from dimension ", dims));
      }
    }
    has_mask = has_mask || mask;
    dims += mask ? index->sizes.size() : 1;
  }
  if (dims > self.sizes.size()) {
    return absl::OutOfRangeError(absl::StrCat("indices for ", dims, " dimensions are too many for ",
                                              FormatDims<SymInt>(self.sizes)));
  }
  SymInt places;
  if (has_mask) {
    ABSL_ASSIGN_OR_RETURN(places, SelectedPlaces(context, indices));
  }
  IndexArguments out;
  out.dimensions.resize(self.sizes.size());
  size_t d = 0;
  for (const TensorMeta* index : indices) {
    if (index == nullptr) {
      ++d;
    } else if (IsMask(index->dtype)) {
      for (int k = 0; k < index->rank(); ++k) out.dimensions[d++] = {true, {places}, {1}};
    } else {
      out.dimensions[d++] = {true, index->sizes, index->strides};
    }
  }
  std::vector<absl::Span<const SymInt>> shapes(out.dimensions.size());
  std::vector<const absl::Span<const SymInt>*> pointers;
  for (size_t k = 0; k < shapes.size(); ++k) {
    shapes[k] = out.dimensions[k].sizes;
    pointers.push_back(out.dimensions[k].indexed ? &shapes[k] : nullptr);
  }
  ABSL_ASSIGN_OR_RETURN(out.shape, IndexShape<SymInt>(self.sizes, pointers));
  return out;
}

std::vector<SymInt> IndexResultStrides(const TensorMeta& self, const IndexArguments& indices) {
  const std::vector<SymInt>& sizes = indices.shape.sizes;
  const int rank = static_cast<int>(sizes.size());
  const int positions = static_cast<int>(indices.shape.positions.size());
  const int first = indices.shape.first;
  // The strides of each operand over the dimensions of the result; 0 where it is broadcast.
  std::vector<std::vector<SymInt>> operands(1, std::vector<SymInt>(rank));
  int r = first == 0 ? positions : 0;
  for (size_t d = 0; d < self.sizes.size(); ++d) {
    const IndexArguments::Dimension& dimension = indices.dimensions[d];
    if (!dimension.indexed) {
      if (r == first && first != 0) r += positions;
      operands[0][r++] = self.strides[d];
      continue;
    }
    std::vector<SymInt> moves(rank);
    const size_t skipped = positions - dimension.sizes.size();
    for (size_t k = 0; k < dimension.sizes.size(); ++k) {
      if (dimension.sizes[k].AsInt() != 1) moves[first + skipped + k] = dimension.strides[k];
    }
    operands.push_back(std::move(moves));
  }
  // Each operand broadcast to the result's shape, with stride 0 where it does not vary.
  std::vector<TensorMeta> seen(operands.size());
  std::vector<const TensorMeta*> pointers;
  for (size_t k = 0; k < operands.size(); ++k) {
    seen[k].sizes = sizes;
    seen[k].strides = std::move(operands[k]);
    pointers.push_back(&seen[k]);
  }
  return PointwiseResult(self.dtype, sizes, pointers).strides;
}

}  // namespace belay::exir
