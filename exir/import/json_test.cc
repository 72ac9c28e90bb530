#include "exir/import/json.h"

#include <cmath>
#include <limits>
#include <string>

#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;

absl::StatusOr<JsonDocument> Parse(std::string_view text, const JsonLimits& limits = {}) {
  const Storage storage = ToStorage(std::string(text));
  return JsonDocument::Parse(storage.bytes, "doc", limits);
}

constexpr JsonField kFields[] = {{"name"}, {"index", false}};

TEST(JsonTest, ReadsNumbersExactly) {
  ASSERT_OK_AND_ASSIGN(
      const JsonDocument document,
      Parse("[9223372036854775807, -9223372036854775808, 9007199254740993, 0.1, 1, 1e3]"));
  std::vector<int64_t> ints;
  std::vector<double> doubles;
  EXPECT_OK(ForEachElement(document.root(), [&](JsonRef item) -> absl::Status {
    if (const absl::StatusOr<int64_t> i = item.Int(); i.ok()) ints.push_back(*i);
    ABSL_ASSIGN_OR_RETURN(const double d, item.Double());
    doubles.push_back(d);
    return absl::OkStatus();
  }));
  EXPECT_THAT(ints,
              ::testing::ElementsAre(std::numeric_limits<int64_t>::max(),
                                     std::numeric_limits<int64_t>::min(), 9007199254740993, 1));
  EXPECT_EQ(doubles[3], 0.1);
  EXPECT_EQ(doubles[4], 1.0);
  EXPECT_EQ(doubles[5], 1000.0);
}

TEST(JsonTest, ReadsNanAndInfinityInBothNotations) {
  for (const char* text : {R"({"a \"NaN": [NaN, Infinity, -Infinity]})",
                           R"({"a \"NaN": ["NaN", "Infinity", "-Infinity"]})"}) {
    ASSERT_OK_AND_ASSIGN(const JsonDocument document, Parse(text));
    std::vector<double> values;
    EXPECT_OK(ForEachField(document.root(), [&](std::string_view key, JsonRef list) {
      EXPECT_EQ(key, "a \"NaN");
      return ForEachElement(list, [&](JsonRef item) -> absl::Status {
        ABSL_ASSIGN_OR_RETURN(const double value, item.Double());
        values.push_back(value);
        return absl::OkStatus();
      });
    }));
    ASSERT_EQ(values.size(), 3u);
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_EQ(values[1], std::numeric_limits<double>::infinity());
    EXPECT_EQ(values[2], -std::numeric_limits<double>::infinity());
  }
}

TEST(JsonTest, IntegersBeyond64BitsBecomeDoubles) {
  const std::string long_number(400, '7');
  ASSERT_OK_AND_ASSIGN(
      const JsonDocument document,
      Parse("{\"18446744073709551616 \\\" 18446744073709551616\": [18446744073709551616, "
            "-9223372036854775809,9223372036854775807, -9223372036854775808, "
            "18446744073709551615, 0.5,\n123456789012345678901.5e-3, NaN, 1E30, " +
            long_number + ",-" + long_number + "]}"));
  std::vector<double> values;
  int ints = 0;
  EXPECT_OK(ForEachField(document.root(), [&](std::string_view key, JsonRef list) {
    EXPECT_EQ(key, "18446744073709551616 \" 18446744073709551616");
    return ForEachElement(list, [&](JsonRef item) -> absl::Status {
      ints += item.Int().ok();
      ABSL_ASSIGN_OR_RETURN(const double value, item.Double());
      values.push_back(value);
      return absl::OkStatus();
    });
  }));
  ASSERT_EQ(values.size(), 11u);
  EXPECT_EQ(ints, 2);
  EXPECT_EQ(values[0], 18446744073709551616.0);
  ASSERT_OK_AND_ASSIGN(const JsonDocument number, Parse("18446744073709551616"));
  EXPECT_THAT(number.root().Int(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected an integer, found a number beyond int64")));
  EXPECT_EQ(values[1], -9223372036854775808.0);
  EXPECT_EQ(values[5], 0.5);
  EXPECT_EQ(values[6], 123456789012345678901.5e-3);
  EXPECT_TRUE(std::isnan(values[7]));
  EXPECT_EQ(values[8], 1e30);
  EXPECT_EQ(values[9], std::numeric_limits<double>::infinity());
  EXPECT_EQ(values[10], -std::numeric_limits<double>::infinity());
}

TEST(JsonTest, BareConstantsDoNotExcuseOtherErrors) {
  EXPECT_THAT(Parse("[NaN,]"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("doc: not valid JSON")));
  EXPECT_THAT(Parse("[Nan]"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Parse("[\"\\"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(JsonTest, RejectsInvalidJson) {
  for (const char* text :
       {"", " ", "{", "[1,]", "{\"a\":}", "[1] 2", "\xff\xfe", "[\"\xff\"]", "{'a': 1}", "[01]",
        "[1234567890123456789012,]", "[01234567890123456789012]", "[-]",
        "[123456789012345678901234x]", "[1e999]"}) {
    EXPECT_THAT(Parse(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
}

TEST(JsonTest, ErrorsReportPath) {
  ASSERT_OK_AND_ASSIGN(const JsonDocument document,
                       Parse(R"({"graph": {"nodes": [1, {"arg": "x"}]}})"));
  const absl::Status status = ForEachField(document.root(), [](std::string_view, JsonRef graph) {
    return ForEachField(graph, [](std::string_view, JsonRef nodes) {
      return ForEachElement(nodes, [](JsonRef node) -> absl::Status {
        if (!node.Object().ok()) return absl::OkStatus();
        return ForEachField(node, [](std::string_view, JsonRef arg) { return arg.Int().status(); });
      });
    });
  });
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StrEq("doc: graph.nodes[1].arg: expected an integer, found a string")));
}

TEST(JsonTest, RejectsWrongKinds) {
  ASSERT_OK_AND_ASSIGN(const JsonDocument document,
                       Parse(R"([true, 1, 1.5, "1", null, [], {}, 18446744073709551615])"));
  int ints = 0, bools = 0, doubles = 0, strings = 0, arrays = 0, objects = 0;
  EXPECT_OK(ForEachElement(document.root(), [&](JsonRef item) {
    ints += item.Int().ok();
    bools += item.Bool().ok();
    doubles += item.Double().ok();
    strings += item.String().ok();
    arrays += item.Array().ok();
    objects += item.Object().ok();
    return absl::OkStatus();
  }));
  EXPECT_EQ(ints, 1);
  EXPECT_EQ(bools, 1);
  EXPECT_EQ(doubles, 3);
  EXPECT_EQ(strings, 1);
  EXPECT_EQ(arrays, 1);
  EXPECT_EQ(objects, 1);
}

TEST(JsonTest, StructsAcceptUnknownFieldsAndOptionalNulls) {
  ASSERT_OK_AND_ASSIGN(const JsonDocument document,
                       Parse(R"({"new": [1], "index": null, "name": "n", "new": 2})"));
  JsonStruct<2> s;
  ASSERT_OK(s.Read(document.root(), kFields));
  EXPECT_TRUE(s.has(0));
  EXPECT_FALSE(s.has(1));
  EXPECT_EQ(*s[0].String(), "n");
  EXPECT_THAT(s[0].Int(), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("doc: name: expected an integer")));
}

TEST(JsonTest, StructsRejectMissingAndRepeatedFields) {
  JsonStruct<2> s;
  ASSERT_OK_AND_ASSIGN(const JsonDocument missing, Parse(R"({"index": 1})"));
  EXPECT_THAT(s.Read(missing.root(), kFields),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'name' is missing")));
  ASSERT_OK_AND_ASSIGN(const JsonDocument repeated,
                       Parse(R"({"name": "a", "index": 1, "name": "b"})"));
  EXPECT_THAT(s.Read(repeated.root(), kFields),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("duplicate field 'name'")));
  ASSERT_OK_AND_ASSIGN(const JsonDocument list, Parse("[]"));
  EXPECT_THAT(s.Read(list.root(), kFields),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("an object, found an array")));
}

TEST(JsonTest, UnionsHaveExactlyOneTag) {
  JsonUnion u;
  ASSERT_OK_AND_ASSIGN(const JsonDocument one, Parse(R"({"as_int": 3})"));
  ASSERT_OK(u.Read(one.root()));
  EXPECT_EQ(u.tag(), "as_int");
  EXPECT_EQ(*u.value().Int(), 3);
  EXPECT_THAT(u.UnknownTag("as_name"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("expected as_name, found 'as_int'")));
  ASSERT_OK_AND_ASSIGN(const JsonDocument none, Parse("{}"));
  EXPECT_THAT(u.Read(none.root()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without a tag")));
  ASSERT_OK_AND_ASSIGN(const JsonDocument two, Parse(R"({"as_int": 3, "as_name": null})"));
  EXPECT_THAT(u.Read(two.root()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than one tag")));
}

TEST(JsonTest, RespectsLimits) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_OK(Parse(deep, {.max_depth = 101}));
  EXPECT_THAT(Parse(deep, {.max_depth = 50}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_nesting")));
  EXPECT_THAT(Parse("[1, 2]", {.max_bytes = 5}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_json_bytes")));
}

}  // namespace
}  // namespace belay::exir
