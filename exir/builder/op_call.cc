#include "exir/builder/op_call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Arguments that PyTorch expands from one number to all spatial dimensions.
bool DescribesWindow(std::string_view name) {
  static constexpr std::string_view kNames[] = {"dilation", "kernel_size", "output_padding",
                                                "padding", "stride"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool IsEmptyList(const std::optional<SchemaDefault>& value) {
  const auto* list = value.has_value() ? std::get_if<std::vector<int64_t>>(&*value) : nullptr;
  return list != nullptr && list->empty();
}

}  // namespace

absl::Status OpCall::CheckLists() const {
  const std::vector<SchemaArgument>& schema = op_->schema()->arguments;
  for (size_t i = 0; i < schema.size() && i < arguments_.size(); ++i) {
    const Argument::List* list = arguments_[i].get_if<Argument::List>();
    const std::optional<int> length = schema[i].type.list_size;
    if (list == nullptr || !length.has_value()) continue;
    const bool window = DescribesWindow(schema[i].name);
    // PyTorch writes [1] for any number of dimensions too.
    if (*length == 1 && !window && schema[i].name != "output_size") continue;
    const size_t count = list->size();
    if (count == static_cast<size_t>(*length) || (window && count == 1) ||
        (count == 0 && IsEmptyList(schema[i].default_value))) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(op_->name(), ": the argument '", schema[i].name,
                                                   "' has ", count, " elements, expected ",
                                                   *length));
  }
  return absl::OkStatus();
}

const Argument& OpCall::operator[](std::string_view name) const {
  static const Argument& none = *new Argument();
  const std::optional<int> index = op_->schema()->ArgumentIndex(name);
  if (index.has_value() && static_cast<size_t>(*index) < arguments_.size()) {
    return arguments_[*index];
  }
  builder_.Fail(
      absl::InternalError(absl::StrCat("operator ", op_->name(), " has no argument '", name, "'")));
  return none;
}

void OpCall::Wrong(std::string_view name, std::string_view expected) const {
  builder_.Invalid(absl::StrCat(op_->name(), ": the argument '", name, "' is ",
                                PrintArgument(builder_.graph(), (*this)[name]), ", expected ",
                                expected));
}

std::vector<Argument> OpCall::List(std::string_view name) const {
  const Argument& argument = (*this)[name];
  if (argument.is_none()) return {};
  if (const Argument::List* list = argument.get_if<Argument::List>()) return *list;
  Wrong(name, "a list");
  return {};
}

std::vector<SymInt> OpCall::SymInts(std::string_view name) const {
  std::vector<SymInt> result;
  for (const Argument& element : List(name)) {
    const absl::StatusOr<MetaValue> meta = ToMetaValue(builder_.graph(), element);
    const SymExpr* expr = meta.ok() ? meta->get_if<SymExpr>() : nullptr;
    if (expr == nullptr) {
      Wrong(name, "a list of integers");
      return {};
    }
    result.push_back(*expr);
  }
  return result;
}

std::vector<int64_t> OpCall::Ints(std::string_view name) const {
  std::vector<int64_t> result;
  for (const SymInt& element : SymInts(name)) {
    const std::optional<int64_t> number = element.AsInt();
    if (!number.has_value()) {
      Wrong(name, "a list of numbers");
      return {};
    }
    result.push_back(*number);
  }
  return result;
}

SymInt OpCall::Sym(std::string_view name) const {
  const absl::StatusOr<MetaValue> meta = ToMetaValue(builder_.graph(), (*this)[name]);
  if (meta.ok()) {
    if (const SymExpr* expr = meta->get_if<SymExpr>()) return *expr;
    if (const bool* boolean = meta->get_if<bool>()) return SymInt(int64_t{*boolean});
  }
  Wrong(name, "an integer");
  return 0;
}

int64_t OpCall::Int(std::string_view name) const {
  const std::optional<int64_t> number = Sym(name).AsInt();
  if (number.has_value()) return *number;
  Wrong(name, "a number");
  return 0;
}

std::optional<int64_t> OpCall::OptionalInt(std::string_view name) const {
  if (IsNone(name)) return std::nullopt;
  return Int(name);
}

double OpCall::Double(std::string_view name) const {
  const Argument& argument = (*this)[name];
  if (const double* number = argument.get_if<double>()) return *number;
  if (const int64_t* number = argument.get_if<int64_t>()) return static_cast<double>(*number);
  if (const bool* number = argument.get_if<bool>()) return *number ? 1 : 0;
  Wrong(name, "a number");
  return 0;
}

bool OpCall::Bool(std::string_view name) const {
  const Argument& argument = (*this)[name];
  if (const bool* value = argument.get_if<bool>()) return *value;
  if (const int64_t* value = argument.get_if<int64_t>()) return *value != 0;
  Wrong(name, "true or false");
  return false;
}

std::string OpCall::String(std::string_view name) const {
  const Argument& argument = (*this)[name];
  if (argument.is_none()) return "";
  if (const std::string* text = argument.get_if<std::string>()) return *text;
  Wrong(name, "a string");
  return "";
}

DType OpCall::DtypeOr(std::string_view name, DType fallback) const {
  const Argument& argument = (*this)[name];
  if (argument.is_none()) return fallback;
  if (const DType* dtype = argument.get_if<DType>()) return *dtype;
  Wrong(name, "a dtype");
  return fallback;
}

MemoryFormat OpCall::MemoryFormatOr(std::string_view name, MemoryFormat fallback) const {
  const Argument& argument = (*this)[name];
  if (argument.is_none()) return fallback;
  if (const MemoryFormat* format = argument.get_if<MemoryFormat>()) return *format;
  Wrong(name, "a memory format");
  return fallback;
}

Argument OpCall::Or(std::string_view name, Argument fallback) const {
  const Argument& argument = (*this)[name];
  return argument.is_none() ? std::move(fallback) : argument;
}

}  // namespace belay::exir
