#include "exir/import/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/bytes.h"
#include "runtime/core/python_json.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

std::string_view TypeName(element value) {
  switch (value.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
      return "an integer";
    case element_type::UINT64:
      return "an integer beyond int64";
    case element_type::DOUBLE:
      return std::abs(value.get_double().value_unsafe()) >= 0x1p63
                 ? "a number beyond int64"
                 : "a number with a fraction or exponent";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a boolean";
    case element_type::NULL_VALUE:
      return "null";
    default:  // Newer versions of simdjson have a type for integers of any length.
      return "a number beyond int64";
  }
}

absl::Status Mismatch(const JsonRef& ref, std::string_view expected) {
  return ref.Error(absl::StrCat("expected ", expected, ", found ", TypeName(ref.value)));
}

simdjson::error_code ParseInto(std::string_view text, size_t max_depth,
                               simdjson::dom::document& document) {
  simdjson::dom::parser parser;
  if (const simdjson::error_code error = parser.allocate(text.size(), max_depth);
      error != simdjson::SUCCESS) {
    return error;
  }
  return parser
      .parse_into_document(document, reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                           /*realloc_if_needed=*/true)
      .error();
}

}  // namespace

std::string JsonPath::ToString() const {
  std::vector<const JsonPath*> chain;
  for (const JsonPath* p = this; p != nullptr; p = p->parent_) chain.push_back(p);
  std::string text;
  bool after_document = false;
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    switch ((*it)->kind_) {
      case Kind::kDocument:
        absl::StrAppend(&text, (*it)->key_);
        break;
      case Kind::kField:
        absl::StrAppend(&text, after_document ? ": " : ".", (*it)->key_.substr(0, 200));
        break;
      case Kind::kElement:
        absl::StrAppend(&text, after_document ? ": [" : "[", (*it)->index_, "]");
        break;
    }
    after_document = (*it)->kind_ == Kind::kDocument;
  }
  return text;
}

absl::Status JsonRef::Error(std::string_view message) const {
  return absl::InvalidArgumentError(absl::StrCat(path->ToString(), ": ", message));
}

absl::StatusOr<int64_t> JsonRef::Int() const {
  int64_t result = 0;
  if (value.get(result) != simdjson::SUCCESS) return Mismatch(*this, "an integer");
  return result;
}

absl::StatusOr<bool> JsonRef::Bool() const {
  bool result = false;
  if (value.get(result) != simdjson::SUCCESS) return Mismatch(*this, "a boolean");
  return result;
}

absl::StatusOr<double> JsonRef::Double() const {
  double result = 0;
  if (value.get(result) == simdjson::SUCCESS) return result;  // Integers convert.
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return Mismatch(*this, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
}

absl::StatusOr<std::string_view> JsonRef::String() const {
  std::string_view result;
  if (value.get(result) != simdjson::SUCCESS) return Mismatch(*this, "a string");
  return result;
}

absl::StatusOr<simdjson::dom::array> JsonRef::Array() const {
  simdjson::dom::array result;
  if (value.get(result) != simdjson::SUCCESS) return Mismatch(*this, "an array");
  return result;
}

absl::StatusOr<simdjson::dom::object> JsonRef::Object() const {
  simdjson::dom::object result;
  if (value.get(result) != simdjson::SUCCESS) return Mismatch(*this, "an object");
  return result;
}

absl::Status ReadJsonFields(JsonRef ref, absl::Span<const JsonField> fields,
                            simdjson::dom::element* values, JsonPath* paths, bool* present) {
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::object object, ref.Object());
  for (size_t i = 0; i < fields.size(); ++i) {
    paths[i] = JsonPath(ref.path, fields[i].name);
    present[i] = false;
  }
  // Writers usually keep the table's order, so start searching after the last field found.
  size_t next = 0;
  for (const simdjson::dom::key_value_pair field : object) {
    for (size_t k = 0; k < fields.size(); ++k) {
      const size_t i = next + k < fields.size() ? next + k : next + k - fields.size();
      if (field.key != fields[i].name) continue;
      if (present[i]) return ref.Error(absl::StrCat("duplicate field '", field.key, "'"));
      present[i] = true;
      values[i] = field.value;
      next = i + 1;
      break;
    }
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].required && !present[i]) {
      return ref.Error(absl::StrCat("the field '", fields[i].name, "' is missing"));
    }
  }
  return absl::OkStatus();
}

absl::Status JsonUnion::Read(JsonRef ref) {
  ABSL_ASSIGN_OR_RETURN(const simdjson::dom::object object, ref.Object());
  size_t keys = 0;
  for (const simdjson::dom::key_value_pair field : object) {
    if (++keys > 1) break;
    tag_ = field.key;
    value_ = field.value;
  }
  if (keys != 1)
    return ref.Error(keys == 0 ? "a union without a tag" : "a union with more than one tag");
  path_ = JsonPath(ref.path, tag_);
  parent_ = ref.path;
  return absl::OkStatus();
}

absl::Status JsonUnion::UnknownTag(std::string_view expected) const {
  return JsonRef{value_, parent_}.Error(
      absl::StrCat("expected ", expected, ", found '", tag_.substr(0, 200), "'"));
}

absl::StatusOr<JsonDocument> JsonDocument::Parse(absl::Span<const std::byte> text,
                                                 std::string_view name, const JsonLimits& limits) {
  // simdjson uses 32-bit sizes.
  const uint64_t max_bytes = std::min<uint64_t>(limits.max_bytes, 0xfffffff0);
  if (text.size() > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        name, ": ", text.size(), " bytes of JSON, more than max_json_bytes = ", max_bytes));
  }
  JsonDocument document;
  document.state_ = std::make_unique<State>();
  document.state_->name = std::string(name);
  document.state_->path = JsonPath(document.state_->name);
  const std::string_view view = AsString(text);
  simdjson::error_code error = ParseInto(view, limits.max_depth, document.state_->document);
  if (error != simdjson::SUCCESS && error != simdjson::DEPTH_ERROR && error != simdjson::MEMALLOC) {
    const std::optional<std::string> plain = WithoutPythonNumbers(view);
    if (plain.has_value()) error = ParseInto(*plain, limits.max_depth, document.state_->document);
  }
  if (error == simdjson::DEPTH_ERROR) {
    return absl::ResourceExhaustedError(absl::StrCat(
        name, ": JSON that nests deeper than ", limits.max_depth, " levels (from max_nesting)"));
  }
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": no memory to parse ", text.size(), " bytes of JSON"));
  }
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": not valid JSON: ", simdjson::error_message(error)));
  }
  return document;
}

}  // namespace belay::exir
