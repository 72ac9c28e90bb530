#include "exir/op_definition/meta_context.h"

#include <utility>

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

std::string KindName(const MetaValue& value) {
  struct Visitor {
    std::string operator()(None) const { return "none"; }
    std::string operator()(const TensorMeta& t) const {
      return absl::StrCat("tensor ", DTypeShortName(t.dtype), FormatDims(t.sizes));
    }
    std::string operator()(const SymExpr& e) const {
      switch (e.value_kind()) {
        case SymExpr::ValueKind::kInt:
          return absl::StrCat("int ", e.ToString());
        case SymExpr::ValueKind::kFloat:
          return absl::StrCat("float ", e.ToString());
        case SymExpr::ValueKind::kBool:
          return absl::StrCat("bool ", e.ToString());
      }
      return "";
    }
    std::string operator()(double v) const { return absl::StrCat("float ", v); }
    std::string operator()(bool v) const { return v ? "bool true" : "bool false"; }
    std::string operator()(std::complex<double>) const { return "complex"; }
    std::string operator()(const std::string& v) const {
      return absl::StrCat("string '", v.substr(0, 40), "'");
    }
    std::string operator()(DType v) const { return absl::StrCat("dtype ", DTypeName(v)); }
    std::string operator()(MemoryFormat) const { return "memory format"; }
    std::string operator()(Layout) const { return "layout"; }
    std::string operator()(const Device&) const { return "device"; }
    std::string operator()(const MetaList& v) const { return absl::StrCat("list of ", v.size()); }

    static std::string FormatDims(const std::vector<SymInt>& sizes) {
      std::string text = "[";
      for (size_t i = 0; i < sizes.size(); ++i)
        absl::StrAppend(&text, i == 0 ? "" : ",", sizes[i].ToString());
      return text + "]";
    }
  };
  return std::visit(Visitor{}, value.value);
}

absl::Status WrongKind(const FunctionSchema& schema, int i, std::string_view expected,
                       const MetaValue& actual) {
  return absl::InvalidArgumentError(
      absl::StrCat(schema.ns, "::", schema.op, ".", schema.overload, ": argument '",
                   schema.arguments[i].name, "': expected ", expected, ", got ", KindName(actual)));
}

std::optional<SymInt> AsSymInt(const MetaValue& value) {
  if (const bool* b = value.get_if<bool>()) return SymInt(*b ? 1 : 0);
  const SymExpr* e = value.get_if<SymExpr>();
  if (e == nullptr) return std::nullopt;
  if (const std::optional<bool> b = e->AsBool()) return SymInt(*b ? 1 : 0);
  if (e->value_kind() != SymExpr::ValueKind::kInt) return std::nullopt;
  return *e;
}

}  // namespace

MetaValue::MetaValue() = default;
MetaValue::MetaValue(const MetaValue& other) = default;
MetaValue::MetaValue(MetaValue&& other) noexcept = default;
MetaValue& MetaValue::operator=(const MetaValue& other) = default;
MetaValue& MetaValue::operator=(MetaValue&& other) noexcept = default;
MetaValue::~MetaValue() = default;

MetaContext::MetaContext(const FunctionSchema& schema, std::vector<MetaValue> arguments,
                         SymbolSource* symbols)
    : schema_(schema),
      arguments_(std::move(arguments)),
      symbols_(symbols),
      outputs_(schema.returns.size()) {}
MetaContext::~MetaContext() = default;

void MetaContext::SetTensor(int i, DType dtype, std::vector<SymInt> sizes) {
  outputs_[i] = TensorMeta::Contiguous(dtype, std::move(sizes));
}

absl::StatusOr<const TensorMeta*> MetaContext::Tensor(int i) const {
  const TensorMeta* tensor = arguments_[i].get_if<TensorMeta>();
  if (tensor == nullptr) return WrongKind(schema_, i, "a tensor", arguments_[i]);
  return tensor;
}

absl::StatusOr<const TensorMeta*> MetaContext::OptionalTensor(int i) const {
  if (is_none(i)) return nullptr;
  return Tensor(i);
}

absl::StatusOr<std::vector<const TensorMeta*>> MetaContext::TensorList(int i) const {
  const MetaList* list = arguments_[i].get_if<MetaList>();
  if (list == nullptr) return WrongKind(schema_, i, "a list of tensors", arguments_[i]);
  const bool may_be_none = schema_.arguments[i].type.element_optional;
  std::vector<const TensorMeta*> tensors;
  for (const MetaValue& element : *list) {
    const TensorMeta* tensor = element.get_if<TensorMeta>();
    if (tensor == nullptr && !(may_be_none && element.is_none())) {
      return WrongKind(schema_, i, "a list of tensors", element);
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

absl::StatusOr<SymInt> MetaContext::Int(int i) const {
  std::optional<SymInt> value = AsSymInt(arguments_[i]);
  if (!value.has_value()) return WrongKind(schema_, i, "an int", arguments_[i]);
  return *std::move(value);
}

absl::StatusOr<int64_t> MetaContext::StaticInt(int i) const {
  const std::optional<SymInt> value = AsSymInt(arguments_[i]);
  if (!value.has_value() || !value->AsInt().has_value()) {
    return WrongKind(schema_, i, "an int that is a number", arguments_[i]);
  }
  return *value->AsInt();
}

absl::StatusOr<std::vector<SymInt>> MetaContext::IntList(int i) const {
  if (const std::optional<SymInt> lone = AsSymInt(arguments_[i])) {
    return std::vector<SymInt>(schema_.arguments[i].type.list_size.value_or(1), *lone);
  }
  const MetaList* list = arguments_[i].get_if<MetaList>();
  if (list == nullptr) return WrongKind(schema_, i, "a list of ints", arguments_[i]);
  std::vector<SymInt> values;
  for (const MetaValue& element : *list) {
    std::optional<SymInt> value = AsSymInt(element);
    if (!value.has_value()) return WrongKind(schema_, i, "a list of ints", element);
    values.push_back(*std::move(value));
  }
  return values;
}

absl::StatusOr<std::vector<int64_t>> MetaContext::StaticIntList(int i) const {
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> values, IntList(i));
  std::vector<int64_t> numbers;
  for (const SymInt& value : values) {
    if (!value.AsInt().has_value())
      return WrongKind(schema_, i, "a list of numbers", MetaValue(value));
    numbers.push_back(*value.AsInt());
  }
  return numbers;
}

absl::StatusOr<double> MetaContext::Double(int i) const {
  const MetaValue& value = arguments_[i];
  if (const double* d = value.get_if<double>()) return *d;
  if (const bool* b = value.get_if<bool>()) return *b ? 1.0 : 0.0;
  if (const SymExpr* e = value.get_if<SymExpr>()) {
    if (const std::optional<double> d = e->AsFloat()) return *d;
    if (const std::optional<bool> b = e->AsBool()) return *b ? 1.0 : 0.0;
  }
  return WrongKind(schema_, i, "a real number", value);
}

absl::StatusOr<bool> MetaContext::Bool(int i) const {
  const MetaValue& value = arguments_[i];
  if (const bool* b = value.get_if<bool>()) return *b;
  const SymExpr* e = value.get_if<SymExpr>();
  if (e == nullptr || e->value_kind() != SymExpr::ValueKind::kBool) {
    return WrongKind(schema_, i, "a bool", value);
  }
  if (const std::optional<bool> b = e->AsBool()) return *b;
  return WrongKind(schema_, i, "a bool that is known", value);
}

absl::StatusOr<std::string> MetaContext::String(int i) const {
  const std::string* string = arguments_[i].get_if<std::string>();
  if (string == nullptr) return WrongKind(schema_, i, "a string", arguments_[i]);
  return *string;
}

absl::StatusOr<DType> MetaContext::Dtype(int i) const {
  const DType* dtype = arguments_[i].get_if<DType>();
  if (dtype == nullptr) return WrongKind(schema_, i, "a dtype", arguments_[i]);
  return *dtype;
}

absl::StatusOr<DType> MetaContext::DtypeOr(int i, DType fallback) const {
  if (is_none(i)) return fallback;
  return Dtype(i);
}

absl::StatusOr<MemoryFormat> MetaContext::MemoryFormatOr(int i, MemoryFormat fallback) const {
  if (is_none(i)) return fallback;
  const MemoryFormat* format = arguments_[i].get_if<MemoryFormat>();
  if (format == nullptr) return WrongKind(schema_, i, "a memory format", arguments_[i]);
  return *format;
}

absl::StatusOr<DType> MetaContext::ScalarCategory(int i) const {
  const MetaValue& value = arguments_[i];
  if (value.get_if<bool>() != nullptr) return DType::kBool;
  if (value.get_if<double>() != nullptr) return DType::kFloat32;
  if (value.get_if<std::complex<double>>() != nullptr) return DType::kComplex64;
  if (const SymExpr* e = value.get_if<SymExpr>()) {
    switch (e->value_kind()) {
      case SymExpr::ValueKind::kInt:
        return DType::kInt64;
      case SymExpr::ValueKind::kFloat:
        return DType::kFloat32;
      case SymExpr::ValueKind::kBool:
        return DType::kBool;
    }
  }
  return WrongKind(schema_, i, "a scalar", value);
}

absl::StatusOr<SymExpr> MetaContext::FreshSymbol(SymRange range) {
  if (symbols_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(schema_.ns, "::", schema_.op, ".", schema_.overload,
                     ": its result's shape depends on data, and must be known here"));
  }
  return symbols_->Fresh(range);
}

}  // namespace belay::exir
