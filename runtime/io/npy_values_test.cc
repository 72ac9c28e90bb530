#include "runtime/io/npy_values.h"

#include <complex>
#include <cstdint>
#include <limits>
#include <string>
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

TEST(NpyValuesTest, RandomInputsAreTheNumbersThatWereFixed) {
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

TEST(NpyValuesTest, RandomInputsOfSlotsAreOfTheirKind) {
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

TEST(NpyValuesTest, ScalarsTakeTheirNumberFromEveryDType) {
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

TEST(NpyValuesTest, ScalarsRefuseNumbersThatTheirTypeLacks) {
  struct Case {
    ValuePlan value;
    NpyArray array;
    const char* message;
  };
  const Case cases[] = {
      {ScalarKind::kInt, ArrayOf(2.7),
       "input 0 'x' takes an int; the array holds 2.7 (float64), which is none"},
      {int64_t{2}, ArrayOf(2.7), "takes an int; the array holds 2.7"},
      {ScalarKind::kInt, ArrayOf(1e300), "takes an int; the array holds 1e+300"},
      {ScalarKind::kInt, ArrayOf(9223372036854775808.0), "takes an int; the array holds 9.2"},
      {ScalarKind::kInt, ArrayOf(std::numeric_limits<float>::quiet_NaN()), "holds nan (float32)"},
      {ScalarKind::kInt, ArrayOf(uint64_t{1} << 63), "holds 9223372036854775808 (uint64)"},
      {ScalarKind::kDouble, ArrayOf((int64_t{1} << 53) + 1),
       "takes a float; the array holds 9007199254740993 (int64)"},
      {0.5, ArrayOf(uint64_t{UINT64_MAX}),
       "takes a float; the array holds 18446744073709551615 (uint64)"},
      {ScalarKind::kBool, ArrayOf(uint16_t{2}), "takes a bool; the array holds 2 (uint16)"},
      {true, ArrayOf(0.5f), "takes a bool; the array holds 0.5 (float32)"},
      {ScalarKind::kInt, ArrayOf(std::complex<float>(1, 0)), "takes an array of rank 0, not"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(InputFromNpy(PlanOf(c.value), 0, c.array),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

TEST(NpyValuesTest, RandomInputsOfSizesThatOverflowAreErrors) {
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

// A bound may be far above what anybody means.
TEST(NpyValuesTest, RandomInputsAreNotLargerThanTheyMustBe) {
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

}  // namespace
}  // namespace belay
