#include "runtime/io/npy_values.h"

#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/element.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

MethodPlan PlanOf(ValuePlan value) {
  MethodPlan plan;
  plan.values.push_back(std::move(value));
  plan.inputs.push_back({.value = 0, .name = "x"});
  return plan;
}

TEST(NpyValuesTest, RandomInputsUseConstantScalars) {
  const std::pair<ValuePlan, EValue> cases[] = {
      {0.5, EValue(0.5)}, {true, EValue(true)}, {false, EValue(false)}, {int64_t{7}, int64_t{7}}};
  for (const auto& [fixed, expected] : cases) {
    const MethodPlan plan = PlanOf(fixed);
    ASSERT_TRUE(InputTakesArray(plan, 0));
    ASSERT_OK_AND_ASSIGN(const NpyArray array, RandomInput(plan, 0, /*seed=*/3, 2));
    EXPECT_TRUE(array.sizes.empty());
    ASSERT_OK_AND_ASSIGN(const EValue value, InputFromNpy(plan, 0, array));
    ASSERT_OK_AND_ASSIGN(const std::string got, NpyBytesOf(value));
    ASSERT_OK_AND_ASSIGN(const std::string wanted, NpyBytesOf(expected));
    EXPECT_EQ(got, wanted);
  }
}

TEST(NpyValuesTest, RandomScalarsHaveSlotKind) {
  for (const ScalarKind kind : {ScalarKind::kInt, ScalarKind::kDouble, ScalarKind::kBool}) {
    const MethodPlan plan = PlanOf(kind);
    ASSERT_OK_AND_ASSIGN(const NpyArray array, RandomInput(plan, 0, /*seed=*/3, 2));
    ASSERT_OK_AND_ASSIGN(const EValue value, InputFromNpy(plan, 0, array));
    EXPECT_EQ(value.is<int64_t>(), kind == ScalarKind::kInt);
    EXPECT_EQ(value.is<double>(), kind == ScalarKind::kDouble);
    EXPECT_EQ(value.is<bool>(), kind == ScalarKind::kBool);
  }
}

// An array of rank 0.
template <class T>
NpyArray ArrayOf(T value) {
  NpyArray array;
  array.dtype = DTypeOf<T>;
  absl::StatusOr<AlignedBuffer> data = AlignedBuffer::Create(sizeof(T));
  EXPECT_OK(data);
  array.data = *std::move(data);
  *array.view().template as<T>() = value;
  return array;
}

TEST(NpyValuesTest, ScalarsAcceptEveryDType) {
  struct Case {
    NpyArray array;
    EValue expected;
  };
  const Case cases[] = {
      {ArrayOf(int8_t{-7}), int64_t{-7}},
      {ArrayOf(uint8_t{200}), int64_t{200}},
      {ArrayOf(uint16_t{60000}), int64_t{60000}},
      {ArrayOf(uint32_t{4000000000}), int64_t{4000000000}},
      {ArrayOf(uint64_t{INT64_MAX}), int64_t{INT64_MAX}},
      {ArrayOf(int64_t{INT64_MIN}), int64_t{INT64_MIN}},
      {ArrayOf(-9223372036854775808.0), int64_t{INT64_MIN}},
      {ArrayOf(3.0f), int64_t{3}},
      {ArrayOf(Half(-2.0f)), int64_t{-2}},
      {ArrayOf(true), int64_t{1}},
      {ArrayOf(uint16_t{60000}), EValue(60000.0)},
      {ArrayOf(uint64_t{1} << 63), EValue(9223372036854775808.0)},
      {ArrayOf(int64_t{INT64_MIN}), EValue(-9223372036854775808.0)},
      {ArrayOf(0.1f), EValue(static_cast<double>(0.1f))},
      {ArrayOf(1e300), EValue(1e300)},
      {ArrayOf(std::numeric_limits<double>::quiet_NaN()),
       EValue(std::numeric_limits<double>::quiet_NaN())},
      {ArrayOf(false), EValue(0.0)},
      {ArrayOf(uint32_t{1}), EValue(true)},
      {ArrayOf(-0.0), EValue(false)},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.array.view().ToString());
    const ScalarKind kind = c.expected.is<int64_t>()  ? ScalarKind::kInt
                            : c.expected.is<double>() ? ScalarKind::kDouble
                                                      : ScalarKind::kBool;
    ASSERT_OK_AND_ASSIGN(const EValue value, InputFromNpy(PlanOf(kind), 0, c.array));
    ASSERT_OK_AND_ASSIGN(const std::string got, NpyBytesOf(value));
    ASSERT_OK_AND_ASSIGN(const std::string wanted, NpyBytesOf(c.expected));
    EXPECT_EQ(got, wanted);
  }
}

TEST(NpyValuesTest, ScalarsRejectUnrepresentableValues) {
  struct Case {
    ValuePlan value;
    NpyArray array;
    const char* message;
  };
  const Case cases[] = {
      {ScalarKind::kInt, ArrayOf(2.7), "input 0 'x' expects an int, got 2.7 (float64)"},
      {int64_t{2}, ArrayOf(2.7), "expects an int, got 2.7"},
      {ScalarKind::kInt, ArrayOf(1e300), "expects an int, got 1e+300"},
      {ScalarKind::kInt, ArrayOf(9223372036854775808.0), "expects an int, got 9.2"},
      {ScalarKind::kInt, ArrayOf(std::numeric_limits<float>::quiet_NaN()), "got nan (float32)"},
      {ScalarKind::kInt, ArrayOf(uint64_t{1} << 63), "got 9223372036854775808 (uint64)"},
      {ScalarKind::kDouble, ArrayOf((int64_t{1} << 53) + 1),
       "expects a float, got 9007199254740993 (int64)"},
      {0.5, ArrayOf(uint64_t{UINT64_MAX}), "expects a float, got 18446744073709551615 (uint64)"},
      {ScalarKind::kBool, ArrayOf(uint16_t{2}), "expects a bool, got 2 (uint16)"},
      {true, ArrayOf(0.5f), "expects a bool, got 0.5 (float32)"},
      {ScalarKind::kInt, ArrayOf(std::complex<float>(1, 0)), "needs an array of rank 0, got"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(InputFromNpy(PlanOf(c.value), 0, c.array),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

TEST(NpyValuesTest, RandomInputsRejectOverflowingSizes) {
  constexpr int64_t kSize[] = {8};
  constexpr uint8_t kOrder[] = {0};
  TensorPlan tensor;
  tensor.dynamic_dims = 1;
  tensor.sizes = kSize;
  tensor.dim_order = kOrder;
  MethodPlan plan = PlanOf(tensor);
  struct Case {
    int64_t multiplier, offset;
  };
  for (const Case c : {Case{int64_t{1} << 62, 0}, Case{1, INT64_MAX}, Case{-2, INT64_MIN}}) {
    plan.inputs[0].constraints = {{0, 0, 8, "s0", c.multiplier, c.offset}};
    EXPECT_THAT(
        RandomInput(plan, 0, /*seed=*/3, /*dynamic_size=*/2),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr(absl::StrCat("input 0 'x': the size of dimension 0, ", c.multiplier,
                                        " * 's0' + ", c.offset, ", exceeds int64"))));
  }
  plan.inputs[0].constraints = {{0, 0, 8, "s0", 3, -1}};
  ASSERT_OK_AND_ASSIGN(const NpyArray array, RandomInput(plan, 0, 3, 2));
  EXPECT_EQ(array.sizes, Sizes{5});
}

// A bound may be far larger than useful sizes.
TEST(NpyValuesTest, RandomInputsUseSmallDynamicSizes) {
  constexpr int64_t kSize[] = {int64_t{1} << 40};
  constexpr uint8_t kOrder[] = {0};
  TensorPlan tensor;
  tensor.dynamic_dims = 1;
  tensor.sizes = kSize;
  tensor.dim_order = kOrder;
  MethodPlan plan = PlanOf(tensor);
  plan.inputs[0].constraints = {{0, 4, int64_t{1} << 40, "s0", 1, 0}};
  ASSERT_OK_AND_ASSIGN(const NpyArray array, RandomInput(plan, 0, 3, 2));
  EXPECT_EQ(array.sizes, Sizes{4});
}

TEST(NpyValuesTest, RandomNumbersAreWithinTheirBounds) {
  MethodPlan plan = PlanOf(ScalarKind::kInt);
  plan.inputs[0].constraints = {{.dim = 0, .min = 3, .max = 8, .symbol = "s0"}};
  const std::pair<int64_t, int64_t> cases[] = {{1, 3}, {5, 5}, {100, 8}};
  for (const auto& [asked, expected] : cases) {
    ASSERT_OK_AND_ASSIGN(const NpyArray array, RandomInput(plan, 0, /*seed=*/3, asked));
    EXPECT_EQ(*array.view().as<int64_t>(), expected);
  }
}

TEST(NpyValuesTest, DynamicSizesWithoutSymbolAreAsRequested) {
  constexpr int64_t kSize[] = {8, 3};
  constexpr uint8_t kOrder[] = {0, 1};
  TensorPlan tensor;
  tensor.dtype = DType::kBool;
  tensor.dynamic_dims = 1;
  tensor.sizes = kSize;
  tensor.dim_order = kOrder;
  MethodPlan plan = PlanOf(tensor);
  // Without a symbol, multiplier and offset are ignored.
  plan.inputs[0].constraints = {{0, 0, 8, "", /*multiplier=*/2, /*offset=*/1}};
  ASSERT_OK_AND_ASSIGN(const NpyArray array, RandomInput(plan, 0, 3, 5));
  EXPECT_EQ(array.sizes, Sizes({5, 3}));
  EXPECT_EQ(array.dtype, DType::kBool);
}

TEST(NpyValuesTest, DTypesMissingInNumPyAreStoredAsBits) {
  EXPECT_EQ(NpyCarrier(DType::kBFloat16), DType::kUint16);
  EXPECT_EQ(NpyCarrier(DType::kFloat8E5M2), DType::kUint8);
  EXPECT_EQ(NpyCarrier(DType::kFloat8E8M0FNU), DType::kUint8);
  EXPECT_EQ(NpyCarrier(DType::kFloat16), DType::kFloat16);
  EXPECT_EQ(NpyCarrier(DType::kUint16), DType::kUint16);

  constexpr int64_t kSize[] = {3};
  constexpr uint8_t kOrder[] = {0};
  TensorPlan tensor;
  tensor.dtype = DType::kBFloat16;
  tensor.sizes = kSize;
  tensor.dim_order = kOrder;
  const MethodPlan plan = PlanOf(tensor);
  ASSERT_OK_AND_ASSIGN(const NpyArray array, RandomInput(plan, 0, 3, 2));
  EXPECT_EQ(array.dtype, DType::kUint16);
  ASSERT_OK_AND_ASSIGN(const EValue value, InputFromNpy(plan, 0, array));
  const TensorView* view = value.get_if<TensorView>();
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->dtype, DType::kBFloat16);
  EXPECT_EQ(view->data, array.view().data);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, NpyBytesOf(value));
  EXPECT_THAT(bytes, HasSubstr("'<u2'"));
}

TEST(NpyValuesTest, TensorDTypesAreNotChecked) {
  const MethodPlan plan = PlanOf(TensorPlan{});  // float32
  const NpyArray array = ArrayOf(int8_t{3});
  ASSERT_OK_AND_ASSIGN(const EValue value, InputFromNpy(plan, 0, array));
  ASSERT_NE(value.get_if<TensorView>(), nullptr);
  EXPECT_EQ(value.get_if<TensorView>()->dtype, DType::kInt8);
}

TEST(NpyValuesTest, NoneAndStringsHaveNoArray) {
  for (const ValuePlan& value : {ValuePlan(None()), ValuePlan(std::string("fast"))}) {
    const MethodPlan plan = PlanOf(value);
    EXPECT_FALSE(InputTakesArray(plan, 0));
    EXPECT_THAT(InputFromNpy(plan, 0, ArrayOf(1.0)),
                StatusIs(absl::StatusCode::kInvalidArgument, "input 0 'x' accepts no array"));
    EXPECT_THAT(NpyBytesOf(ConstantInput(plan, 0)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no .npy file can hold")));
  }
  EXPECT_TRUE(InputTakesArray(PlanOf(ScalarKind::kBool), 0));
  EXPECT_TRUE(InputTakesArray(PlanOf(TensorPlan{}), 0));
}

TEST(NpyValuesTest, ConstantInputsHaveProgramConstants) {
  const MethodPlan text = PlanOf(std::string("fast"));
  EXPECT_EQ(*ConstantInput(text, 0).get_if<std::string_view>(), "fast");
  EXPECT_EQ(*ConstantInput(PlanOf(int64_t{7}), 0).get_if<int64_t>(), 7);
  EXPECT_EQ(*ConstantInput(PlanOf(0.5), 0).get_if<double>(), 0.5);
  EXPECT_EQ(*ConstantInput(PlanOf(true), 0).get_if<bool>(), true);
  EXPECT_TRUE(ConstantInput(PlanOf(None()), 0).is_none());
  // Not constants.
  EXPECT_TRUE(ConstantInput(PlanOf(ScalarKind::kInt), 0).is_none());
  EXPECT_TRUE(ConstantInput(PlanOf(TensorPlan{}), 0).is_none());
}

TEST(NpyValuesTest, ScalarsAreArraysOfRankZero) {
  NpyArray vector = ArrayOf(int64_t{3});
  vector.sizes = {1};
  EXPECT_THAT(InputFromNpy(PlanOf(ScalarKind::kInt), 0, vector),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("input 0 'x' is a scalar and needs an array of rank 0, got")));
}

TEST(NpyValuesTest, BoolsAcceptZeroAndOneOfAnyDType) {
  const MethodPlan plan = PlanOf(ScalarKind::kBool);
  const auto expect = [&](const NpyArray& array, std::optional<bool> expected) {
    const absl::StatusOr<EValue> value = InputFromNpy(plan, 0, array);
    ASSERT_EQ(value.ok(), expected.has_value()) << array.view().ToString();
    if (expected.has_value()) EXPECT_EQ(*value->get_if<bool>(), *expected);
  };
  expect(ArrayOf(int32_t{0}), false);
  expect(ArrayOf(int32_t{1}), true);
  expect(ArrayOf(int32_t{-1}), std::nullopt);
  expect(ArrayOf(0.0f), false);
  expect(ArrayOf(1.0f), true);
  expect(ArrayOf(std::numeric_limits<float>::quiet_NaN()), std::nullopt);
  expect(ArrayOf(false), false);
  expect(ArrayOf(true), true);
}

}  // namespace
}  // namespace belay
