#include "exir/ir/call_arguments.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

FunctionSchema Schema(std::string_view text) {
  absl::StatusOr<FunctionSchema> schema = FunctionSchema::Parse(text);
  EXPECT_OK(schema);
  return *std::move(schema);
}

const Argument kX = Argument(ValueId(0));

TEST(CallArgumentsTest, OrdersNamedArgumentsAndFillsDefaults) {
  const FunctionSchema schema =
      Schema("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Argument> arguments,
      CompleteArguments(schema, {{"other", Argument(ValueId(1))}, {"self", kX}}, false));
  EXPECT_THAT(arguments, ::testing::ElementsAre(kX, Argument(ValueId(1)), Argument(1)));
}

TEST(CallArgumentsTest, FillsDefaultsOfEveryKind) {
  const FunctionSchema schema = Schema(
      "test::f(Tensor self, int[2] stride=1, float scale=2, bool flag=True, str mode='none', "
      "Tensor? weight=None, "
      "int[] dims=[0,1]) -> Tensor");
  ASSERT_OK_AND_ASSIGN(const std::vector<Argument> arguments,
                       CompleteArguments(schema, {{"self", kX}}, false));
  EXPECT_THAT(arguments, ::testing::ElementsAre(kX, Argument(Argument::List{1, 1}), Argument(2.0),
                                                Argument(true), Argument("none"), Argument(),
                                                Argument(Argument::List{0, 1})));
}

TEST(CallArgumentsTest, NormalizesEqualArguments) {
  const FunctionSchema schema = Schema(
      "test::f(Tensor self, int[2] stride, float scale, float[]? scales, int count, Scalar number) "
      "-> Tensor");
  ASSERT_OK_AND_ASSIGN(const std::vector<Argument> arguments,
                       CompleteArguments(schema,
                                         {{"self", kX},
                                          {"stride", 3},
                                          {"scale", 2},
                                          {"scales", Argument::List{1, 2.5}},
                                          {"count", true},
                                          {"number", 7}},
                                         false));
  EXPECT_THAT(arguments,
              ::testing::ElementsAre(kX, Argument(Argument::List{3, 3}), Argument(2.0),
                                     Argument(Argument::List{1.0, 2.5}), Argument(1), Argument(7)));
}

TEST(CallArgumentsTest, ExpandsScalarsToLists) {
  const FunctionSchema schema =
      Schema("test::f(int[2] a, float[2] b, bool[2] c, int[] d, int[2]? e, int f) -> Tensor");
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Argument> arguments,
      CompleteArguments(schema,
                        {{"a", true}, {"b", 2.5}, {"c", false}, {"d", 7}, {"e", {}}, {"f", false}},
                        false));
  EXPECT_THAT(arguments, ::testing::ElementsAre(
                             Argument(Argument::List{1, 1}), Argument(Argument::List{2.5, 2.5}),
                             Argument(Argument::List{false, false}), Argument(Argument::List{7}),
                             Argument(), Argument(0)));
}

TEST(CallArgumentsTest, AcceptsPositionalArguments) {
  const FunctionSchema schema = Schema("_operator::mul(Scalar a, Scalar b) -> Scalar");
  ASSERT_OK_AND_ASSIGN(const std::vector<Argument> unnamed,
                       CompleteArguments(schema, {{"", 2}, {"", 3}}, false));
  EXPECT_THAT(unnamed, ::testing::ElementsAre(Argument(2), Argument(3)));
  ASSERT_OK_AND_ASSIGN(const std::vector<Argument> loose,
                       CompleteArguments(schema, {{"self", 2}, {"other", 3}}, true));
  EXPECT_THAT(loose, ::testing::ElementsAre(Argument(2), Argument(3)));
  ASSERT_OK_AND_ASSIGN(const std::vector<Argument> mixed,
                       CompleteArguments(schema, {{"b", 3}, {"a", 2}}, true));
  EXPECT_THAT(mixed, ::testing::ElementsAre(Argument(2), Argument(3)));
}

TEST(CallArgumentsTest, ReportsInvalidArguments) {
  const FunctionSchema schema = Schema("aten::mm(Tensor self, Tensor mat2) -> Tensor");
  EXPECT_THAT(
      CompleteArguments(schema, {{"self", kX}}, false),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'mat2' (Tensor) is missing")));
  EXPECT_THAT(CompleteArguments(schema, {{"self", kX}, {"mat3", kX}}, false),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unknown argument 'mat3'; the operator has: self, mat2")));
  EXPECT_THAT(CompleteArguments(schema, {{"self", kX}, {"self", kX}}, false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'self' is given twice")));
  EXPECT_THAT(CompleteArguments(schema, {{"self", kX}, {"", kX}, {"", kX}}, false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3 arguments")));
  EXPECT_THAT(CompleteArguments(Schema("test::f() -> Tensor"), {{"self", kX}}, false),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unknown argument 'self'; the operator has: none")));
}

TEST(CallArgumentsTest, GivenArgumentsUseAvailableNames) {
  const std::vector<Argument> arguments = {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}};
  const std::vector<std::string> names = {"a", "", "c"};
  const std::vector<GivenArgument> given = GivenArguments(arguments, names, 1);
  ASSERT_EQ(given.size(), 3u);
  EXPECT_EQ(given[0].name, "");
  EXPECT_EQ(given[1].name, "c");
  EXPECT_EQ(given[1].name.data(), names[2].data());
  EXPECT_EQ(given[2].name, "");
  EXPECT_EQ(given[2].value, Argument(int64_t{4}));
  EXPECT_TRUE(GivenArguments(arguments, {}, 4).empty());
}

}  // namespace
}  // namespace belay::exir
