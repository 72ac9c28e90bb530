#include "runtime/kernel/shape_rules/detection.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(NmsTest, ChecksBoxesAndScores) {
  const std::string names = "dets scores iou_threshold";
  EXPECT_OK(ReadStatus<NmsCall<K>>(names, {Tensor({0, 4}), Tensor({0}), 0.5}));
  EXPECT_THAT(ReadStatus<NmsCall<K>>(names, {Tensor({4}), Tensor({4}), 0.5}),
              StatusIs(kInvalid, HasSubstr("'dets': expected boxes of four numbers")));
  EXPECT_THAT(ReadStatus<NmsCall<K>>(names, {Tensor({5, 3}), Tensor({5}), 0.5}),
              StatusIs(kInvalid, HasSubstr("'dets': expected boxes of four numbers")));
  EXPECT_THAT(ReadStatus<NmsCall<K>>(names, {Tensor({5, 4}), Tensor({4}), 0.5}),
              StatusIs(kInvalid, HasSubstr("'scores': expected a score for each box")));
  EXPECT_THAT(ReadStatus<NmsCall<K>>(names, {Tensor({5, 4}), Tensor({5, 1}), 0.5}),
              StatusIs(kInvalid, HasSubstr("'scores': expected a score for each box")));
  EXPECT_THAT(ReadStatus<NmsCall<K>>(names, {Tensor({5, 4}), Tensor({5}, DType::kFloat64), 0.5}),
              StatusIs(kInvalid, HasSubstr("scores: expected one of float32, got float64")));
}

absl::Status RoiAlign(const Sizes& input, const Sizes& rois, int height, int width, int ratio) {
  return ReadStatus<RoiAlignCall<K>>(
      "input rois spatial_scale pooled_height pooled_width sampling_ratio aligned",
      {Tensor(input), Tensor(rois), 1.0, height, width, ratio, true});
}

TEST(RoiAlignTest, ChecksRegionsAndImages) {
  EXPECT_OK(RoiAlign({1, 3, 8, 8}, {2, 5}, 7, 7, 2));
  EXPECT_OK(RoiAlign({1, 3, 8, 8}, {0, 5}, 1, 1, -1));
  EXPECT_THAT(RoiAlign({3, 8, 8}, {2, 5}, 7, 7, 2),
              StatusIs(kInvalid, HasSubstr("'input': expected images")));
  EXPECT_THAT(RoiAlign({1, 3, 8, 8}, {5}, 7, 7, 2),
              StatusIs(kInvalid, HasSubstr("'rois': expected regions of five numbers")));
  EXPECT_THAT(RoiAlign({1, 3, 8, 8}, {2, 4}, 7, 7, 2),
              StatusIs(kInvalid, HasSubstr("'rois': expected regions of five numbers")));
  EXPECT_THAT(RoiAlign({1, 3, 8, 8}, {2, 5}, 0, 7, 2),
              StatusIs(kInvalid, HasSubstr("pooled sizes that are positive")));
  EXPECT_THAT(RoiAlign({1, 3, 8, 8}, {2, 5}, 7, 0, 2),
              StatusIs(kInvalid, HasSubstr("pooled sizes that are positive")));
  EXPECT_OK(RoiAlign({1, 3, 8, 8}, {2, 5}, 7, 7, 1024));
  EXPECT_THAT(RoiAlign({1, 3, 8, 8}, {2, 5}, 7, 7, 1025),
              StatusIs(kInvalid, HasSubstr("'sampling_ratio': expected at most 1024")));
}

}  // namespace
}  // namespace belay
