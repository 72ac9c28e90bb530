#include "runtime/program/value_validator.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

// Copies per-dimension lists to their final memory: blocks appended to `blocks`.
template <class T>
class DimWriter {
 public:
  explicit DimWriter(std::vector<std::unique_ptr<T[]>>& blocks) : blocks_(blocks) {}

  absl::Span<const T> Copy(const DimVector<T>& dims) {
    const auto count = static_cast<size_t>(dims.size());
    if (count > left_) {
      size_ = std::min<size_t>(2 * size_, 4096);
      blocks_.push_back(std::make_unique_for_overwrite<T[]>(size_));
      next_ = blocks_.back().get();
      left_ = size_;
    }
    T* const first = next_;
    for (const T dim : dims) *next_++ = dim;
    left_ -= count;
    return absl::MakeConstSpan(first, count);
  }

 private:
  std::vector<std::unique_ptr<T[]>>& blocks_;
  T* next_ = nullptr;
  size_t left_ = 0;         // of the last block
  size_t size_ = kMaxRank;  // of the last block; kMaxRank before the first
};

class ValueValidator {
 public:
  // Appends to the values of `plan`.
  ValueValidator(const TensorMemory& memory, const Limits& limits, MethodPlan& plan)
      : memory_(memory),
        limits_(limits),
        plan_(plan),
        sizes_(plan.sizes),
        dim_orders_(plan.dim_orders) {}

  absl::Status Append(const WireMessage& message, const MetadataPath& path) {
    ValueMessage value;
    ABSL_RETURN_IF_ERROR(Read(message, path, value));
    const auto append = [&](auto plan) {
      plan_.values.emplace_back(std::move(plan));
      return absl::OkStatus();
    };
    switch (value.kind.field) {
      case ValueMessage::kNone:
        return append(None{});
      case ValueMessage::kInt:
        return append(value.kind.as<int64_t>());
      case ValueMessage::kDouble:
        return append(value.kind.as<double>());
      case ValueMessage::kBool:
        return append(value.kind.as<bool>());
      case ValueMessage::kString:
        return append(std::string(value.kind.as<std::string_view>()));
      case ValueMessage::kTensor:
        if (++tensors_ > limits_.tensors) {
          return path.LimitError("tensors", tensors_, limits_.tensors);
        }
        return AppendTensor(value.kind.as<WireMessage>(), MetadataPath(path, "tensor"));
      case ValueMessage::kList:
        return AppendList(value.kind.as<WireMessage>(), MetadataPath(path, "list"));
      case ValueMessage::kDType: {
        const uint32_t number = value.kind.as<uint32_t>();
        const std::optional<DType> dtype = DTypeFromProgramFile(number);
        if (dtype.has_value()) return append(*dtype);
        return MetadataPath(path, "dtype").Error(absl::StrCat(number, " is not a dtype"));
      }
      case ValueMessage::kMemoryFormat: {
        const uint32_t format = value.kind.as<uint32_t>();
        if (format >= 1 && format <= 4) return append(static_cast<MemoryFormat>(format));
        return MetadataPath(path, "memory_format")
            .Error(absl::StrCat(format, " is not a memory format"));
      }
      case ValueMessage::kComplex: {
        ComplexMessage complex;
        ABSL_RETURN_IF_ERROR(
            Read(value.kind.as<WireMessage>(), MetadataPath(path, "complex"), complex));
        return append(std::complex<double>(complex.real, complex.imag));
      }
      case ValueMessage::kScalar: {
        const MetadataPath scalar(path, "scalar");
        ScalarSlotMessage slot;
        ABSL_RETURN_IF_ERROR(Read(value.kind.as<WireMessage>(), scalar, slot));
        if (slot.kind >= 1 && slot.kind <= 3) return append(static_cast<ScalarKind>(slot.kind));
        return scalar.Error(absl::StrCat(slot.kind, " is not a scalar kind"));
      }
      default:
        break;
    }
    return MetadataPath(path, "kind").Error("is missing or unknown");
  }

 private:
  absl::Status AppendTensor(const WireMessage& message, const MetadataPath& path) {
    TensorMessage tensor;
    ABSL_RETURN_IF_ERROR(Read(message, path, tensor));
    ABSL_RETURN_IF_ERROR(
        ValidateLayout({tensor.dtype, tensor.sizes, tensor.dim_order}, path, layout_));
    auto& plan = std::get<TensorPlan>(plan_.values.emplace_back(std::in_place_type<TensorPlan>));
    plan.sizes = sizes_.Copy(layout_.sizes);
    plan.dim_order = dim_orders_.Copy(layout_.dim_order);
    return ValidateTensor(tensor, layout_, memory_, path, plan);
  }

  absl::Status AppendList(const WireMessage& message, const MetadataPath& path) {
    ListMessage list;
    ABSL_RETURN_IF_ERROR(Read(message, path, list));
    const uint64_t count = list.elements.count();
    list_elements_ += count;  // less than the metadata's bytes
    if (list_elements_ > limits_.list_elements) {
      return path.LimitError("list_elements", list_elements_, limits_.list_elements);
    }
    std::vector<ValuePlan>& values = plan_.values;
    ListPlan plan;
    plan.elements.reserve(count);
    absl::Status status;
    const bool readable = ForEachNumber(list.elements, [&](uint32_t element) {
      const MetadataPath at(path, "elements", plan.elements.size());
      if (element >= values.size()) {
        status = at.Error(absl::StrCat(element, " is not a value before the list itself, which is ",
                                       values.size()));
      } else if (std::holds_alternative<ListPlan>(values[element])) {
        status = at.Error(absl::StrCat("value ", element, " is a list"));
      } else {
        plan.elements.push_back(element);
      }
      return status.ok();
    });
    ABSL_RETURN_IF_ERROR(status);
    if (!readable) return NumbersError(MetadataPath(path, "elements"));
    values.emplace_back(std::move(plan));
    return absl::OkStatus();
  }

  const TensorMemory& memory_;
  const Limits& limits_;
  MethodPlan& plan_;
  DimWriter<int64_t> sizes_;
  DimWriter<uint8_t> dim_orders_;
  LayoutPlan layout_;  // of the current tensor
  uint64_t list_elements_ = 0;
  uint64_t tensors_ = 0;
};

}  // namespace

absl::Status ValidateValues(const WireList& messages, const TensorMemory& memory,
                            const Limits& limits, const MetadataPath& path, MethodPlan& plan) {
  if (messages.count > limits.values) {
    return MetadataPath(path, "values").LimitError("values", messages.count, limits.values);
  }
  ValueValidator validator(memory, limits, plan);
  plan.values.reserve(messages.count);
  WireElements elements(messages);
  for (uint64_t i = 0; i < messages.count; ++i) {
    ABSL_RETURN_IF_ERROR(validator.Append(elements.NextMessage(), MetadataPath(path, "values", i)));
  }
  return absl::OkStatus();
}

absl::Status CheckValue(const MethodPlan& plan, uint32_t value, const MetadataPath& path) {
  if (value < plan.values.size()) return absl::OkStatus();
  return path.Error(
      absl::StrCat("value ", value, " does not exist, there are ", plan.values.size()));
}

}  // namespace belay
