#include "runtime/llm/tokenizer/json_value.h"

#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {

JsonValue JsonValue::operator[](std::string_view key) const {
  std::string path = path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key);
  simdjson::dom::element field;
  if (!value_.has_value() || !value_->is_object() || value_->at_key(key).get(field) != 0) {
    return JsonValue(std::nullopt, std::move(path));
  }
  return JsonValue(field, std::move(path));
}

absl::StatusOr<std::vector<JsonValue>> JsonValue::Elements() const {
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::array array, Array());
  std::vector<JsonValue> elements;
  for (simdjson::dom::element element : array) {
    elements.emplace_back(element, absl::StrCat(path_, "[", elements.size(), "]"));
  }
  return elements;
}

absl::Status JsonValue::Error(std::string_view message, absl::StatusCode code) const {
  return Printable(absl::Status(
      code, absl::StrCat("tokenizer.json: ", path_, path_.empty() ? "" : ": ", message)));
}

absl::Status JsonValue::Error(const absl::Status& status) const {
  return Error(FromAbsl(status.message()), status.code());
}

absl::Status JsonValue::Unsupported(std::string_view type) const {
  return Error(absl::StrCat(Quoted(type), " is not supported"), absl::StatusCode::kUnimplemented);
}

absl::StatusOr<std::string_view> JsonValue::String() const {
  std::string_view string;
  if (!exists() || value_->get_string().get(string) != 0) return Error("expected a string");
  return string;
}

absl::StatusOr<int64_t> JsonValue::Int() const {
  int64_t integer;
  if (!exists() || value_->get_int64().get(integer) != 0) return Error("expected an integer");
  return integer;
}

absl::StatusOr<double> JsonValue::Double() const {
  double number;
  if (!exists() || value_->get_double().get(number) != 0) return Error("expected a number");
  return number;
}

absl::StatusOr<simdjson::dom::object> JsonValue::Object() const {
  simdjson::dom::object object;
  if (!exists() || value_->get_object().get(object) != 0) return Error("expected an object");
  return object;
}

absl::StatusOr<simdjson::dom::array> JsonValue::Array() const {
  simdjson::dom::array array;
  if (!exists() || value_->get_array().get(array) != 0) return Error("expected an array");
  return array;
}

absl::StatusOr<bool> JsonValue::Bool(bool fallback) const {
  bool value = fallback;
  if (exists() && value_->get_bool().get(value) != 0) return Error("expected true or false");
  return value;
}

absl::StatusOr<std::string> JsonValue::StringOr(std::string_view fallback) const {
  if (!exists()) return std::string(fallback);
  ABSL_ASSIGN_OR_RETURN(const std::string_view string, String());
  return std::string(string);
}

absl::StatusOr<int64_t> JsonValue::IntOr(int64_t fallback) const {
  return exists() ? Int() : fallback;
}

}  // namespace belay::llm
