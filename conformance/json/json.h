// Reads the JSON of the conformance cases and checks it against a schema.
//
// Uses nlohmann's library because the format needs two things that protobuf's JSON mapping loses:
// the order of methods and keyword arguments, and the distinction between 2 and 2.0 as an
// operator's argument.
#ifndef BELAY_CONFORMANCE_JSON_JSON_H_
#define BELAY_CONFORMANCE_JSON_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace belay::conformance {

using Json = nlohmann::ordered_json;

// kInvalidArgument, with the path: the file does not contain exactly one JSON document.
absl::StatusOr<Json> ReadJsonFile(const std::string& path);

// Returns the member `key`. Returns null, which has no elements, if it is missing or `json` is not
// an object.
const Json& Member(const Json& json, std::string_view key);
// Returns the string; "" if the value (or the member) is not a string.
std::string Text(const Json& json);
inline std::string Text(const Json& json, std::string_view key) { return Text(Member(json, key)); }

// Checks that `value` has a type. `schema` maps type names either to another type, or to an object
// with the type of each field. "field?" marks an optional field. Other fields are errors, except
// those of the objects listed under "...".
//   string integer boolean null any   the JSON types
//   =word                             this string (or `true`)
//   [type] {type}                     an array or an object of values of that type
//   type|type                         either
// kInvalidArgument: the path of the first mismatch, and the expected type. For alternatives, the
// error of the alternative that matched furthest.
absl::Status CheckSchema(const Json& value, const Json& schema, std::string_view type,
                         const std::string& place = "");

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_JSON_JSON_H_
