#include "runtime/kernel_interface/shape_rules/norm.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(NormTest, BatchNormNeedsStatisticsUnlessTraining) {
  const EValue batch = Tensor({2, 3, 4}), vector = Tensor({3});
  const std::string names = "input weight bias running_mean running_var training momentum eps";
  for (const bool mean : {false, true}) {
    EXPECT_THAT(
        ReadStatus<BatchNormCall<K>>(names, {batch, vector, vector, mean ? vector : EValue(),
                                             mean ? EValue() : vector, true, 0.1, 1e-5}),
        StatusIs(kInvalid, "batch norm: the running statistics are missing"));
  }
  EXPECT_THAT(ReadStatus<BatchNormCall<K>>("input weight bias training momentum eps",
                                           {batch, vector, vector, false, 0.1, 1e-5}),
              StatusIs(kInvalid, HasSubstr("batch norm without statistics expects true")));
  EXPECT_THAT(ReadStatus<BatchNormCall<K>>(names, {batch, vector, Tensor({3}, DType::kFloat64),
                                                   vector, vector, true, 0.1, 1e-5}),
              StatusIs(kInvalid, "parameters: expected float32, got float64"));
}

TEST(NormTest, GroupsDivideChannels) {
  const auto stats = [](const Sizes& input, D n, D c, D hxw, int64_t group) {
    return GroupNormStatsShape<D>(ToDims(input), n, c, hxw, group);
  };
  EXPECT_EQ(*ToSizes(*stats({2, 6, 4, 5}, 2, 6, 20, 3)), Sizes({2, 3}));
  EXPECT_THAT(stats({2, 6, 4}, 2, 6, 4, 0),
              StatusIs(kInvalid, "group: expected at least 1, got 0"));
  EXPECT_THAT(stats({2, 6, 4}, 2, 6, 4, 4),
              StatusIs(kInvalid, "group: 6 channels do not divide into 4 groups"));
  EXPECT_OK(stats({2, 6, 4}, 2, Overflowed(), 4, 4));
  EXPECT_THAT(stats({2, 6, 4}, 1, 6, 4, 3), StatusIs(kInvalid, HasSubstr("is not that of N 1")));
  EXPECT_THAT(stats({2, 6, 4}, 2, 3, 4, 3), StatusIs(kInvalid, HasSubstr("C 3")));
  EXPECT_THAT(stats({2, 6, 4}, 2, 6, 5, 3), StatusIs(kInvalid, HasSubstr("HxW 5")));
  EXPECT_THAT(stats({2}, 2, 6, 4, 3), StatusIs(kInvalid));
}

}  // namespace
}  // namespace belay
