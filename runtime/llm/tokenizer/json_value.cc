#include "runtime/llm/tokenizer/json_value.h"

#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {

absl::StatusOr<simdjson::dom::element> ParseJson(std::string_view name, std::string_view json,
                                                 uint64_t max_bytes, size_t max_depth,
                                                 simdjson::dom::parser& parser) {
  if (json.size() > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": expected at most ", max_bytes, " bytes, got ", json.size()));
  }
  simdjson::dom::element root;
  simdjson::error_code error = parser.allocate(json.size() + 64, max_depth);
  if (error == simdjson::SUCCESS) error = parser.parse(json.data(), json.size()).get(root);
  if (error == simdjson::SUCCESS) return root;
  const bool memory = error == simdjson::MEMALLOC || error == simdjson::CAPACITY;
  return absl::Status(
      memory ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kInvalidArgument,
      absl::StrCat(name, ": expected JSON: ", simdjson::error_message(error)));
}

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
