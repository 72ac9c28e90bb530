#include "runtime/program/value_validator.h"

#include <complex>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

class ValueValidator {
 public:
  ValueValidator(const TensorMemory& memory, const Limits& limits)
      : memory_(memory), limits_(limits) {}

  absl::StatusOr<ValuePlan> Validate(const schema::Value& value, const MetadataPath& path,
                                     const std::vector<ValuePlan>& before) {
    switch (value.kind_case()) {
      case schema::Value::kNone:
        return ValuePlan(None{});
      case schema::Value::kInt:
        return ValuePlan(int64_t{value.int_()});
      case schema::Value::kDouble:
        return ValuePlan(value.double_());
      case schema::Value::kBool:
        return ValuePlan(value.bool_());
      case schema::Value::kString:
        return ValuePlan(value.string());
      case schema::Value::kTensor:
        return ValidateTensor(value.tensor(), memory_, MetadataPath(path, "tensor"));
      case schema::Value::kList:
        return ValidateList(value.list(), MetadataPath(path, "list"), before);
      case schema::Value::kDtype: {
        const std::optional<DType> dtype = DTypeFromProgramFile(value.dtype());
        if (dtype.has_value()) return ValuePlan(*dtype);
        return MetadataPath(path, "dtype").Error(absl::StrCat(value.dtype(), " is no dtype"));
      }
      case schema::Value::kMemoryFormat: {
        const uint32_t format = value.memory_format();
        if (format >= 1 && format <= 4) return ValuePlan(static_cast<MemoryFormat>(format));
        return MetadataPath(path, "memory_format")
            .Error(absl::StrCat(format, " is no memory format"));
      }
      case schema::Value::kComplex:
        return ValuePlan(std::complex<double>(value.complex().real(), value.complex().imag()));
      case schema::Value::kScalar: {
        const int kind = value.scalar().kind();
        if (kind >= 1 && kind <= 3) return ValuePlan(static_cast<ScalarKind>(kind));
        return MetadataPath(path, "scalar").Error(absl::StrCat(kind, " is no kind of scalar"));
      }
      case schema::Value::KIND_NOT_SET:
        break;
    }
    return MetadataPath(path, "kind").Error("is missing or unknown");
  }

 private:
  absl::StatusOr<ValuePlan> ValidateList(const schema::List& list, const MetadataPath& path,
                                         const std::vector<ValuePlan>& before) {
    list_elements_ += static_cast<uint64_t>(list.elements_size());  // below the metadata's bytes
    if (list_elements_ > limits_.list_elements) {
      return path.LimitError("list_elements", list_elements_, limits_.list_elements);
    }
    ListPlan plan;
    plan.elements.reserve(list.elements_size());
    for (int i = 0; i < list.elements_size(); ++i) {
      const uint32_t element = list.elements(i);
      if (element >= before.size()) {
        return MetadataPath(path, "elements", i)
            .Error(absl::StrCat(element, " is not a value before the list itself, which is ",
                                before.size()));
      }
      if (std::holds_alternative<ListPlan>(before[element])) {
        return MetadataPath(path, "elements", i)
            .Error(absl::StrCat("value ", element, " is a list"));
      }
      plan.elements.push_back(element);
    }
    return ValuePlan(std::move(plan));
  }

  const TensorMemory& memory_;
  const Limits& limits_;
  uint64_t list_elements_ = 0;
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
    ABSL_ASSIGN_OR_RETURN(
        ValuePlan value,
        validator.Validate(method.values(i), MetadataPath(path, "values", i), values));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace belay
