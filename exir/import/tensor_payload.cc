#include "exir/import/tensor_payload.h"

#include <optional>
#include <string>
#include <utility>

#include "runtime/core/checked_math.h"
#include "runtime/core/sizes.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::StatusOr<uint64_t> BytesNeeded(std::string_view tensor, const TensorLayout& layout) {
  const auto wrong = [&](std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("tensor '", tensor, "': ", what));
  };
  if (layout.sizes.size() != layout.strides.size()) {
    return wrong(
        absl::StrCat(layout.sizes.size(), " sizes, but ", layout.strides.size(), " strides"));
  }
  if (layout.sizes.size() > kMaxRank) {
    return absl::UnimplementedError(absl::StrCat("tensor '", tensor, "' has ", layout.sizes.size(),
                                                 " dimensions; at most ", kMaxRank,
                                                 " are supported"));
  }
  if (layout.storage_offset < 0)
    return wrong(absl::StrCat("the storage offset ", layout.storage_offset, " is negative"));
  for (int64_t stride : layout.strides) {
    if (stride < 0) return wrong(absl::StrCat("the stride ", stride, " is negative"));
  }
  const std::optional<int64_t> count = NumElements(layout.sizes);
  if (!count.has_value())
    return wrong(absl::StrCat("the sizes ", FormatSizes(layout.sizes), " are not possible"));
  if (*count == 0) return uint64_t{0};
  CheckedInt last = layout.storage_offset;
  for (size_t d = 0; d < layout.sizes.size(); ++d) {
    last = last + (CheckedInt(layout.sizes[d]) - 1) * CheckedInt(layout.strides[d]);
  }
  const CheckedInt bytes = (last + 1) * CheckedInt(static_cast<int64_t>(DTypeSize(layout.dtype)));
  if (!bytes.ok()) return wrong("its extent exceeds int64");
  return static_cast<uint64_t>(bytes.value());
}

absl::StatusOr<ConstantTensor> MakeTensor(std::string_view tensor, const TensorLayout& layout,
                                          Storage storage, std::string_view where) {
  ABSL_ASSIGN_OR_RETURN(const uint64_t needed, BytesNeeded(tensor, layout));
  const uint64_t available = storage.bytes.size();
  if (needed > available) {
    return absl::DataLossError(absl::StrCat("weights shorter than declared: '", tensor, "' needs ",
                                            needed, " bytes, but ", where, " has ", available));
  }
  if (available % DTypeSize(layout.dtype) != 0) {
    return absl::DataLossError(absl::StrCat(
        "tensor '", tensor, "': ", where, " has ", available, " bytes, not a multiple of the ",
        DTypeSize(layout.dtype), " bytes of ", DTypeName(layout.dtype)));
  }
  return ConstantTensor::Create(layout.dtype, Sizes(layout.sizes), Strides(layout.strides),
                                layout.storage_offset, std::move(storage));
}

}  // namespace belay::exir
