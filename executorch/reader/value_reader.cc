#include "executorch/reader/value_reader.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executorch/reader/problems.h"
#include "runtime/core/annotate.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "runtime/program/metadata_path.h"
#include "runtime/schema/file_format.h"

namespace belay::pte {
namespace {

// Upper bounds of memory during translation: a value, and an element of a list.
constexpr uint64_t kValueBytes = sizeof(ValueFacts) + 512;
constexpr uint64_t kElementBytes = 64;
// The same in Belay's metadata.
constexpr uint64_t kWrittenBytes = 24;
constexpr uint64_t kWrittenElementBytes = 4;

absl::Status Broken(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

class ValueReader {
 public:
  ValueReader(const ProgramFile& file, const DataFiles& data, const Limits& limits,
              MemoryBudget& budget, MethodFacts& facts)
      : file_(file), data_(data), limits_(limits), budget_(budget), facts_(facts) {}

  absl::Status Read() {
    const auto* values = facts_.plan->values();
    if (values == nullptr) return Broken(absl::StrCat(facts_.name, ": values are missing"));
    ABSL_RETURN_IF_ERROR(ReadPools());
    ABSL_RETURN_IF_ERROR(CheckCounts(*values));
    facts_.values.resize(values->size());
    Problems problems;
    for (uint32_t v = 0; v < values->size(); ++v) {
      problems.Add(At(v, ReadValue(*values->Get(v), facts_.values[v])));
    }
    // Elements may be stored after their list.
    for (uint32_t v = 0; v < values->size(); ++v) {
      problems.Add(At(v, CheckElements(v, facts_.values[v])));
    }
    return problems.ToStatus();
  }

 private:
  absl::Status At(uint32_t value, const absl::Status& status) const {
    if (status.ok()) return status;
    return Annotate(status, absl::StrCat(facts_.name, ", value ", value));
  }

  absl::Status LimitError(std::string_view limit, uint64_t got, uint64_t allowed) const {
    return absl::ResourceExhaustedError(
        absl::StrCat(facts_.name, ": ", got, " ", limit, ", the limit '", limit, "' is ", allowed));
  }

  // Concatenates the pools to one arena.
  absl::Status ReadPools() {
    const auto* sizes = facts_.plan->non_const_buffer_sizes();
    if (sizes == nullptr) {
      return Broken(absl::StrCat(facts_.name, ": non_const_buffer_sizes are missing"));
    }
    if (sizes->size() > limits_.values) return LimitError("values", sizes->size(), limits_.values);
    const auto* devices = facts_.plan->non_const_buffer_device();
    if (devices != nullptr) {
      for (const NonConstBufferDevice* device : *devices) {
        if (device->device_type() == DeviceType::CPU) continue;
        return absl::UnimplementedError(absl::StrCat(facts_.name, ": pool ", device->buffer_idx(),
                                                     " is memory of a device other than the CPU"));
      }
    }
    pools_.push_back({});  // 0 is reserved
    uint64_t end = 0;
    for (flatbuffers::uoffset_t m = 1; m < sizes->size(); ++m) {
      const int64_t size = ElementAt(*sizes, m);
      if (size < 0) {
        return Broken(absl::StrCat(facts_.name, ", pool ", m, ": ", size, " bytes is negative"));
      }
      const std::optional<uint64_t> begin = CheckedAlignUp(end, kTensorAlignment);
      const std::optional<uint64_t> after =
          CheckedAdd(begin.value_or(UINT64_MAX), static_cast<uint64_t>(size));
      if (!begin.has_value() || !after.has_value() || *after > limits_.arena_bytes) {
        return LimitError("arena_bytes", after.value_or(UINT64_MAX), limits_.arena_bytes);
      }
      pools_.push_back({.begin = *begin, .size = static_cast<uint64_t>(size)});
      end = *after;
    }
    facts_.arena_bytes = end;
    return absl::OkStatus();
  }

  // Lists and strings may be shared in the file: their memory is counted before the first copy.
  absl::Status CheckCounts(const flatbuffers::Vector<flatbuffers::Offset<EValue>>& values) {
    if (values.size() > limits_.values) {
      return LimitError("values", values.size(), limits_.values);
    }
    uint64_t tensors = 0;
    MemoryBound elements, text;
    for (const EValue* value : values) {
      const auto count = [&](const auto* list) {
        if (list != nullptr && list->items() != nullptr) elements.Add(1, list->items()->size());
      };
      if (value->val_type() == KernelTypes::Tensor) ++tensors;
      count(value->val_as_IntList());
      count(value->val_as_DoubleList());
      count(value->val_as_BoolList());
      count(value->val_as_TensorList());
      count(value->val_as_OptionalTensorList());
      const String* string = value->val_as_String();
      if (string != nullptr && string->string_val() != nullptr) {
        text.Add(1, string->string_val()->size());
      }
      const Tensor* tensor = value->val_as_Tensor();
      if (tensor == nullptr) continue;
      const ExtraTensorInfo* extra = tensor->extra_tensor_info();
      if (extra != nullptr && extra->fully_qualified_name() != nullptr) {
        text.Add(1, extra->fully_qualified_name()->size());
      }
    }
    if (tensors > limits_.tensors) return LimitError("tensors", tensors, limits_.tensors);
    if (elements.bytes() > limits_.list_elements) {
      return LimitError("list_elements", elements.bytes(), limits_.list_elements);
    }
    MemoryBound copied = text;
    copied.Add(values.size(), kWrittenBytes);
    copied.Add(elements.bytes(), kWrittenElementBytes);
    ABSL_RETURN_IF_ERROR(budget_.Take(copied.bytes(), absl::StrCat("the values of ", facts_.name)));
    MemoryBound bound;
    bound.Add(values.size(), kValueBytes);
    bound.Add(elements.bytes(), kElementBytes);
    bound.Add(text.bytes(), 4);
    return CheckMemory(bound.bytes(), absl::StrCat("the values of ", facts_.name));
  }

  absl::Status ReadValue(const EValue& value, ValueFacts& facts) const {
    facts.kind = value.val_type();
    facts.value = &value;
    if (facts.kind == KernelTypes::NONE || facts.kind > KernelTypes::MAX) {
      return Broken(absl::StrCat("kind ", static_cast<int>(facts.kind), " is unknown"));
    }
    if (value.val() == nullptr) {
      return Broken(absl::StrCat("the ", EnumNameKernelTypes(facts.kind), " is missing"));
    }
    if (facts.kind == KernelTypes::String) {
      const auto* text = value.val_as_String()->string_val();
      if (text == nullptr) return Broken("the string is missing");
      if (!IsUtf8(text->string_view())) return Broken("the string is not UTF-8");
    }
    if (facts.kind == KernelTypes::Tensor) return ReadTensor(*value.val_as_Tensor(), facts);
    return absl::OkStatus();
  }

  absl::Status ReadTensor(const Tensor& tensor, ValueFacts& facts) const {
    ABSL_ASSIGN_OR_RETURN(facts.layout,
                          ReadLayout(tensor.scalar_type(), tensor.sizes(), tensor.dim_order()));
    if (tensor.storage_offset() != 0) {
      return Broken(absl::StrCat("storage_offset is ", tensor.storage_offset(), ", expected 0"));
    }
    switch (tensor.shape_dynamism()) {
      case TensorShapeDynamism::STATIC:
        break;
      case TensorShapeDynamism::DYNAMIC_BOUND:
        facts.dynamic = !facts.layout.sizes.empty();
        break;
      case TensorShapeDynamism::DYNAMIC_UNBOUND:
        return absl::UnimplementedError("the shape has no bound (DYNAMIC_UNBOUND)");
      default:
        return Broken(absl::StrCat("shape_dynamism ", static_cast<int>(tensor.shape_dynamism()),
                                   " is unknown"));
    }
    const ExtraTensorInfo* extra = tensor.extra_tensor_info();
    bool external = false;
    if (extra != nullptr) {
      if (extra->device_type() != DeviceType::CPU) {
        return absl::UnimplementedError("it is on a device other than the CPU");
      }
      if (extra->location() > TensorDataLocation::MAX) {
        return Broken(
            absl::StrCat("location ", static_cast<int>(extra->location()), " is unknown"));
      }
      external = extra->location() == TensorDataLocation::EXTERNAL;
    }
    const AllocationDetails* allocation = tensor.allocation_info();
    if (allocation != nullptr) {
      facts.memory = ValueFacts::Memory::kPlanned;
      ABSL_RETURN_IF_ERROR(ReadPlace(*allocation, facts));
    }
    const uint32_t index = tensor.data_buffer_idx();
    if (!external && index == 0) return absl::OkStatus();
    if (allocation == nullptr) facts.memory = ValueFacts::Memory::kConstant;
    if (external) {
      ABSL_ASSIGN_OR_RETURN(facts.content, External(*extra, facts.layout));
    } else if (allocation == nullptr) {
      ABSL_ASSIGN_OR_RETURN(facts.content, file_.Constant(index, facts.layout.bytes));
    } else {
      ABSL_ASSIGN_OR_RETURN(facts.content, file_.InitialContent(index, facts.layout.bytes));
    }
    return absl::OkStatus();
  }

  absl::Status ReadPlace(const AllocationDetails& allocation, ValueFacts& facts) const {
    const uint32_t pool = allocation.memory_id();
    if (pool == 0 || pool >= pools_.size()) {
      return Broken(
          absl::StrCat("memory_id ", pool, " is not a pool, expected 1 to ", pools_.size() - 1));
    }
    const uint64_t offset =
        uint64_t{allocation.memory_offset_high()} << 32 | uint64_t{allocation.memory_offset_low()};
    if (!RangeFits(offset, facts.layout.bytes, pools_[pool].size)) {
      return Broken(absl::StrCat(facts.layout.bytes, " bytes at ", offset, " are not inside the ",
                                 pools_[pool].size, " bytes of pool ", pool));
    }
    facts.offset = pools_[pool].begin + offset;  // inside the arena
    const uint64_t alignment = DTypeSize(facts.layout.dtype);
    if (facts.offset % alignment == 0) return absl::OkStatus();
    return Broken(absl::StrCat("its offset ", offset, " is not a multiple of its element's ",
                               alignment, " bytes"));
  }

  absl::StatusOr<absl::Span<const std::byte>> External(const ExtraTensorInfo& extra,
                                                       const TensorLayout& layout) const {
    const auto* key = extra.fully_qualified_name();
    if (key == nullptr) return Broken("fully_qualified_name, its key in a data file, is missing");
    const ExternalData* found = data_.Find(key->string_view());
    if (found == nullptr || !found->layout.has_value()) {
      return absl::NotFoundError(absl::StrCat("external tensor ", Quoted(key->string_view()),
                                              ": not found in the data files (.ptd)"));
    }
    const TensorLayout& other = *found->layout;
    if (other.dtype != layout.dtype || !(other.sizes == layout.sizes) ||
        !(other.dim_order == layout.dim_order)) {
      return Broken(absl::StrCat("external tensor ", Quoted(key->string_view()), ": expected ",
                                 DTypeName(layout.dtype), FormatSizes(layout.sizes),
                                 ", the data file has ", DTypeName(other.dtype),
                                 FormatSizes(other.sizes), " or another dim order"));
    }
    return found->bytes.first(layout.bytes);
  }

  template <class List>
  absl::Status CheckItems(uint32_t self, const List* list, KernelTypes kind, bool optional) const {
    if (list->items() == nullptr) return Broken("its items are missing");
    for (flatbuffers::uoffset_t k = 0; k < list->items()->size(); ++k) {
      const int64_t element = ElementAt(*list->items(), k);
      if (optional && element == -1) continue;
      if (element < 0 || static_cast<uint64_t>(element) >= facts_.values.size()) {
        return Broken(absl::StrCat("element ", k, " is value ", element, ", there are ",
                                   facts_.values.size()));
      }
      if (facts_.values[element].kind != kind) {
        return Broken(absl::StrCat("element ", k, ", value ", element, ", is ",
                                   EnumNameKernelTypes(facts_.values[element].kind), ", expected ",
                                   EnumNameKernelTypes(kind)));
      }
      // ExecuTorch's runtime creates values in order, and reads tensors when it creates their list.
      if (kind == KernelTypes::Tensor && element > self) {
        return Broken(absl::StrCat("element ", k, ", value ", element, ", comes after the list"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckElements(uint32_t self, const ValueFacts& facts) const {
    if (facts.value->val() == nullptr) return absl::OkStatus();  // already reported
    switch (facts.kind) {
      case KernelTypes::IntList:
        return CheckItems(self, facts.value->val_as_IntList(), KernelTypes::Int, false);
      case KernelTypes::TensorList:
        return CheckItems(self, facts.value->val_as_TensorList(), KernelTypes::Tensor, false);
      case KernelTypes::OptionalTensorList:
        return CheckItems(self, facts.value->val_as_OptionalTensorList(), KernelTypes::Tensor,
                          true);
      case KernelTypes::DoubleList:
        return facts.value->val_as_DoubleList()->items() == nullptr
                   ? Broken("its items are missing")
                   : absl::OkStatus();
      case KernelTypes::BoolList:
        return facts.value->val_as_BoolList()->items() == nullptr ? Broken("its items are missing")
                                                                  : absl::OkStatus();
      default:
        return absl::OkStatus();
    }
  }

  struct Pool {
    uint64_t begin = 0, size = 0;
  };
  const ProgramFile& file_;
  const DataFiles& data_;
  const Limits& limits_;
  MemoryBudget& budget_;
  MethodFacts& facts_;
  std::vector<Pool> pools_;
};

}  // namespace

absl::Status ReadValues(const ProgramFile& file, const DataFiles& data, const Limits& limits,
                        MemoryBudget& budget, MethodFacts& facts) {
  return ValueReader(file, data, limits, budget, facts).Read();
}

}  // namespace belay::pte
