#include "runtime/program/tensor_validator.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"

namespace belay {
namespace {

// Checks the offset of a tensor in a bank of the arena, or in the state. Messages count from the
// start of the bank.
absl::Status CheckOffset(const TensorPlan& tensor, uint64_t alignment, std::string_view memory,
                         const BankPlan& bank, const MetadataPath& path) {
  const uint64_t offset = tensor.offset - bank.begin, bytes = tensor.max_bytes;
  alignment = std::max<uint64_t>(alignment, DTypeSize(tensor.dtype));
  if (offset % alignment != 0) {
    return path.Error(absl::StrCat(offset, " is not a multiple of ", alignment));
  }
  if (!RangeFits(offset, bytes, bank.bytes)) {
    return path.Error(absl::StrCat(
        bytes, " bytes at ", offset, " are not inside the ",
        bank.name.empty() ? absl::StrCat(memory, "'s ", bank.bytes, " bytes")
                          : absl::StrCat(bank.bytes, " bytes of bank ", Quoted(bank.name))));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateLayout(const TensorLayoutMessage& layout, const MetadataPath& path,
                            LayoutPlan& plan) {
  const std::optional<DType> known = DTypeFromProgramFile(layout.dtype);
  if (!known.has_value()) {
    return MetadataPath(path, "dtype").Error(absl::StrCat(layout.dtype, " is not a dtype"));
  }
  plan.dtype = *known;
  plan.sizes.clear();
  plan.dim_order.clear();
  // Sizes of 0 count as 1, so that strides also fit.
  int64_t extent = static_cast<int64_t>(DTypeSize(*known));
  bool empty = false;
  absl::Status status;
  const bool readable = ForEachNumber(layout.sizes, [&](int64_t size) {
    const int d = plan.sizes.size();
    const std::optional<int64_t> bytes = CheckedMul<int64_t>(extent, std::max<int64_t>(size, 1));
    if (d < kMaxRank && size >= 0 && bytes.has_value()) [[likely]] {
      plan.sizes.push_back(size);
      empty |= size == 0;
      extent = *bytes;
      return true;
    }
    status = d == kMaxRank
                 ? MetadataPath(path, "sizes")
                       .Error(absl::StrCat("rank ", layout.sizes.count(), " is above ", kMaxRank))
             : size < 0 ? MetadataPath(path, "sizes", d).Error(absl::StrCat(size, " is negative"))
                        : MetadataPath(path, "sizes").Error("the tensor's bytes overflow 64 bits");
    return false;
  });
  ABSL_RETURN_IF_ERROR(status);
  if (!readable) return NumbersError(MetadataPath(path, "sizes"));
  const auto rank = static_cast<size_t>(plan.sizes.size());
  if (layout.dim_order.size() != rank) {
    return MetadataPath(path, "dim_order")
        .Error(absl::StrCat("has ", layout.dim_order.size(), " entries, the rank is ", rank));
  }
  for (const std::byte d : layout.dim_order) plan.dim_order.push_back(static_cast<uint8_t>(d));
  if (!IsPermutation(plan.dim_order)) {
    return MetadataPath(path, "dim_order")
        .Error(absl::StrCat("{", absl::StrJoin(plan.dim_order, ","),
                            "} is not a permutation of the dimensions"));
  }
  plan.max_bytes = empty ? 0 : static_cast<uint64_t>(extent);
  return absl::OkStatus();
}

absl::Status ValidateTensor(const TensorMessage& tensor, const LayoutPlan& layout,
                            const TensorMemory& memory, const MetadataPath& path,
                            TensorPlan& plan) {
  const uint64_t bytes = layout.max_bytes;
  plan.dtype = layout.dtype;
  plan.max_bytes = bytes;
  plan.dynamic_dims = tensor.dynamic_dims;
  if ((plan.dynamic_dims >> plan.sizes.size()) != 0) {
    return MetadataPath(path, "dynamic_dims")
        .Error(absl::StrCat("bits ", plan.dynamic_dims, " name a dimension beyond rank ",
                            plan.sizes.size()));
  }
  switch (tensor.location.field) {
    case TensorMessage::kConstant: {
      const MetadataPath constant_path(path, "constant");
      const uint32_t constant = tensor.location.as<uint32_t>();
      if (constant >= memory.constants.size()) {
        return constant_path.Error(
            absl::StrCat(constant, " does not exist, there are ", memory.constants.size()));
      }
      if (!plan.is_static()) return constant_path.Error("a constant can't have dynamic sizes");
      plan.location = TensorPlan::Location::kConstant;
      plan.constant = memory.constants[constant];
      if (plan.constant.size() != bytes) {
        return constant_path.Error(absl::StrCat(
            "constant ", constant, " has ", plan.constant.size(), " bytes, the tensor ",
            DTypeName(plan.dtype), FormatSizes(plan.sizes), " has ", bytes));
      }
      return absl::OkStatus();
    }
    case TensorMessage::kArenaOffset: {
      plan.location = TensorPlan::Location::kArena;
      plan.offset = tensor.location.as<uint64_t>();
      const BankPlan& bank = memory.banks[BankAt(memory.banks, plan.offset)];
      return CheckOffset(plan, bank.name.empty() ? memory.alignment : bank.alignment, "arena", bank,
                         MetadataPath(path, "arena_offset"));
    }
    case TensorMessage::kStateOffset: {
      const MetadataPath state_path(path, "state_offset");
      if (!plan.is_static()) return state_path.Error("state can't have dynamic sizes");
      plan.location = TensorPlan::Location::kState;
      plan.offset = tensor.location.as<uint64_t>();
      ABSL_RETURN_IF_ERROR(
          CheckOffset(plan, memory.alignment, "state", {.bytes = memory.state_bytes}, state_path));
      return absl::OkStatus();
    }
    case TensorMessage::kExternal:
      plan.location = TensorPlan::Location::kExternal;
      return absl::OkStatus();
    default:
      break;
  }
  return MetadataPath(path, "location").Error("is missing or of an unknown kind");
}

}  // namespace belay
