#include "conformance/lowering/json.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using ::testing::HasSubstr;

const Json kSchema = Json::parse(R"({"$defs": {
  "list": {"type": "array", "items": {"$ref": "#/$defs/entry"}},
  "entry": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]},
  "a": {"type": "object", "additionalProperties": false, "required": ["kind", "n"],
        "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}},
  "b": {"type": "object", "additionalProperties": {"enum": ["b", "c"]}, "properties": {"kind": {"enum": ["b", "c"]}}},
  "broken": {"minItems": 3}}})");

TEST(CheckSchemaTest, SaysWhatIsWrongAndWhere) {
  EXPECT_OK(CheckSchema(Json::parse(R"([{"kind": "a", "n": 2}, {"kind": "b", "x": "c"}])"), kSchema,
                        "list"));
  const auto fails = [](const char* text, const char* message) {
    EXPECT_THAT(CheckSchema(Json::parse(text), kSchema, "list"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  };
  fails("{}", ": expected array, got {}");
  fails(R"([{"kind": "a", "n": 2}, {"kind": "a", "n": 2.0}])", "/1/n: expected integer, got 2.0");
  fails(R"([{"kind": "a"}])", "/0: expected a field \"n\"");
  fails(R"([{"kind": "a", "n": 2, "m": 3}])", "/0/m: unknown field");
  fails(R"([{"kind": "b", "x": "d"}])", R"(/0/x: expected one of ["b","c"], got "d")");
  fails(R"([{"kind": "d"}])", R"(/0/kind: expected)");
}

TEST(CheckSchemaTest, UnknownKeywordsAreNotPassedOver) {
  EXPECT_THAT(CheckSchema(Json::array(), kSchema, "broken"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("'minItems'")));
}

TEST(ReadJsonFileTest, ErrorsNameTheFile) {
  EXPECT_THAT(ReadJsonFile("/nonexistent/case.json"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/nonexistent/case.json")));
}

}  // namespace
}  // namespace belay::conformance
