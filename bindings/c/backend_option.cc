#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "bindings/c/handles.h"
#include "runtime/backend/backend_options.h"
#include "runtime/core/status_macros.h"

namespace belay::c {
namespace {

absl::StatusOr<OptionValue> ValueOf(const belay_backend_option& option) {
  switch (option.kind) {
    case BELAY_KIND_BOOL:
      return OptionValue(option.bool_value != 0);
    case BELAY_KIND_INT:
      return OptionValue(option.int_value);
    case BELAY_KIND_STRING:
      if (option.string_value == nullptr) return Missing("the string of a backend's option");
      return OptionValue(std::string(option.string_value));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("option '", option.name, "' of backend '", option.backend,
                       "': expected the kind bool, int or string, got ", option.kind));
  }
}

absl::Status CheckNames(const belay_backend_option* option) {
  if (option == nullptr) return Missing("a backend's option");
  if (option->backend == nullptr) return Missing("the backend of an option");
  if (option->name == nullptr) return Missing("the name of a backend's option");
  return absl::OkStatus();
}

absl::Status SetOption(belay_method* method, const belay_backend_option* option) {
  if (method == nullptr) return Missing("a method");
  ABSL_RETURN_IF_ERROR(CheckNames(option));
  ABSL_ASSIGN_OR_RETURN(const OptionValue value, ValueOf(*option));
  return method->method->SetBackendOption(option->backend, option->name, value);
}

absl::Status GetOption(belay_method* method, belay_backend_option* option) {
  if (method == nullptr) return Missing("a method");
  ABSL_RETURN_IF_ERROR(CheckNames(option));
  ABSL_ASSIGN_OR_RETURN(OptionValue value,
                        method->method->GetBackendOption(option->backend, option->name));
  if (const auto* flag = std::get_if<bool>(&value)) {
    option->kind = BELAY_KIND_BOOL;
    option->bool_value = *flag ? 1 : 0;
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    option->kind = BELAY_KIND_INT;
    option->int_value = *number;
  } else {
    // Getting an unchanged string again keeps its address.
    std::string& kept = method->option_strings[{option->backend, option->name}];
    std::string& current = std::get<std::string>(value);
    if (kept != current) kept = std::move(current);
    option->kind = BELAY_KIND_STRING;
    option->string_value = kept.c_str();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BackendOptions> BackendOptionsOf(const belay_backend_option* list, size_t count) {
  if (list == nullptr && count > 0) return Missing("backend_options");
  BackendOptions options;
  for (size_t i = 0; i < count; ++i) {
    ABSL_RETURN_IF_ERROR(CheckNames(&list[i]));
    ABSL_ASSIGN_OR_RETURN(OptionValue value, ValueOf(list[i]));
    if (!options[list[i].backend].emplace(list[i].name, std::move(value)).second) {
      return absl::InvalidArgumentError(absl::StrCat("option '", list[i].name, "' of backend '",
                                                     list[i].backend, "' is given twice"));
    }
  }
  return options;
}

}  // namespace belay::c

belay_status belay_method_set_backend_option(belay_method* method,
                                             const belay_backend_option* option,
                                             belay_error** error) {
  return belay::c::Report(belay::c::SetOption(method, option), error);
}

belay_status belay_method_get_backend_option(belay_method* method, belay_backend_option* option,
                                             belay_error** error) {
  return belay::c::Report(belay::c::GetOption(method, option), error);
}
