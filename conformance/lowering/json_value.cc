#include "conformance/lowering/json_value.h"

#include <simdjson.h>

#include <cstdio>

#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

Json Convert(simdjson::dom::element element) {
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY: {
      Json::Array array;
      simdjson::dom::array elements;
      if (element.get(elements) == simdjson::SUCCESS) {
        for (simdjson::dom::element child : elements) array.push_back(Convert(child));
      }
      return array;
    }
    case simdjson::dom::element_type::OBJECT: {
      Json::Object object;
      simdjson::dom::object fields;
      if (element.get(fields) == simdjson::SUCCESS) {
        for (simdjson::dom::key_value_pair field : fields) {
          object[std::string(field.key)] = Convert(field.value);
        }
      }
      return object;
    }
    case simdjson::dom::element_type::INT64: {
      int64_t value = 0;
      (void)element.get(value);
      return value;
    }
    case simdjson::dom::element_type::UINT64: {
      uint64_t value = 0;
      (void)element.get(value);
      return static_cast<double>(value);
    }
    case simdjson::dom::element_type::DOUBLE: {
      double value = 0;
      (void)element.get(value);
      return value;
    }
    case simdjson::dom::element_type::STRING: {
      std::string_view value;
      (void)element.get(value);
      return value;
    }
    case simdjson::dom::element_type::BOOL: {
      bool value = false;
      (void)element.get(value);
      return value;
    }
    case simdjson::dom::element_type::NULL_VALUE:
      break;
  }
  return Json();
}

}  // namespace

const Json& Json::operator[](std::string_view key) const {
  static const Json& null = *new Json;
  const Object* object = get_if<Object>();
  if (object == nullptr) return null;
  const auto it = object->find(key);
  return it == object->end() ? null : it->second;
}

bool Json::contains(std::string_view key) const {
  const Object* object = get_if<Object>();
  return object != nullptr && object->find(key) != object->end();
}

const std::string& Json::text() const {
  static const std::string& empty = *new std::string;
  const std::string* text = get_if<std::string>();
  return text == nullptr ? empty : *text;
}

const Json::Array& Json::array() const {
  static const Array& empty = *new Array;
  const Array* array = get_if<Array>();
  return array == nullptr ? empty : *array;
}

const Json::Object& Json::object() const {
  static const Object& empty = *new Object;
  const Object* object = get_if<Object>();
  return object == nullptr ? empty : *object;
}

int64_t Json::number() const {
  const int64_t* number = get_if<int64_t>();
  return number == nullptr ? 0 : *number;
}

std::string Json::Dump() const {
  if (const bool* v = get_if<bool>()) return *v ? "true" : "false";
  if (const int64_t* v = get_if<int64_t>()) return std::to_string(*v);
  if (const double* v = get_if<double>()) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.17g", *v);
    return text;
  }
  if (const std::string* v = get_if<std::string>()) return absl::StrCat("\"", *v, "\"");
  std::string text;
  if (const Array* v = get_if<Array>()) {
    for (const Json& element : *v) absl::StrAppend(&text, text.empty() ? "" : ",", element.Dump());
    return absl::StrCat("[", text, "]");
  }
  if (const Object* v = get_if<Object>()) {
    for (const auto& [key, element] : *v) {
      absl::StrAppend(&text, text.empty() ? "" : ",", "\"", key, "\":", element.Dump());
    }
    return absl::StrCat("{", text, "}");
  }
  return "null";
}

absl::StatusOr<Json> ParseJson(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  const simdjson::error_code error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(simdjson::error_message(error));
  }
  return Convert(root);
}

absl::StatusOr<Json> ReadJsonFile(const std::string& path) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  const simdjson::error_code error = parser.load(path).get(root);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", simdjson::error_message(error)));
  }
  return Convert(root);
}

absl::StatusOr<std::vector<std::string>> ReadKeys(const std::string& path,
                                                  std::string_view member) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const simdjson::error_code error = parser.load(path)[member].get(object);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", simdjson::error_message(error)));
  }
  std::vector<std::string> keys;
  for (simdjson::dom::key_value_pair field : object) keys.emplace_back(field.key);
  return keys;
}

std::string FirstDifference(const Json& expected, const Json& came, const std::string& where) {
  if (expected == came) return "";
  if (expected.get_if<Json::Object>() != nullptr && came.get_if<Json::Object>() != nullptr) {
    for (const auto& [key, value] : expected.object()) {
      std::string difference = FirstDifference(value, came[key], absl::StrCat(where, ".", key));
      if (!difference.empty()) return difference;
    }
    for (const auto& [key, value] : came.object()) {
      if (!expected.contains(key) && !value.is_null()) {
        return absl::StrCat(where, ".", key, ": expected nothing, came ", value.Dump());
      }
    }
    return "";
  }
  if (expected.get_if<Json::Array>() != nullptr && came.get_if<Json::Array>() != nullptr) {
    for (size_t i = 0; i < expected.array().size() && i < came.array().size(); ++i) {
      std::string difference =
          FirstDifference(expected.array()[i], came.array()[i], absl::StrCat(where, "[", i, "]"));
      if (!difference.empty()) return difference;
    }
    if (expected.array().size() == came.array().size()) return "";
  }
  return absl::StrCat(where, ": expected ", expected.Dump(), ", came ", came.Dump());
}

}  // namespace belay::conformance
