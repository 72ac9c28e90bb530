#include "exir/import/value_types.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

// Reads one JSON string. The document lives until the next call.
class ValueTypesTest : public ::testing::Test {
 protected:
  JsonRef Json(const std::string& text) {
    absl::StatusOr<JsonDocument> parsed = JsonDocument::Parse(ToStorage(text).bytes, "doc", {});
    EXPECT_OK(parsed);
    if (parsed.ok()) documents_.push_back(*std::move(parsed));
    return documents_.back().root();
  }
  std::vector<JsonDocument> documents_;
  ValueTypeReader reader_;
};

std::string Meta(const std::string& sizes, const std::string& strides, const std::string& more = "",
                 int dtype = 7) {
  return "{\"dtype\": " + std::to_string(dtype) + ", \"sizes\": " + sizes +
         ", \"strides\": " + strides + more + "}";
}

TEST_F(ValueTypesTest, ReadsSymbolicIntegersInBothNotations) {
  ASSERT_OK_AND_ASSIGN(const SymExpr number,
                       reader_.ReadSymInt(Json(R"({"as_int": 9223372036854775807})")));
  EXPECT_EQ(number.AsInt(), INT64_MAX);
  ASSERT_OK_AND_ASSIGN(
      const SymExpr srepr,
      reader_.ReadSymInt(Json(
          R"json({"as_expr": {"expr_str": "Mul(Integer(2), Symbol('s77', positive=True, integer=True))", "hint": {"as_int": 8}}})json")));
  ASSERT_OK_AND_ASSIGN(
      const SymExpr infix,
      reader_.ReadSymInt(Json(R"({"as_expr": {"expr_str": "2*s77", "hint": null}})")));
  EXPECT_EQ(srepr, infix);
  EXPECT_THAT(reader_.ReadSymInt(Json(R"({"as_bool": true})")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as_int or as_expr")));
  EXPECT_THAT(
      reader_.ReadSymInt(Json(R"json({"as_expr": {"expr_str": "2**("}})json")),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("as_expr.expr_str: expression")));
}

TEST_F(ValueTypesTest, ReportsPathOfMalformedSymbols) {
  const auto invalid = [](const std::string& text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  // For all kinds of symbolic numbers.
  const std::pair<std::string, std::string> kAll[] = {
      {"3", "doc: expected an object, found an integer"},
      {"{}", "doc: a union without a tag"},
      {R"({"as_none": true})", " or as_expr, found 'as_none'"},
      {R"({"as_expr": "s0"})", "doc: as_expr: expected an object"},
      {R"({"as_expr": {"hint": null}})", "doc: as_expr: the field 'expr_str' is missing"},
      {R"({"as_expr": {"expr_str": 3}})", "doc: as_expr.expr_str: expected a string"},
      {R"({"as_expr": {"expr_str": "s0", "hint": 3}})", "doc: as_expr.hint: expected an object"},
  };
  for (const auto& [text, message] : kAll) {
    EXPECT_THAT(reader_.ReadSymInt(Json(text)), invalid(message)) << text;
    EXPECT_THAT(reader_.ReadSymFloat(Json(text)), invalid(message)) << text;
    EXPECT_THAT(reader_.ReadSymBool(Json(text)), invalid(message)) << text;
  }
  EXPECT_THAT(reader_.ReadSymInt(Json(R"({"as_int": 0.5})")), invalid("as_int: expected an int"));
  EXPECT_THAT(reader_.ReadSymFloat(Json(R"({"as_float": "1"})")), invalid("as_float: expected a"));
  EXPECT_THAT(reader_.ReadSymBool(Json(R"({"as_bool": 1})")), invalid("as_bool: expected a bool"));
}

TEST_F(ValueTypesTest, IgnoresHintsOfOtherKinds) {
  for (const char* hint : {R"({"as_float": 1.5})", R"({"as_bool": true})", "null"}) {
    ASSERT_OK_AND_ASSIGN(
        const SymExpr symbol,
        reader_.ReadSymInt(
            Json(std::string(R"({"as_expr": {"expr_str": "s7", "hint": )") + hint + "}}")));
    EXPECT_EQ(symbol, SymExpr::Symbol("s7"));
  }
  EXPECT_TRUE(reader_.hints().empty());
}

TEST_F(ValueTypesTest, CollectsHintsOfBareSymbols) {
  ASSERT_OK(reader_.ReadSymInt(Json(R"({"as_expr": {"expr_str": "s0", "hint": {"as_int": 4}}})"))
                .status());
  ASSERT_OK(reader_.ReadSymInt(Json(R"({"as_expr": {"expr_str": "2*s1", "hint": {"as_int": 6}}})"))
                .status());
  ASSERT_OK(reader_.ReadSymInt(Json(R"({"as_expr": {"expr_str": "u0"}})")).status());
  ASSERT_OK(reader_
                .ReadSymInt(Json(
                    R"({"as_expr": {"expr_str": "s2", "hint": {"as_int": 36893488147419103232}}})"))
                .status());
  EXPECT_THAT(reader_.hints(), ::testing::ElementsAre(::testing::Pair("s0", 4)));
}

TEST_F(ValueTypesTest, ReadsSymbolicFloatsAndBooleans) {
  ASSERT_OK_AND_ASSIGN(const SymExpr number, reader_.ReadSymFloat(Json(R"({"as_float": 1})")));
  EXPECT_EQ(number.AsFloat(), 1.0);
  ASSERT_OK_AND_ASSIGN(const SymExpr symbol,
                       reader_.ReadSymFloat(Json(R"({"as_expr": {"expr_str": "zf0"}})")));
  EXPECT_EQ(symbol, SymExpr::Symbol("zf0"));
  ASSERT_OK_AND_ASSIGN(const SymExpr yes, reader_.ReadSymBool(Json(R"({"as_bool": true})")));
  EXPECT_EQ(yes.AsBool(), true);
  ASSERT_OK(
      reader_
          .ReadSymBool(Json(
              R"json({"as_expr": {"expr_str": "GreaterThan(Symbol('u0', integer=True), Integer(0))"}})json"))
          .status());
  EXPECT_THAT(reader_.ReadSymFloat(Json(R"({"as_int": 1})")),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(reader_.ReadSymBool(Json(R"({"as_bool": 1})")),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ValueTypesTest, ReadsTensorMetas) {
  ASSERT_OK_AND_ASSIGN(const TensorMetaReading reading,
                       reader_.ReadTensorMeta(Json(
                           Meta(R"([{"as_int": 2}, {"as_expr": {"expr_str": "s0"}}])",
                                R"([{"as_int": 1}, {"as_int": 2}])",
                                R"(, "requires_grad": true, "device": {"type": "cuda", "index": 1},
                                            "storage_offset": {"as_int": 5}, "layout": 7)",
                                13))));
  EXPECT_EQ(reading.problem, "");
  EXPECT_EQ(reading.meta.dtype, DType::kBFloat16);
  EXPECT_EQ(reading.meta.sizes[1], SymExpr::Symbol("s0"));
  EXPECT_EQ(reading.meta.strides[1].AsInt(), 2);
  EXPECT_EQ(reading.meta.storage_offset.AsInt(), 5);
  EXPECT_EQ(reading.meta.device, (Device{"cuda", 1}));
  EXPECT_TRUE(reading.meta.requires_grad);
}

TEST_F(ValueTypesTest, FieldsMissingInOldArchivesHaveDefaults) {
  ASSERT_OK_AND_ASSIGN(const TensorMetaReading reading,
                       reader_.ReadTensorMeta(Json(Meta("[]", "[]"))));
  EXPECT_EQ(reading.meta, TensorMeta::Contiguous(DType::kFloat32, {}));
}

TEST_F(ValueTypesTest, ReportsUnsupportedTensors) {
  ASSERT_OK_AND_ASSIGN(const TensorMetaReading dtype,
                       reader_.ReadTensorMeta(Json(Meta("[]", "[]", "", 99))));
  EXPECT_EQ(dtype.problem, "a tensor of dtype number 99");
  EXPECT_FALSE(dtype.only_use_matters);
  const std::pair<int, std::string> kLayouts[] = {
      {0, "unknown"},    {1, "sparse_coo"}, {2, "sparse_csr"}, {3, "sparse_csc"},
      {4, "sparse_bsr"}, {5, "sparse_bsc"}, {6, "_mkldnn"}};
  for (const auto& [number, name] : kLayouts) {
    ASSERT_OK_AND_ASSIGN(
        const TensorMetaReading sparse,
        reader_.ReadTensorMeta(Json(Meta("[]", "[]", ", \"layout\": " + std::to_string(number)))));
    EXPECT_EQ(sparse.problem, "a tensor of layout " + name);
    EXPECT_TRUE(sparse.only_use_matters);
  }
  // Of several problems, reports the one that is always an error.
  ASSERT_OK_AND_ASSIGN(const TensorMetaReading both,
                       reader_.ReadTensorMeta(Json(Meta("[]", "[]", ", \"layout\": 2", 99))));
  EXPECT_EQ(both.problem, "a tensor of dtype number 99");
  EXPECT_FALSE(both.only_use_matters);
  ASSERT_OK_AND_ASSIGN(const TensorMetaReading deep,
                       reader_.ReadTensorMeta(Json(MetaJson(std::vector<int64_t>(17, 1)))));
  EXPECT_THAT(deep.problem, HasSubstr("17 dimensions"));
}

TEST_F(ValueTypesTest, RejectsMalformedTensorMetas) {
  const auto invalid = [](std::string_view text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(text)));
  };
  EXPECT_THAT(reader_.ReadTensorMeta(Json(Meta(R"([{"as_int": -1}])", R"([{"as_int": 1}])"))),
              invalid("-1 is negative"));
  EXPECT_THAT(reader_.ReadTensorMeta(Json(Meta(R"([{"as_int": 1}])", "[]"))),
              invalid("1 sizes, but 0 strides"));
  EXPECT_THAT(
      reader_.ReadTensorMeta(Json(Meta(R"([{"as_int": 4294967296}, {"as_int": 4294967296}])",
                                       R"([{"as_int": 1}, {"as_int": 1}])"))),
      invalid("exceeds int64"));
  EXPECT_THAT(
      reader_.ReadTensorMeta(Json(Meta(R"([{"as_expr": {"expr_str": "s0"}}, {"as_int": -1}])",
                                       R"([{"as_int": 1}, {"as_int": 1}])"))),
      invalid("-1 is negative"));
  EXPECT_THAT(
      reader_.ReadTensorMeta(Json(Meta("[]", "[]", R"(, "storage_offset": {"as_int": -4})"))),
      invalid("offset is negative"));
  EXPECT_THAT(reader_.ReadTensorMeta(Json(Meta("[]", "[]", R"(, "layout": 8)"))),
              invalid("number 8"));
  EXPECT_THAT(reader_.ReadTensorMeta(Json(Meta("[]", "[]", R"(, "device": {"type": "a b"})"))),
              invalid("device type"));
  EXPECT_THAT(reader_.ReadTensorMeta(Json(R"({"dtype": 7, "sizes": []})")),
              invalid("'strides' is missing"));
  EXPECT_THAT(reader_.ReadTensorMeta(Json(R"({"dtype": "FLOAT", "sizes": [], "strides": []})")),
              invalid("expected an integer"));
}

TEST_F(ValueTypesTest, ReportsPathOfMalformedTensorFields) {
  const std::pair<std::string, std::string> kMetas[] = {
      {"3", "doc: expected an object"},
      {Meta("{}", "[]"), "doc: sizes: expected an array"},
      {Meta("[3]", "[]"), "doc: sizes[0]: expected an object"},
      {Meta("[]", R"([{"as_int": "1"}])"), "doc: strides[0].as_int: expected an integer"},
      {Meta("[]", "[]", R"(, "requires_grad": 1)"), "doc: requires_grad: expected a boolean"},
      {Meta("[]", "[]", R"(, "device": "cpu")"), "doc: device: expected an object"},
      {Meta("[]", "[]", R"(, "storage_offset": 3)"), "doc: storage_offset: expected an object"},
      {Meta("[]", "[]", R"(, "layout": "strided")"), "doc: layout: expected an integer"},
  };
  for (const auto& [text, message] : kMetas) {
    EXPECT_THAT(reader_.ReadTensorMeta(Json(text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  }
}

TEST_F(ValueTypesTest, RejectsInvalidDeviceTypes) {
  const auto device = [&](const std::string& type) {
    return ReadDevice(Json(R"({"type": ")" + type + R"(", "index": null})"));
  };
  for (const std::string& type : {std::string("cpu"), std::string("az09_"), std::string(64, 'x')}) {
    ASSERT_OK_AND_ASSIGN(const Device read, device(type));
    EXPECT_EQ(read, (Device{type, std::nullopt}));
  }
  // Includes the characters adjacent to the permitted ranges.
  for (const std::string& type : {std::string(), std::string(65, 'x'), std::string("a{"),
                                  std::string("`a"), std::string("a/"), std::string("a:"),
                                  std::string("CPU"), std::string("cuda:0"), std::string("_-")}) {
    EXPECT_THAT(device(type), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("doc: type: not the name of a device type")))
        << type;
  }
  EXPECT_THAT(ReadDevice(Json(R"({"type": 3})")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("type: expected a string")));
  EXPECT_THAT(ReadDevice(Json(R"({"type": "cpu", "index": "0"})")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("index: expected an int")));
}

TEST_F(ValueTypesTest, ReadsEnumerations) {
  EXPECT_EQ(*ReadLayout(Json("7")), Layout::kStrided);
  EXPECT_EQ(*ReadMemoryFormat(Json("2")), MemoryFormat::kChannelsLast);
  EXPECT_THAT(ReadMemoryFormat(Json("0")), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadMemoryFormat(Json("5")), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadMemoryFormat(Json("\"preserve\"")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected an integer")));
  EXPECT_THAT(ReadLayout(Json("-1")), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace belay::exir
