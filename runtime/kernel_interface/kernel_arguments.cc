#include "runtime/kernel_interface/kernel_arguments.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/type_promotion.h"

namespace belay {
namespace {

// Removes and returns the first word of `text`; "" at the end.
std::string_view NextWord(std::string_view& text) {
  // Words are short: a loop is faster than a call of memchr.
  size_t end = 0;
  while (end < text.size() && text[end] != ' ') ++end;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end < text.size() ? end + 1 : end);
  return word;
}

absl::Status WrongArgument(std::string_view name, std::string_view expected, const EValue& value) {
  return absl::InvalidArgumentError(
      absl::StrCat("argument '", name, "': expected ", expected, ", got ", value.KindName()));
}

absl::Status UnknownArgument(std::string_view name) {
  return absl::InternalError(absl::StrCat("the kernel's signature has no argument '", name, "'"));
}

}  // namespace

KernelArguments::KernelArguments(const KernelContext& context, std::string_view signature)
    : context_(context) {
  while (!signature.empty() && count_ < kMostArguments) {
    const std::string_view word = NextWord(signature);
    if (word == "->") {
      if (!absl::SimpleAtoi(absl::string_view(signature.data(), signature.size()), &outputs_)) {
        outputs_ = -1;
      }
      break;
    }
    names_[count_++] = word;
  }
}

absl::Status KernelArguments::CheckArity() const { return context_.CheckArity(count_, outputs_); }

int KernelArguments::Position(std::string_view name) const {
  if (name.empty()) return -1;
  const auto ends = [&](std::string_view other) {  // tells most names apart without memcmp
    return other.size() == name.size() && other.back() == name.back();
  };
  for (int i = 0; i < count_ && i < context_.num_arguments(); ++i) {
    if (ends(names_[i]) && names_[i] == name) return i;
  }
  return -1;
}

const EValue& KernelArguments::operator[](std::string_view name) const {
  const int i = Position(name);
  return i < 0 ? none_ : context_.argument(i);
}

bool KernelArguments::IsNone(std::string_view name) const { return (*this)[name].is_none(); }

template <class T>
absl::StatusOr<T> KernelArguments::Get(std::string_view name,
                                       absl::StatusOr<T> (KernelContext::*read)(int) const) const {
  const int i = Position(name);
  if (i < 0) return UnknownArgument(name);
  absl::StatusOr<T> value = (context_.*read)(i);
  if (value.ok()) [[likely]]
    return value;
  // The context only knows positions: replace the position by the name.
  const std::string position = absl::StrCat("argument ", i);
  std::string_view message(value.status().message().data(), value.status().message().size());
  if (message.starts_with(position)) message.remove_prefix(position.size());
  return absl::Status(value.status().code(), absl::StrCat("argument '", name, "'", message));
}

absl::StatusOr<const TensorView*> KernelArguments::Tensor(std::string_view name,
                                                          DTypeSet allowed) const {
  ABSL_ASSIGN_OR_RETURN(const TensorView* tensor, Get(name, &KernelContext::Tensor));
  if (allowed.contains(tensor->dtype)) return tensor;
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": expected one of ", FormatDTypeSet(allowed), ", got ", DTypeName(tensor->dtype)));
}

absl::StatusOr<const TensorView*> KernelArguments::OptionalTensor(std::string_view name,
                                                                  DTypeSet allowed) const {
  if (IsNone(name)) return static_cast<const TensorView*>(nullptr);
  return Tensor(name, allowed);
}

absl::StatusOr<MutableArgument> KernelArguments::Mutable(std::string_view name) const {
  const int i = Position(name);
  if (i < 0) return UnknownArgument(name);
  return MutableArgument{i};
}

absl::StatusOr<int64_t> KernelArguments::StaticInt(std::string_view name) const {
  return Get(name, &KernelContext::Int);
}

absl::StatusOr<CheckedInt> KernelArguments::Int(std::string_view name) const {
  ABSL_ASSIGN_OR_RETURN(const int64_t value, StaticInt(name));
  return CheckedInt(value);
}

absl::StatusOr<std::optional<int64_t>> KernelArguments::OptionalInt(std::string_view name) const {
  if (IsNone(name)) return std::optional<int64_t>();
  ABSL_ASSIGN_OR_RETURN(const int64_t value, StaticInt(name));
  return std::optional<int64_t>(value);
}

absl::StatusOr<double> KernelArguments::Double(std::string_view name) const {
  return Get(name, &KernelContext::Double);
}

absl::StatusOr<std::optional<double>> KernelArguments::OptionalDouble(std::string_view name) const {
  if (IsNone(name)) return std::optional<double>();
  ABSL_ASSIGN_OR_RETURN(const double value, Double(name));
  return std::optional<double>(value);
}

absl::StatusOr<bool> KernelArguments::Bool(std::string_view name) const {
  return Get(name, &KernelContext::Bool);
}

absl::StatusOr<EValue> KernelArguments::Scalar(std::string_view name) const {
  return Get(name, &KernelContext::Scalar);
}

absl::StatusOr<std::string_view> KernelArguments::String(std::string_view name) const {
  return Get(name, &KernelContext::String);
}

absl::StatusOr<DType> KernelArguments::Dtype(std::string_view name) const {
  return Get(name, &KernelContext::Dtype);
}

absl::StatusOr<DType> KernelArguments::DtypeOr(std::string_view name, DType fallback) const {
  if (IsNone(name)) return fallback;
  return Dtype(name);
}

absl::StatusOr<Sizes> KernelArguments::StaticIntList(std::string_view name) const {
  return Get(name, &KernelContext::IntList);
}

absl::StatusOr<Dims<CheckedInt>> KernelArguments::IntList(std::string_view name) const {
  ABSL_ASSIGN_OR_RETURN(const Sizes list, StaticIntList(name));
  return ToDims(list);
}

absl::StatusOr<ListView> KernelArguments::List(std::string_view name) const {
  return Get(name, &KernelContext::List);
}

absl::StatusOr<int> KernelArguments::ListSize(std::string_view name) const {
  if ((*this)[name].is<int64_t>()) return 1;
  ABSL_ASSIGN_OR_RETURN(const ListView list, List(name));
  return static_cast<int>(list.elements.size());
}

absl::StatusOr<CheckedInt> KernelArguments::ListInt(std::string_view name, int k) const {
  if ((*this)[name].is<int64_t>()) return Int(name);
  ABSL_ASSIGN_OR_RETURN(const ListView list, List(name));
  const EValue* element =
      k >= 0 && static_cast<size_t>(k) < list.elements.size() ? list.elements[k] : nullptr;
  const int64_t* value = element == nullptr ? nullptr : element->get_if<int64_t>();
  if (value == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("argument '", name, "': element ", k, " of the list is not an int"));
  }
  return CheckedInt(*value);
}

absl::StatusOr<KernelArguments::LongIntListRef> KernelArguments::LongIntList(
    std::string_view name) const {
  ABSL_RETURN_IF_ERROR(ListSize(name).status());
  return &(*this)[name];
}

int KernelArguments::CountOf(LongIntListRef list) {
  const ListView* view = list->get_if<ListView>();
  return view == nullptr ? 1 : static_cast<int>(view->elements.size());
}

absl::StatusOr<CheckedInt> KernelArguments::IntOf(LongIntListRef list, int k) {
  const ListView* view = list->get_if<ListView>();
  const EValue* element = view == nullptr ? list : view->elements[k];
  const int64_t* value = element == nullptr ? nullptr : element->get_if<int64_t>();
  if (value != nullptr) return CheckedInt(*value);
  return absl::InvalidArgumentError(
      absl::StrCat("element ", k, " of the list: expected int, got ",
                   element == nullptr ? "nothing" : element->KindName()));
}

absl::StatusOr<uint32_t> KernelArguments::BoolMask(std::string_view name, int n) const {
  ABSL_ASSIGN_OR_RETURN(const ListView list, List(name));
  if (static_cast<int>(list.elements.size()) != n || n > 32) {
    return absl::InvalidArgumentError(
        absl::StrCat("argument '", name, "': expected ", n, " bools, got ", list.elements.size()));
  }
  uint32_t mask = 0;
  for (int k = 0; k < n; ++k) {
    const EValue* element = list.elements[k];
    const bool* bit = element == nullptr ? nullptr : element->get_if<bool>();
    if (bit == nullptr) {
      return WrongArgument(name, "a list of bools", element == nullptr ? EValue() : *element);
    }
    if (*bit) mask |= uint32_t{1} << k;
  }
  return mask;
}

absl::StatusOr<double> KernelArguments::ListDouble(std::string_view name, int k) const {
  ABSL_ASSIGN_OR_RETURN(const ListView list, List(name));
  const EValue* element =
      k >= 0 && static_cast<size_t>(k) < list.elements.size() ? list.elements[k] : nullptr;
  const double* value = element == nullptr ? nullptr : element->get_if<double>();
  if (value != nullptr) return *value;
  return absl::InvalidArgumentError(
      absl::StrCat("argument '", name, "': element ", k, " of the list is not a float"));
}

absl::StatusOr<KernelArguments::OperandRef> KernelArguments::Operand(std::string_view name) const {
  const int i = Position(name);
  if (i < 0) return UnknownArgument(name);
  const EValue& value = context_.argument(i);
  if (const TensorView* tensor = value.get_if<TensorView>()) {
    return OperandRef{&value, tensor, tensor->dtype};
  }
  const std::optional<DType> category = belay::ScalarCategory(value);
  if (!category.has_value()) return WrongArgument(name, "tensor or number", value);
  return OperandRef{&value, nullptr, *category};
}

absl::StatusOr<KernelArguments::OperandRef> KernelArguments::Number(std::string_view name) const {
  ABSL_RETURN_IF_ERROR(Scalar(name).status());
  return Operand(name);
}

absl::Status KernelArguments::Error(std::string_view message) const {
  return absl::InvalidArgumentError(absl::string_view(message.data(), message.size()));
}

absl::Status KernelArguments::ArgumentError(std::string_view name, std::string_view message) const {
  return Error(absl::StrCat("argument '", name, "': ", message));
}

absl::StatusOr<MemoryFormat> KernelArguments::MemoryFormatOr(std::string_view name,
                                                             MemoryFormat fallback) const {
  const EValue& value = (*this)[name];
  if (value.is_none()) return fallback;
  if (const MemoryFormat* format = value.get_if<MemoryFormat>()) return *format;
  return WrongArgument(name, "memory format", value);
}

}  // namespace belay
