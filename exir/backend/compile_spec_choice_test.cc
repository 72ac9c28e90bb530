#include "exir/backend/compile_spec_choice.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

absl::StatusOr<size_t> Choice(const std::vector<CompileSpec>& specs) {
  return CompileSpecChoice(specs, "speed", {"slow", "fast"});
}

TEST(CompileSpecChoiceTest, ReturnsTheIndexOfTheValue) {
  EXPECT_EQ(Choice({}).value(), 0u);
  EXPECT_EQ(Choice({{"speed", "slow"}}).value(), 0u);
  EXPECT_EQ(Choice({{"speed", "fast"}}).value(), 1u);
}

TEST(CompileSpecChoiceTest, RejectsOtherKeysOtherValuesAndRepetitions) {
  const auto is_refused = [](const char* why) {
    return StatusIs(absl::StatusCode::kInvalidArgument, testing::StrEq(why));
  };
  EXPECT_THAT(Choice({{"level", "fast"}}),
              is_refused("unknown compile spec 'level'; there is 'speed', once"));
  EXPECT_THAT(Choice({{"speed", "fast"}, {"speed", "fast"}}),
              is_refused("unknown compile spec 'speed'; there is 'speed', once"));
  EXPECT_THAT(Choice({{"speed", "warp"}}),
              is_refused("compile spec speed=warp, expected slow or fast"));
}

}  // namespace
}  // namespace belay::exir
