// JSON as the cases have it, described by a schema.
//
// nlohmann's library reads it, because the format needs what the JSON of Protocol Buffers loses: the
// order of methods and keyword arguments, and that 2 is not 2.0 as an operator's argument.
#ifndef BELAY_CONFORMANCE_JSON_JSON_H_
#define BELAY_CONFORMANCE_JSON_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace belay::conformance {

using Json = nlohmann::ordered_json;

// kInvalidArgument, with the path, when the file does not hold one JSON document.
absl::StatusOr<Json> ReadJsonFile(const std::string& path);

// The member; null, which has no elements, when there is none or `json` is no object.
const Json& Member(const Json& json, std::string_view key);
// The text; "" for another kind of value, or another kind of member.
std::string Text(const Json& json);
inline std::string Text(const Json& json, std::string_view key) { return Text(Member(json, key)); }

// Whether `value` is of a type. `schema` has the types that have names: another name for a type, or
// an object with the type of each field, where "field?" may be missing and no other may be there but
// those of the objects that "..." names.
//   string integer boolean null any   what they are called
//   =word                             this string (or `true`)
//   [type] {type}                     an array or an object of values of that type
//   type|type                         either
// kInvalidArgument: the place of the first value that is something else, and what was expected
// there; of alternatives, what the one says that came furthest.
absl::Status CheckSchema(const Json& value, const Json& schema, std::string_view type,
                         const std::string& place = "");

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_JSON_JSON_H_
