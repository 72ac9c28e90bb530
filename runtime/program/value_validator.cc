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
  absl::Status Append(const schema::Value& value, const MetadataPath& path,
                      std::vector<ValuePlan>& values) {
    const auto append = [&](auto plan) {
      values.emplace_back(std::move(plan));
      return absl::OkStatus();
    };
    switch (value.kind_case()) {
      case schema::Value::kNone:
        return append(None{});
      case schema::Value::kInt:
        return append(int64_t{value.int_()});
      case schema::Value::kDouble:
        return append(value.double_());
      case schema::Value::kBool:
        return append(value.bool_());
      case schema::Value::kString:
        return append(value.string());
      case schema::Value::kTensor:
        if (++tensors_ > limits_.tensors) {
          return path.LimitError("tensors", tensors_, limits_.tensors);
        }
        return ValidateTensor(
            value.tensor(), memory_, MetadataPath(path, "tensor"),
            std::get<TensorPlan>(values.emplace_back(std::in_place_type<TensorPlan>)));
      case schema::Value::kList:
        return AppendList(value.list(), MetadataPath(path, "list"), values);
      case schema::Value::kDtype: {
        const std::optional<DType> dtype = DTypeFromProgramFile(value.dtype());
        if (dtype.has_value()) return append(*dtype);
        return MetadataPath(path, "dtype").Error(absl::StrCat(value.dtype(), " is no dtype"));
      }
      case schema::Value::kMemoryFormat: {
        const uint32_t format = value.memory_format();
        if (format >= 1 && format <= 4) return append(static_cast<MemoryFormat>(format));
        return MetadataPath(path, "memory_format")
            .Error(absl::StrCat(format, " is no memory format"));
      }
      case schema::Value::kComplex:
        return append(std::complex<double>(value.complex().real(), value.complex().imag()));
      case schema::Value::kScalar: {
        const int kind = value.scalar().kind();
        if (kind >= 1 && kind <= 3) return append(static_cast<ScalarKind>(kind));
        return MetadataPath(path, "scalar").Error(absl::StrCat(kind, " is no kind of scalar"));
      }
      case schema::Value::KIND_NOT_SET:
        break;
    }
    return MetadataPath(path, "kind").Error("is missing or unknown");
  }

 private:
  absl::Status AppendList(const schema::List& list, const MetadataPath& path,
                          std::vector<ValuePlan>& values) {
    list_elements_ += static_cast<uint64_t>(list.elements_size());  // below the metadata's bytes
    if (list_elements_ > limits_.list_elements) {
      return path.LimitError("list_elements", list_elements_, limits_.list_elements);
    }
    ListPlan plan;
    plan.elements.reserve(list.elements_size());
    for (int i = 0; i < list.elements_size(); ++i) {
      const uint32_t element = list.elements(i);
      if (element >= values.size()) {
        return MetadataPath(path, "elements", i)
            .Error(absl::StrCat(element, " is not a value before the list itself, which is ",
                                values.size()));
      }
      if (std::holds_alternative<ListPlan>(values[element])) {
        return MetadataPath(path, "elements", i)
            .Error(absl::StrCat("value ", element, " is a list"));
      }
      plan.elements.push_back(element);
    }
    values.emplace_back(std::move(plan));
    return absl::OkStatus();
  }

  const TensorMemory& memory_;
  const Limits& limits_;
  uint64_t list_elements_ = 0;
  uint64_t tensors_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<ValuePlan>> ValidateValues(const schema::Method& method,
                                                      const TensorMemory& memory,
                                                      const Limits& limits,
                                                      const MetadataPath& path) {
  const uint64_t count = method.values_size();
  if (count > limits.values) {
    return MetadataPath(path, "values").LimitError("values", count, limits.values);
  }
  ValueValidator validator(memory, limits);
  std::vector<ValuePlan> values;
  values.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    ABSL_RETURN_IF_ERROR(
        validator.Append(method.values(i), MetadataPath(path, "values", i), values));
  }
  return values;
}

}  // namespace belay
