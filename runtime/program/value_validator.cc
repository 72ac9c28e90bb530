#include "runtime/program/value_validator.h"

#include <complex>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

class ValueValidator {
 public:
  ValueValidator(const TensorMemory& memory, const Limits& limits)
      : memory_(memory), limits_(limits) {}

  // Appends the value. Plans are large, so that they are made where they stay.
  absl::Status Append(const WireMessage& message, const MetadataPath& path,
                      std::vector<ValuePlan>& values) {
    ValueMessage value;
    ABSL_RETURN_IF_ERROR(Read(message, path, value));
    const auto append = [&](auto plan) {
      values.emplace_back(std::move(plan));
      return absl::OkStatus();
    };
    switch (value.kind) {
      case ValueMessage::kNone:
        return append(None{});
      case ValueMessage::kInt:
        return append(value.int_value);
      case ValueMessage::kDouble:
        return append(value.double_value);
      case ValueMessage::kBool:
        return append(value.bool_value);
      case ValueMessage::kString:
        return append(std::string(value.string));
      case ValueMessage::kTensor:
        if (++tensors_ > limits_.tensors) {
          return path.LimitError("tensors", tensors_, limits_.tensors);
        }
        return AppendTensor(value.message, MetadataPath(path, "tensor"), values);
      case ValueMessage::kList:
        return AppendList(value.message, MetadataPath(path, "list"), values);
      case ValueMessage::kDType: {
        const std::optional<DType> dtype = DTypeFromProgramFile(value.number);
        if (dtype.has_value()) return append(*dtype);
        return MetadataPath(path, "dtype").Error(absl::StrCat(value.number, " is no dtype"));
      }
      case ValueMessage::kMemoryFormat: {
        const uint32_t format = value.number;
        if (format >= 1 && format <= 4) return append(static_cast<MemoryFormat>(format));
        return MetadataPath(path, "memory_format")
            .Error(absl::StrCat(format, " is no memory format"));
      }
      case ValueMessage::kComplex: {
        std::complex<double> complex;
        ABSL_RETURN_IF_ERROR(ReadComplex(value.message, MetadataPath(path, "complex"), complex));
        return append(complex);
      }
      case ValueMessage::kScalar: {
        const MetadataPath scalar(path, "scalar");
        uint32_t kind = 0;
        ABSL_RETURN_IF_ERROR(ReadScalarSlot(value.message, scalar, kind));
        if (kind >= 1 && kind <= 3) return append(static_cast<ScalarKind>(kind));
        return scalar.Error(absl::StrCat(kind, " is no kind of scalar"));
      }
      default:
        break;
    }
    return MetadataPath(path, "kind").Error("is missing or unknown");
  }

 private:
  absl::Status AppendTensor(const WireMessage& message, const MetadataPath& path,
                            std::vector<ValuePlan>& values) {
    TensorMessage tensor;
    ABSL_RETURN_IF_ERROR(Read(message, path, tensor));
    return ValidateTensor(
        tensor, memory_, path,
        std::get<TensorPlan>(values.emplace_back(std::in_place_type<TensorPlan>)));
  }

  absl::Status AppendList(const WireMessage& message, const MetadataPath& path,
                          std::vector<ValuePlan>& values) {
    WireNumbers elements;
    ABSL_RETURN_IF_ERROR(ReadList(message, path, elements));
    const uint64_t count = elements.count();
    list_elements_ += count;  // below the metadata's bytes
    if (list_elements_ > limits_.list_elements) {
      return path.LimitError("list_elements", list_elements_, limits_.list_elements);
    }
    ListPlan plan;
    plan.elements.reserve(count);
    absl::Status status;
    const bool readable = ForEachUint32(elements, [&](uint32_t element) {
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
  uint64_t list_elements_ = 0;
  uint64_t tensors_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<ValuePlan>> ValidateValues(const WireList& messages,
                                                      const TensorMemory& memory,
                                                      const Limits& limits,
                                                      const MetadataPath& path) {
  if (messages.count > limits.values) {
    return MetadataPath(path, "values").LimitError("values", messages.count, limits.values);
  }
  ValueValidator validator(memory, limits);
  std::vector<ValuePlan> values;
  values.reserve(messages.count);
  WireElements elements(messages);
  for (uint64_t i = 0; i < messages.count; ++i) {
    ABSL_RETURN_IF_ERROR(
        validator.Append(elements.NextMessage(), MetadataPath(path, "values", i), values));
  }
  return values;
}

}  // namespace belay
