#include "conformance/json/json.h"

#include <fstream>
#include <vector>

#include "absl/strings/str_split.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

absl::Status CheckFields(const Json& value, const Json& schema, const Json& fields,
                         const std::string& place) {
  Json all = fields;
  const std::string others = Text(fields, "...");
  for (const auto& other : absl::StrSplit(others, '|', absl::SkipEmpty())) {
    all.update(schema[std::string(other)]);
  }
  all.erase("...");
  for (const auto& [field, type] : all.items()) {
    const bool optional = field.ends_with('?');
    const std::string name = field.substr(0, field.size() - (optional ? 1 : 0));
    if (value.contains(name)) {
      ABSL_RETURN_IF_ERROR(
          CheckSchema(value[name], schema, Text(type), absl::StrCat(place, "/", name)));
    } else if (!optional) {
      return absl::InvalidArgumentError(absl::StrCat(place, "/", name, ": missing field"));
    }
  }
  for (const auto& [name, element] : value.items()) {
    if (all.contains(name) || all.contains(name + "?")) continue;
    return absl::InvalidArgumentError(absl::StrCat(place, "/", name, ": unknown field"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSchema(const Json& value, const Json& schema, std::string_view type,
                         const std::string& place) {
  absl::Status furthest;
  const std::vector<std::string> alternatives = absl::StrSplit(ToAbsl(type), '|');
  for (const std::string& each : alternatives) {
    const Json& named = Member(schema, each);
    absl::Status status;
    if (named.is_string()) {
      status = CheckSchema(value, schema, Text(named), place);
    } else if (named.is_object() && value.is_object()) {
      status = CheckFields(value, schema, named, place);
    } else if (each[0] == '[' ? value.is_array() : each[0] == '{' && value.is_object()) {
      for (const auto& [key, element] : value.items()) {
        if (!status.ok()) break;
        status = CheckSchema(element, schema, each.substr(1, each.size() - 2),
                             absl::StrCat(place, "/", key));
      }
    } else if (each != "any" && !(each == "integer" && value.is_number_integer()) &&
               each != value.type_name() && each != "=" + Text(value) &&
               each != "=" + value.dump()) {
      status = absl::InvalidArgumentError(
          absl::StrCat(place, ": expected ", type, ", got ", value.dump().substr(0, 200)));
    }
    if (status.ok()) return status;
    // Ranks how far an alternative matched. A mismatch of the value's own kind, or a missing field,
    // ranks lowest: another alternative may be the intended one.
    const auto distance = [&](const absl::Status& s) -> size_t {
      const std::string_view text = FromAbsl(s.message());
      const size_t length = text.find(": ");
      if (s.ok() || length == place.size()) return s.ok() ? 0 : 1;
      if (text.starts_with(place + "/kind: ")) return 2;
      return text.ends_with(": missing field") ? 3 : 4 + length;
    };
    if (distance(status) > distance(furthest)) furthest = status;
  }
  return furthest;
}

absl::StatusOr<Json> ReadJsonFile(const std::string& path) {
  std::ifstream file(path);
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a JSON document"));
  }
  return json;
}

const Json& Member(const Json& json, std::string_view key) {
  static const Json& null = *new Json;
  const auto it = json.is_object() ? json.find(key) : json.end();
  return it == json.end() ? null : *it;
}

std::string Text(const Json& json) { return json.is_string() ? json.get<std::string>() : ""; }

}  // namespace belay::conformance
