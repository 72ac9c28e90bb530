#include "exir/import/value_types.h"

#include <optional>
#include <string>

#include "exir/import/testing/archive.h"
#include "exir/import/testing/zip_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

// Reads one JSON text. The document lives until the next call.
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

TEST_F(ValueTypesTest, ReadsSymbolicIntegersInBothSpellings) {
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

TEST_F(ValueTypesTest, MissingFieldsThatOldArchivesLackHaveDefaults) {
  ASSERT_OK_AND_ASSIGN(const TensorMetaReading reading,
                       reader_.ReadTensorMeta(Json(Meta("[]", "[]"))));
  EXPECT_EQ(reading.meta, TensorMeta::Contiguous(DType::kFloat32, {}));
}

TEST_F(ValueTypesTest, SaysWhichTensorsAreNotSupported) {
  ASSERT_OK_AND_ASSIGN(const TensorMetaReading dtype,
                       reader_.ReadTensorMeta(Json(Meta("[]", "[]", "", 99))));
  EXPECT_EQ(dtype.problem, "a tensor of dtype number 99");
  EXPECT_FALSE(dtype.only_use_matters);
  ASSERT_OK_AND_ASSIGN(const TensorMetaReading sparse,
                       reader_.ReadTensorMeta(Json(Meta("[]", "[]", ", \"layout\": 2"))));
  EXPECT_EQ(sparse.problem, "a tensor of layout sparse_csr");
  EXPECT_TRUE(sparse.only_use_matters);
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

TEST_F(ValueTypesTest, ReadsEnumerations) {
  EXPECT_EQ(*ReadScalarType(Json("12")), DType::kBool);
  EXPECT_EQ(*ReadScalarType(Json("0")), std::nullopt);
  EXPECT_EQ(*ReadLayout(Json("7")), Layout::kStrided);
  EXPECT_EQ(*ReadMemoryFormat(Json("2")), MemoryFormat::kChannelsLast);
  EXPECT_THAT(ReadMemoryFormat(Json("0")), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadMemoryFormat(Json("5")), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadLayout(Json("-1")), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace belay::exir
