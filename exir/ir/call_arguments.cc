#include "exir/ir/call_arguments.h"

#include <optional>
#include <string>
#include <utility>

#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Returns the canonical form of a non-list value.
Argument CanonicalElement(const SchemaType& type, Argument value) {
  if (type.base == BaseType::kFloat) {
    if (const int64_t* number = value.get_if<int64_t>()) return static_cast<double>(*number);
  }
  if (type.base == BaseType::kInt) {
    if (const bool* flag = value.get_if<bool>()) return int64_t{*flag ? 1 : 0};
  }
  return value;
}

bool IsNumber(const Argument& value) {
  return value.is<int64_t>() || value.is<double>() || value.is<bool>();
}

std::string ArgumentNames(const FunctionSchema& schema) {
  std::string names;
  for (const SchemaArgument& argument : schema.arguments) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", argument.name);
  }
  return names.empty() ? "none" : names;
}

}  // namespace

Argument CanonicalArgument(const SchemaType& type, Argument value) {
  if (!type.list) return CanonicalElement(type, std::move(value));
  if (Argument::List* list = value.get_if<Argument::List>()) {
    for (Argument& element : *list) element = CanonicalElement(type, std::move(element));
    return value;
  }
  if (!IsNumber(value)) return value;
  // List lengths in a schema are positive.
  return Argument::List(static_cast<size_t>(type.list_size.value_or(1)),
                        CanonicalElement(type, std::move(value)));
}

std::vector<GivenArgument> GivenArguments(absl::Span<const Argument> arguments,
                                          absl::Span<const std::string> names, size_t first) {
  std::vector<GivenArgument> given;
  for (size_t i = first; i < arguments.size(); ++i) {
    std::string_view name;
    if (i < names.size()) name = names[i];
    given.push_back({name, arguments[i]});
  }
  return given;
}

absl::StatusOr<std::vector<Argument>> CompleteArguments(const FunctionSchema& schema,
                                                        std::vector<GivenArgument> given,
                                                        bool names_are_loose) {
  const size_t count = schema.arguments.size();
  std::vector<std::optional<Argument>> found(count);
  size_t position = 0;
  for (GivenArgument& argument : given) {
    std::optional<size_t> index;
    if (!argument.name.empty()) {
      if (const std::optional<int> named = schema.ArgumentIndex(argument.name))
        index = static_cast<size_t>(*named);
    }
    if (!index.has_value() && (argument.name.empty() || names_are_loose)) index = position;
    if (!index.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown argument '", argument.name, "'; the operator has: ", ArgumentNames(schema)));
    }
    if (*index >= count) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there are ", given.size(), " arguments; the operator has: ", ArgumentNames(schema)));
    }
    if (found[*index].has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the argument '", schema.arguments[*index].name, "' is given twice"));
    }
    found[*index] = CanonicalArgument(schema.arguments[*index].type, std::move(argument.value));
    position = *index + 1;
  }
  std::vector<Argument> complete;
  complete.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const SchemaArgument& argument = schema.arguments[i];
    if (found[i].has_value()) {
      complete.push_back(*std::move(found[i]));
    } else if (argument.default_value.has_value()) {
      complete.push_back(DefaultArgument(argument));
    } else {
      return absl::InvalidArgumentError(absl::StrCat("the argument '", argument.name, "' (",
                                                     argument.type.ToString(),
                                                     ") is missing and has no default"));
    }
  }
  return complete;
}

}  // namespace belay::exir
