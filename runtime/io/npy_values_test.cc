#include "runtime/io/npy_values.h"

#include "runtime/core/testing.h"

namespace belay {
namespace {

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

}  // namespace
}  // namespace belay
