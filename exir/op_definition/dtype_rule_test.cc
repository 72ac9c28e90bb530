#include "exir/op_definition/dtype_rule.h"

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

constexpr std::string_view kAdd =
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
constexpr std::string_view kMax =
    "aten::max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)";
constexpr std::string_view kNorm =
    "aten::n(Tensor input, Tensor? weight, Tensor[] rest, Tensor?[] more) -> (Tensor, Tensor)";

absl::StatusOr<DTypeRule> Rule(std::string_view schema_text, std::string_view text) {
  absl::StatusOr<FunctionSchema> schema = FunctionSchema::Parse(schema_text);
  EXPECT_TRUE(schema.ok()) << schema.status();
  return DTypeRule::Create(*schema, text);
}

TEST(DTypeRuleTest, TensorsOfOneAliasHaveOneDtype) {
  ASSERT_OK_AND_ASSIGN(const DTypeRule rule, Rule(kAdd, "self:A other:A ->:A  A=real"));
  EXPECT_OK(
      rule.Validate({{"self", DType::kInt8}, {"other", DType::kInt8}, {"__ret_0", DType::kInt8}}));
  EXPECT_THAT(
      rule.Validate({{"self", DType::kInt8}, {"other", DType::kInt16}, {"__ret_0", DType::kInt8}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::HasSubstr(
                   "'other': expected int8, got int16 (self int8, other int16, result int8)")));
  // A dtype that no row has is named before those that depend on it.
  EXPECT_THAT(
      rule.Validate(
          {{"self", DType::kComplex64}, {"other", DType::kInt8}, {"__ret_0", DType::kComplex64}}),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          ::testing::AllOf(::testing::HasSubstr("'self': expected "),
                           ::testing::HasSubstr(
                               ", got complex64 (self complex64, other int8, result complex64)"))));

  EXPECT_FALSE(rule.Validate({{"self", DType::kComplex64},
                              {"other", DType::kComplex64},
                              {"__ret_0", DType::kComplex64}})
                   .ok());
}

TEST(DTypeRuleTest, SomeRowMustAccept) {
  ASSERT_OK_AND_ASSIGN(
      const DTypeRule rule,
      Rule(kAdd, "self:A other:A ->:A A=float | self:I other:I ->:F I=int+bool F={f32}"));
  EXPECT_EQ(rule.rows().size(), 2u);
  EXPECT_TRUE(rule.Accepts({DType::kFloat16, DType::kFloat16, DType::kFloat16}));
  EXPECT_TRUE(rule.Accepts({DType::kInt64, DType::kInt64, DType::kFloat32}));
  EXPECT_FALSE(rule.Accepts({DType::kInt64, DType::kInt64, DType::kInt64}));
  EXPECT_FALSE(rule.Accepts({DType::kFloat32, DType::kFloat32}));
  EXPECT_THAT(
      rule.Validate(
          {{"self", DType::kFloat16}, {"other", DType::kInt8}, {"__ret_0", DType::kFloat64}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::HasSubstr("these dtypes are not supported together: self "
                                    "float16, other int8, result float64")));
}

TEST(DTypeRuleTest, ReturnsHaveNamesAndPositions) {
  for (std::string_view text :
       {"self:A ->values:A ->indices:{i64} A=any", "self:A ->0:A ->1:{i64} A=any"}) {
    ASSERT_OK_AND_ASSIGN(const DTypeRule rule, Rule(kMax, text));
    EXPECT_OK(rule.Validate(
        {{"self", DType::kBool}, {"values", DType::kBool}, {"indices", DType::kInt64}}));
    EXPECT_OK(rule.Validate(
        {{"self", DType::kBool}, {"__ret_0", DType::kBool}, {"__ret_1", DType::kInt64}}));
    EXPECT_FALSE(
        rule.Validate(
                {{"self", DType::kBool}, {"values", DType::kBool}, {"indices", DType::kInt32}})
            .ok());
  }
}

TEST(DTypeRuleTest, OnlyOptionalTensorsMayBeMissing) {
  ASSERT_OK_AND_ASSIGN(const DTypeRule rule,
                       Rule(kNorm, "input:A weight:A rest:A more:A ->0:A ->1:A A=float"));
  const DType f = DType::kFloat32;
  EXPECT_OK(rule.Validate({{"input", f}, {"rest", std::nullopt}, {"__ret_0", f}, {"__ret_1", f}}));
  EXPECT_OK(rule.Validate(
      {{"input", f}, {"weight", std::nullopt}, {"rest", f}, {"__ret_0", f}, {"__ret_1", f}}));
  EXPECT_FALSE(rule.Validate({{"input", f}, {"__ret_0", f}, {"__ret_1", f}}).ok());
  EXPECT_FALSE(rule.Validate({{"input", f}, {"rest", f}, {"__ret_0", f}}).ok());
  EXPECT_FALSE(
      rule.Validate({{"input", f}, {"rest", f}, {"dim", f}, {"__ret_0", f}, {"__ret_1", f}}).ok());
  EXPECT_FALSE(
      rule.Validate({{"input", f}, {"input", f}, {"rest", f}, {"__ret_0", f}, {"__ret_1", f}})
          .ok());
}

TEST(DTypeRuleTest, EmptyRuleAcceptsAllLegalDtypes) {
  ASSERT_OK_AND_ASSIGN(const DTypeRule rule, Rule(kMax, ""));
  int legal = 0;
  for (int i = 1; i < kNumDTypes; ++i) {
    legal += rule.Accepts({static_cast<DType>(i), DType::kUint16, DType::kComplex128}) ? 1 : 0;
  }
  EXPECT_EQ(legal, 13);
  EXPECT_FALSE(rule.Accepts({DType::kUint32, DType::kInt8, DType::kInt8}));
  EXPECT_FALSE(rule.Accepts({DType::kFloat8E5M2, DType::kInt8, DType::kInt8}));
}

// Counterpart of reduce_to and clear of upstream's AllowedDtypeSet.
TEST(DTypeRuleTest, GivenDtypesNarrowTheOthers) {
  ASSERT_OK_AND_ASSIGN(const FunctionSchema schema,
                       FunctionSchema::Parse("aten::f(Tensor self, Tensor? other) -> Tensor"));
  ASSERT_OK_AND_ASSIGN(
      const DTypeRule rule,
      DTypeRule::Create(schema, "self:A other:A ->:A A=float | self:A other:{i64} ->:A A=int"));
  const auto allowed = [&](std::string_view name, std::vector<DTypeRule::NamedDType> given) {
    absl::StatusOr<DTypeSet> set = rule.Allowed(name, given);
    EXPECT_TRUE(set.ok()) << set.status();
    return *set;
  };
  EXPECT_EQ(allowed("self", {}), kFloatTypes | kIntegralTypes);
  EXPECT_EQ(allowed("other", {}), kFloatTypes | DTypeSet{DType::kInt64});
  EXPECT_EQ(allowed("other", {{"self", DType::kFloat16}}), DTypeSet{DType::kFloat16});
  EXPECT_EQ(allowed("__ret_0", {{"other", DType::kInt64}}), kIntegralTypes);
  EXPECT_EQ(allowed("self", {{"other", DType::kBool}}), DTypeSet());
  EXPECT_EQ(allowed("other", {{"self", std::nullopt}}), kFloatTypes | DTypeSet{DType::kInt64});
  EXPECT_THAT(rule.Allowed("nope"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(rule.Allowed("self", {{"nope", DType::kBool}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("aten::f.default has no tensor 'nope'")));
}

TEST(DTypeRuleTest, ErrorsNameTheCause) {
  const struct {
    std::string_view rule, message;
  } kRefused[] = {
      {"self:A ->values:A ->indices:A A=reals", "'reals' is not a set: expected any"},
      {"self:A ->values:A ->indices:A A={f33}", "'f33' is not a dtype"},
      {"self:A ->:A A=any", "'->' is one of several tensor returns: give its position"},
      {"other:A ->0:A ->1:A A=any", "'other' is not a tensor of the schema"},
      {"self:A ->2:A ->1:A A=any", "'->2' is not a tensor of the schema"},
      {"self:A self:A ->0:A ->1:A A=any", "'self' is bound twice in a row"},
      {"self:A ->0:A ->1:A a=any", "'a' is not an alias"},
      {"self:A ->0:A ->1:A A=", "an empty set"},
      {"self: ->0:A ->1:A A=any", "an empty set"},
      {"self:{f32 ->0:A ->1:A A=any", "'{f32' is not a set"},
      {"self:{} ->0:A ->1:A A=any", "'{}' is not a set"},
      {"self:{f99} ->0:A ->1:A A=any", "'f99' is not a dtype"},
      {"self:1 ->0:A ->1:A A=any", "'1' is not a set"},
      {"self:A_b ->0:A ->1:A A=any", "'A_b' is not a set"},
      {"self:A ->0:A ->1:A =any", "'' is not an alias"},
      {"self:A ->0:A ->1:A", "alias A has no set"},
      {"self:A ->0:A ->1:A A=int A=real", "alias A has two sets"},
      {"self:A ->0:A A=int", "a row leaves out 'indices'"},
      {"self:A ->0:A ->1:A int", "'int': expected name:Alias or Alias=set"},
  };
  for (const auto& [rule, message] : kRefused) {
    EXPECT_THAT(Rule(kMax, rule), StatusIs(absl::StatusCode::kInvalidArgument,
                                           ::testing::HasSubstr(std::string(message))));
  }
}

TEST(DTypeRuleTest, PrintsParsedRules) {
  ASSERT_OK_AND_ASSIGN(const DTypeRule rule,
                       Rule(kMax, "self:A ->values:A ->indices:{i64,i32} A=float+bool"));
  const std::string text = rule.ToString();
  EXPECT_EQ(text, "self:T0 ->values:T0 ->indices:T1 T0={f16,f32,f64,b8,bf16} T1={i32,i64}");
  ASSERT_OK_AND_ASSIGN(const DTypeRule again, Rule(kMax, text));
  EXPECT_EQ(again.ToString(), text);
  ASSERT_OK_AND_ASSIGN(const DTypeRule named, Rule(kAdd, "self:A other:B ->:A A=real B={b8}"));
  EXPECT_EQ(named.ToString(), "self:T0 other:T1 ->0:T0 T0=real T1=bool");
  ASSERT_OK_AND_ASSIGN(const DTypeRule sets, Rule(kAdd, "self:int other:int ->:{f32}"));
  EXPECT_EQ(sets.ToString(), "self:T0 other:T1 ->0:T2 T0=int T1=int T2={f32}");
}

TEST(DTypeRuleTest, RejectsInvalidRules) {
  for (std::string_view text :
       {"self:A ->:A A=real", "self:A other:A A=real", "self:A other:A ->:A",
        "self:A other:A ->:A A=reall", "self:A other:A ->:A A={f33}",
        "self:A self:A other:A ->:A A=real", "self:A other:A ->:A A=real A=int",
        "self:A other:A ->1:A A=real", "alpha:A self:A other:A ->:A A=real",
        "self other:A ->:A A=real", "self:A other:A ->:A A=", "self:A other:A ->:A a=real",
        "self:A other:A ->:A A=real | self:A"}) {
    EXPECT_THAT(Rule(kAdd, text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
  EXPECT_FALSE(Rule(kMax, "self:A ->:A A=real").ok());
}

}  // namespace
}  // namespace belay::exir
