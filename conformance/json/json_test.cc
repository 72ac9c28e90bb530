#include "conformance/json/json.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using ::testing::HasSubstr;

const Json kSchema = Json::parse(R"({
  "list": "[entry]", "entry": "a|b|null",
  "a": {"kind": "=a", "...": "c", "names?": "{string}"}, "c": {"n": "integer"},
  "b": {"kind": "=b|=c", "x?": "any", "y?": "boolean|=auto"}})");

TEST(CheckSchemaTest, ReportsPathAndExpectedType) {
  EXPECT_OK(CheckSchema(Json::parse(R"([{"kind": "a", "n": 2, "names": {"v": "w"}}, null,
                                        {"kind": "c", "x": [1.5], "y": "auto"}])"),
                        kSchema, "list"));
  const auto fails = [](const char* text, const char* message) {
    EXPECT_THAT(CheckSchema(Json::parse(text), kSchema, "list"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  };
  fails("{}", ": expected [entry], got {}");
  fails(R"([{"kind": "a", "n": 2}, {"kind": "a", "n": 2.0}])", "/1/n: expected integer, got 2.0");
  fails(R"([{"kind": "a"}])", "/0/n: missing field");
  fails(R"([{"kind": "a", "n": 2, "m": 3}])", "/0/m: unknown field");
  fails(R"([{"kind": "a", "n": 2, "names": {"v": 3}}])", "/0/names/v: expected string, got 3");
  fails(R"([{"kind": "b", "y": "d"}])", R"(/0/y: expected boolean|=auto, got "d")");
  fails(R"([{"kind": "d"}])", R"(/0/kind: expected)");
  fails("[3]", "/0: expected a|b|null, got 3");
}

TEST(ReadJsonFileTest, ErrorsNameTheFile) {
  EXPECT_THAT(ReadJsonFile("/nonexistent/case.json"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/nonexistent/case.json")));
}

}  // namespace
}  // namespace belay::conformance
