#include "executorch/reader/tensor_layout.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executorch/format/scalar_type.h"
#include "runtime/core/checked_math.h"

namespace belay::pte {
absl::StatusOr<TensorLayout> ReadLayout(int8_t scalar_type,
                                        const flatbuffers::Vector<int32_t>* sizes,
                                        const flatbuffers::Vector<uint8_t>* dim_order) {
  TensorLayout layout;
  const std::optional<DType> dtype = DTypeFromC10({scalar_type});
  if (!dtype.has_value()) {
    const std::string message =
        absl::StrCat("scalar_type ", static_cast<int>(scalar_type), " is not a dtype of Belay");
    if (scalar_type < 0 || scalar_type >= kScalarTypes) return absl::InvalidArgumentError(message);
    return absl::UnimplementedError(message);
  }
  layout.dtype = *dtype;
  if (sizes == nullptr) return absl::InvalidArgumentError("sizes are missing");
  if (dim_order == nullptr) return absl::InvalidArgumentError("dim_order is missing");
  if (sizes->size() > kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", sizes->size(), " is above ", kMaxRank));
  }
  // Sizes of 0 count as 1 here, so that strides do not overflow either.
  int64_t extent = static_cast<int64_t>(DTypeSize(layout.dtype));
  bool empty = false;
  for (const int32_t size : *sizes) {
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("sizes[", layout.sizes.size(), "] is ", size, ", which is negative"));
    }
    const std::optional<int64_t> product = CheckedMul<int64_t>(extent, std::max(size, 1));
    if (!product.has_value()) {
      return absl::InvalidArgumentError("the tensor's bytes overflow 64 bits");
    }
    extent = *product;
    empty |= size == 0;
    layout.sizes.push_back(size);
  }
  layout.bytes = empty ? 0 : static_cast<uint64_t>(extent);
  if (dim_order->size() != sizes->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dim_order has ", dim_order->size(), " entries, the rank is ", sizes->size()));
  }
  for (const uint8_t dim : *dim_order) layout.dim_order.push_back(dim);
  if (!IsPermutation(layout.dim_order)) {
    return absl::InvalidArgumentError(absl::StrCat("dim_order {",
                                                   absl::StrJoin(layout.dim_order, ","),
                                                   "} is not a permutation of the dimensions"));
  }
  return layout;
}

}  // namespace belay::pte
