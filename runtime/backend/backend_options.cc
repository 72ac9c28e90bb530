#include "runtime/backend/backend_options.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

std::string_view TypeName(const OptionValue& value) {
  if (std::holds_alternative<bool>(value)) return "bool";
  return std::holds_alternative<int64_t>(value) ? "int" : "string";
}

bool IsBounded(const BackendOption& option) {
  return std::holds_alternative<int64_t>(option.default_value) &&
         (option.min != INT64_MIN || option.max != INT64_MAX);
}

// "int, 1 to 256"
std::string TypeOf(const BackendOption& option) {
  const std::string_view name = TypeName(option.default_value);
  return IsBounded(option) ? absl::StrCat(name, ", ", option.min, " to ", option.max)
                           : std::string(name);
}

std::string QuotedValue(const OptionValue& value) {
  const std::string text = Printable(FormatOptionValue(value));
  return std::holds_alternative<std::string>(value) ? absl::StrCat("'", text, "'") : text;
}

absl::Status UnexpectedError(std::string_view backend, const BackendOption& option,
                             std::string_view actual) {
  return absl::InvalidArgumentError(absl::StrCat("option '", option.name, "' of backend '", backend,
                                                 "': expected ", TypeOf(option), "; got ", actual));
}

absl::Status CheckValue(std::string_view backend, const BackendOption& option,
                        const OptionValue& value) {
  if (value.index() != option.default_value.index()) {
    return UnexpectedError(backend, option, absl::StrCat(TypeName(value), " ", QuotedValue(value)));
  }
  const auto* number = std::get_if<int64_t>(&value);
  if (number != nullptr && (*number < option.min || *number > option.max)) {
    return UnexpectedError(backend, option, QuotedValue(value));
  }
  return absl::OkStatus();
}

}  // namespace

std::string FormatOptionValue(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int64_t>(&value)) return absl::StrCat(*number);
  return std::get<std::string>(value);
}

std::string DescribeOption(const BackendOption& option) {
  return absl::StrCat(option.name, ": ", TypeOf(option), ", default ",
                      QuotedValue(option.default_value));
}

absl::StatusOr<const BackendOption*> FindOption(std::string_view backend, BackendOptionTable table,
                                                std::string_view name) {
  std::vector<std::string> known;
  for (const BackendOption& option : table) {
    if (option.name == name) return &option;
    known.push_back(DescribeOption(option));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("backend '", backend, "' has no option '", Printable(name), "'; it has ",
                   known.empty() ? "none" : absl::StrJoin(known, "; ")));
}

absl::StatusOr<const BackendOption*> CheckOption(std::string_view backend, BackendOptionTable table,
                                                 std::string_view name, const OptionValue& value) {
  ABSL_ASSIGN_OR_RETURN(const BackendOption* option, FindOption(backend, table, name));
  ABSL_RETURN_IF_ERROR(CheckValue(backend, *option, value));
  return option;
}

absl::StatusOr<OptionValue> ParseOption(std::string_view backend, BackendOptionTable table,
                                        std::string_view name, std::string_view text) {
  ABSL_ASSIGN_OR_RETURN(const BackendOption* option, FindOption(backend, table, name));
  OptionValue value = std::string(text);
  if (std::holds_alternative<bool>(option->default_value)) {
    if (text == "true" || text == "false") value = text == "true";
  } else if (std::holds_alternative<int64_t>(option->default_value)) {
    int64_t number;
    if (absl::SimpleAtoi(ToAbsl(text), &number)) value = number;
  }
  ABSL_RETURN_IF_ERROR(CheckValue(backend, *option, value));
  return value;
}

absl::StatusOr<OptionValues> ResolveOptions(std::string_view backend, BackendOptionTable table,
                                            const OptionValues& given) {
  OptionValues values;
  for (const BackendOption& option : table) {
    values.emplace(option.name, option.default_value);
  }
  for (const auto& [name, value] : given) {
    ABSL_RETURN_IF_ERROR(CheckOption(backend, table, name, value).status());
    values.insert_or_assign(name, value);
  }
  return values;
}

}  // namespace belay
