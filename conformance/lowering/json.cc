#include "conformance/lowering/json.h"

#include <fstream>
#include <set>
#include <utility>

#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

class Checker {
 public:
  explicit Checker(const Json& root) : root_(root) {}

  absl::Status Check(const Json& value, const Json& schema, const std::string& place) const {
    for (const auto& [keyword, rule] : schema.items()) {
      absl::Status status;
      if (keyword == "$ref") {
        status = Check(value, root_.at(Json::json_pointer(Text(rule).substr(1))), place);
      } else if (keyword == "type") {
        if (!HasType(value, Text(rule))) status = Expected(place, Text(rule), value);
      } else if (keyword == "const") {
        if (value != rule) status = Expected(place, rule.dump(), value);
      } else if (keyword == "enum") {
        const bool known = std::find(rule.begin(), rule.end(), value) != rule.end();
        if (!known) status = Expected(place, absl::StrCat("one of ", rule.dump()), value);
      } else if (keyword == "required") {
        for (const Json& key : rule) {
          if (!value.contains(key))
            status = Expected(place, absl::StrCat("a field ", key.dump()), value);
        }
      } else if (keyword == "properties") {
        for (const auto& [key, property] : rule.items()) {
          const bool there = status.ok() && value.is_object() && value.contains(key);
          if (there) status = Check(value[key], property, absl::StrCat(place, "/", key));
        }
      } else if (keyword == "additionalProperties") {
        for (const auto& [key, element] : Elements(value).items()) {
          if (!status.ok() || Member(schema, "properties").contains(key)) continue;
          const std::string inner = absl::StrCat(place, "/", key);
          status = rule == false
                       ? absl::InvalidArgumentError(absl::StrCat(inner, ": unknown field"))
                       : Check(element, rule, inner);
        }
      } else if (keyword == "items") {
        for (size_t i = 0; value.is_array() && i < value.size() && status.ok(); ++i) {
          status = Check(value[i], rule, absl::StrCat(place, "/", i));
        }
      } else if (keyword == "anyOf") {
        status = CheckAlternatives(value, rule, place);
      } else {
        status = absl::UnimplementedError(absl::StrCat("unknown keyword '", keyword, "'"));
      }
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Expected(const std::string& place, std::string_view what, const Json& value) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": expected ", what, ", got ", value.dump().substr(0, 200)));
  }

  static bool HasType(const Json& value, std::string_view type) {
    return type == "integer"  ? value.is_number_integer()
           : type == "number" ? value.is_number()
                              : type == value.type_name();
  }

  // The alternatives of the value's kind, if they have kinds. Fails with what the one says that
  // came furthest.
  absl::Status CheckAlternatives(const Json& value, const Json& rules,
                                 const std::string& place) const {
    absl::Status furthest;
    Json kinds = Json::array();
    for (const Json& rule : rules) {
      const std::string ref = Text(rule, "$ref");
      const Json& alternative = ref.empty() ? rule : root_.at(Json::json_pointer(ref.substr(1)));
      const Json& kind = Member(Member(alternative, "properties"), "kind");
      if (!kind.is_null() && !Check(Member(value, "kind"), kind, "").ok()) {
        kinds.push_back(kind);
        continue;
      }
      const absl::Status status = Check(value, alternative, place);
      if (status.ok()) return status;
      const auto depth = [](const absl::Status& s) { return s.message().find(": "); };
      if (furthest.ok() || depth(status) > depth(furthest)) furthest = status;
    }
    return furthest.ok() ? Expected(place + "/kind", kinds.dump(), Member(value, "kind"))
                         : furthest;
  }

  const Json& root_;
};

}  // namespace

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

absl::Status CheckSchema(const Json& value, const Json& schema, std::string_view definition) {
  return Checker(schema).Check(value, {{"$ref", absl::StrCat("#/$defs/", definition)}}, "");
}

}  // namespace belay::conformance
