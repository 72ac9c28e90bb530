#include "runtime/kernels/instruction_set.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/amx.h"
#include "runtime/kernels/supported_targets.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

// The best target that Highway's dispatch currently selects.
std::string BestTarget() { return hwy::TargetName(hwy::SupportedAndGeneratedTargets().front()); }

TEST(InstructionSetTest, SelectedSetStaysUntilTheNextSelection) {
  const std::vector<std::string> sets = InstructionSets();
  const std::string best = BestTarget();
  for (const std::string& name : sets) {
    ASSERT_OK(UseInstructionSet(name));
    EXPECT_EQ(UsesAmx(), name == "AMX");
    EXPECT_EQ(BestTarget(), name == "AMX" ? best : name);
    EXPECT_EQ(InstructionSets(), sets);
    EXPECT_EQ(SupportedTargets(), hwy::SupportedTargets());
  }
  ASSERT_OK(UseInstructionSet(sets.front()));
  EXPECT_EQ(BestTarget(), best);
  EXPECT_EQ(UsesAmx(), HasAmx());
}

TEST(InstructionSetTest, RejectsUnsupportedSetsWithoutSideEffects) {
  const std::string least = InstructionSets().back();
  ASSERT_OK(UseInstructionSet(least));
  EXPECT_THAT(
      UseInstructionSet("AVX7"),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("instruction set 'AVX7': expected one of " + InstructionSets().front())));
  EXPECT_EQ(BestTarget(), least);
  ASSERT_OK(UseInstructionSet(InstructionSets().front()));
}

}  // namespace
}  // namespace belay
