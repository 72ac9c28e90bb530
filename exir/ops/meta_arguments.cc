#include "exir/ops/meta_arguments.h"

#include <utility>

#include "absl/status/status.h"
#include "exir/ops/meta_checks.h"
#include "exir/ops/pointwise.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay::exir {
namespace {

absl::Status UnknownArgument(const MetaContext& context, std::string_view name) {
  return absl::InternalError(absl::StrCat(context.schema().ns, "::", context.schema().op,
                                          " has no argument '", name, "'"));
}

}  // namespace

int MetaArguments::Position(std::string_view name) const {
  const std::vector<SchemaArgument>& arguments = context_.schema().arguments;
  for (size_t i = 0; i < arguments.size() && static_cast<int>(i) < context_.num_arguments(); ++i) {
    if (arguments[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const MetaValue& MetaArguments::operator[](std::string_view name) const {
  static const MetaValue& none = *new MetaValue();
  const int i = Position(name);
  return i < 0 ? none : context_.argument(i);
}

template <class T>
absl::StatusOr<T> MetaArguments::Get(std::string_view name,
                                     absl::StatusOr<T> (MetaContext::*read)(int) const) const {
  const int i = Position(name);
  if (i < 0) return UnknownArgument(context_, name);
  return (context_.*read)(i);
}

absl::StatusOr<const TensorMeta*> MetaArguments::Tensor(std::string_view name,
                                                        DTypeSet allowed) const {
  const int i = Position(name);
  if (i < 0) return UnknownArgument(context_, name);
  return TensorOf(context_, i, allowed);
}

absl::StatusOr<const TensorMeta*> MetaArguments::OptionalTensor(std::string_view name,
                                                                DTypeSet allowed) const {
  if (IsNone(name)) return static_cast<const TensorMeta*>(nullptr);
  return Tensor(name, allowed);
}

absl::StatusOr<MutableArgument> MetaArguments::Mutable(std::string_view name) const {
  ABSL_RETURN_IF_ERROR(Tensor(name).status());
  return MutableArgument{Position(name)};
}

absl::StatusOr<std::vector<const TensorMeta*>> MetaArguments::TensorList(
    std::string_view name) const {
  return Get(name, &MetaContext::TensorList);
}

absl::StatusOr<SymInt> MetaArguments::Int(std::string_view name) const {
  return Get(name, &MetaContext::Int);
}

absl::StatusOr<int64_t> MetaArguments::StaticInt(std::string_view name) const {
  return Get(name, &MetaContext::StaticInt);
}

absl::StatusOr<std::optional<int64_t>> MetaArguments::OptionalInt(std::string_view name) const {
  if (IsNone(name)) return std::optional<int64_t>();
  ABSL_ASSIGN_OR_RETURN(const int64_t value, StaticInt(name));
  return std::optional<int64_t>(value);
}

absl::StatusOr<double> MetaArguments::Double(std::string_view name) const {
  return Get(name, &MetaContext::Double);
}

absl::StatusOr<std::optional<double>> MetaArguments::OptionalDouble(std::string_view name) const {
  if (IsNone(name)) return std::optional<double>();
  ABSL_ASSIGN_OR_RETURN(const double value, Double(name));
  return std::optional<double>(value);
}

absl::StatusOr<bool> MetaArguments::Bool(std::string_view name) const {
  return Get(name, &MetaContext::Bool);
}

absl::StatusOr<std::string> MetaArguments::String(std::string_view name) const {
  return Get(name, &MetaContext::String);
}

absl::StatusOr<DType> MetaArguments::Dtype(std::string_view name) const {
  return Get(name, &MetaContext::Dtype);
}

absl::StatusOr<DType> MetaArguments::DtypeOr(std::string_view name, DType fallback) const {
  if (IsNone(name)) return fallback;
  return Dtype(name);
}

absl::StatusOr<MemoryFormat> MetaArguments::MemoryFormatOr(std::string_view name,
                                                           MemoryFormat fallback) const {
  const int i = Position(name);
  if (i < 0) return UnknownArgument(context_, name);
  return context_.MemoryFormatOr(i, fallback);
}

absl::StatusOr<DType> MetaArguments::ScalarCategory(std::string_view name) const {
  return Get(name, &MetaContext::ScalarCategory);
}

absl::StatusOr<std::vector<SymInt>> MetaArguments::IntList(std::string_view name) const {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> list, Get(name, &MetaContext::IntList));
  ABSL_RETURN_IF_ERROR(CheckRank(list.size()));
  return list;
}

absl::StatusOr<Sizes> MetaArguments::StaticIntList(std::string_view name) const {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> list, Get(name, &MetaContext::StaticIntList));
  ABSL_RETURN_IF_ERROR(CheckRank(list.size()));
  return Sizes(list);
}

absl::StatusOr<int> MetaArguments::ListSize(std::string_view name) const {
  if (const MetaList* list = (*this)[name].get_if<MetaList>()) {
    return static_cast<int>(list->size());
  }
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> lone, Get(name, &MetaContext::IntList));
  return static_cast<int>(lone.size());
}

absl::StatusOr<SymInt> MetaArguments::ListInt(std::string_view name, int k) const {
  const MetaList* list = (*this)[name].get_if<MetaList>();
  if (list == nullptr) return Int(name);
  const SymExpr* element =
      k >= 0 && static_cast<size_t>(k) < list->size() ? (*list)[k].get_if<SymExpr>() : nullptr;
  if (element != nullptr && element->value_kind() == SymExpr::ValueKind::kInt) return *element;
  return absl::InvalidArgumentError(absl::StrCat(name, ": element ", k, " is no int"));
}

absl::StatusOr<std::vector<SymInt>> MetaArguments::LongIntList(std::string_view name) const {
  ABSL_ASSIGN_OR_RETURN(const int count, ListSize(name));
  std::vector<SymInt> list;
  for (int k = 0; k < count; ++k) {
    ABSL_ASSIGN_OR_RETURN(SymInt element, ListInt(name, k));
    list.push_back(std::move(element));
  }
  return list;
}

absl::StatusOr<uint32_t> MetaArguments::BoolMask(std::string_view name, int n) const {
  const int i = Position(name);
  if (i < 0) return UnknownArgument(context_, name);
  return belay::exir::BoolMask(context_, i, n);
}

absl::StatusOr<EValue> MetaArguments::Scalar(std::string_view name) const {
  ABSL_RETURN_IF_ERROR(ScalarCategory(name).status());
  const MetaValue& value = (*this)[name];
  if (const bool* b = value.get_if<bool>()) return EValue(*b);
  if (const double* d = value.get_if<double>()) return EValue(*d);
  if (const auto* c = value.get_if<std::complex<double>>()) return EValue(*c);
  const SymExpr* e = value.get_if<SymExpr>();
  const std::optional<int64_t> i = e == nullptr ? std::nullopt : e->AsInt();
  return i.has_value() ? EValue(*i) : EValue();
}

absl::StatusOr<double> MetaArguments::ListDouble(std::string_view name, int k) const {
  const MetaList* list = (*this)[name].get_if<MetaList>();
  const MetaValue* element =
      list != nullptr && k >= 0 && static_cast<size_t>(k) < list->size() ? &(*list)[k] : nullptr;
  std::optional<double> value;
  if (element != nullptr) {
    if (const double* d = element->get_if<double>()) value = *d;
    if (const SymExpr* e = element->get_if<SymExpr>()) value = e->AsFloat();
  }
  if (value.has_value()) return *value;
  return absl::InvalidArgumentError(absl::StrCat(name, ": element ", k, " is no float"));
}

absl::StatusOr<DType> MetaArguments::ScalarFor(std::string_view name, DType dtype) const {
  const int i = Position(name);
  if (i < 0) return UnknownArgument(context_, name);
  if (!IsComplex(dtype)) ABSL_RETURN_IF_ERROR(CheckRealNumber(context_, i));
  return context_.ScalarCategory(i);
}

absl::StatusOr<MetaArguments::OperandRef> MetaArguments::Operand(std::string_view name) const {
  const MetaValue& value = (*this)[name];
  if (const TensorMeta* tensor = value.get_if<TensorMeta>()) {
    return OperandRef{&value, tensor, tensor->dtype};
  }
  if (value.is_none() && Has(name)) {
    return ArgumentError(name, "expected a tensor or a number, got none");
  }
  ABSL_ASSIGN_OR_RETURN(const DType category, ScalarCategory(name));
  return OperandRef{&value, nullptr, category};
}

absl::StatusOr<MetaArguments::OperandRef> MetaArguments::Number(std::string_view name) const {
  ABSL_RETURN_IF_ERROR(ScalarCategory(name).status());
  return Operand(name);
}

absl::StatusOr<MetaArguments::OperandRef> MetaArguments::NumberFor(std::string_view name,
                                                                   DType dtype) const {
  ABSL_RETURN_IF_ERROR(ScalarFor(name, dtype).status());
  return Operand(name);
}

absl::Status MetaArguments::Error(std::string_view message) const {
  return MetaError(context_, message);
}

absl::Status MetaArguments::ArgumentError(std::string_view name, std::string_view message) const {
  return Error(absl::StrCat("argument '", name, "': ", message));
}

}  // namespace belay::exir
