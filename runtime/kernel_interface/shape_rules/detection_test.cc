#include "runtime/kernel_interface/shape_rules/detection.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

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

template <RegionOp kOp>
absl::Status Pool(const Sizes& input, int height, int width) {
  return ReadStatus<RegionCall<K, kOp>>("input rois spatial_scale pooled_height pooled_width",
                                        {Tensor(input), Tensor({2, 5}), 1.0, height, width});
}

TEST(RoiPoolTest, ChannelsOfPositionSensitiveOperatorsAreMultiples) {
  EXPECT_OK(Pool<RegionOp::kRoiPool>({1, 5, 8, 8}, 2, 3));
  EXPECT_OK(Pool<RegionOp::kPsRoiPool>({1, 12, 8, 8}, 2, 3));
  EXPECT_OK(Pool<RegionOp::kPsRoiPool>({1, 0, 8, 8}, 2, 3));
  EXPECT_THAT(
      Pool<RegionOp::kPsRoiPool>({1, 5, 8, 8}, 2, 3),
      StatusIs(kInvalid, HasSubstr("'input': expected a multiple of 2 * 3 channels, got 5")));
  EXPECT_THAT(Pool<RegionOp::kPsRoiPool>({1, 6, 8, 8}, 2, INT32_MAX),
              StatusIs(kInvalid, HasSubstr("expected a multiple")));
  EXPECT_THAT(Pool<RegionOp::kRoiPool>({1, 5, 8, 8}, 0, 3),
              StatusIs(kInvalid, HasSubstr("pooled sizes that are positive")));
}

// A deform_conv2d call of a 3x3 kernel on images of 4 channels, after `change`.
struct DeformArguments {
  Sizes input = {2, 4, 6, 7}, weight = {6, 2, 3, 3}, offset = {2, 36, 6, 7}, mask = {2, 18, 6, 7};
  Sizes bias = {6};
  int stride = 1, padding = 1, dilation = 1, groups = 2, offset_groups = 2;
};
template <class Change>
absl::Status DeformConv(Change change) {
  DeformArguments a;
  change(a);
  return ReadStatus<DeformConvCall<K>>(
      "input weight offset mask bias stride_h stride_w pad_h pad_w dilation_h dilation_w groups "
      "offset_groups use_mask",
      {Tensor(a.input), Tensor(a.weight), Tensor(a.offset), Tensor(a.mask), Tensor(a.bias),
       a.stride, 1, a.padding, 1, a.dilation, 1, a.groups, a.offset_groups, true});
}

TEST(DeformConvTest, ChecksSizes) {
  using A = DeformArguments;
  EXPECT_OK(DeformConv([](A&) {}));
  const auto rejects = [](auto change, std::string_view message) {
    EXPECT_THAT(DeformConv(change), StatusIs(kInvalid, HasSubstr(std::string(message))));
  };
  rejects([](A& a) { a.input = {4, 6, 7}; }, "'input': expected images");
  rejects([](A& a) { a.weight = {6, 2, 3}; }, "'weight': expected [out, in / groups");
  rejects([](A& a) { a.weight = {6, 2, 0, 3}; }, "'weight': expected [out, in / groups");
  rejects([](A& a) { a.weight = {6, 4, 3, 3}; }, "for 4 channels in 2 groups, got [6,4,3,3]");
  rejects([](A& a) { a.weight = {5, 2, 3, 3}; }, "for 4 channels in 2 groups, got [5,2,3,3]");
  rejects([](A& a) { a.offset_groups = 3; }, "'offset_groups': expected a divisor");
  rejects([](A& a) { a.weight = {6, 2, 9, 3}; }, "an image that is not smaller than the kernel");
  rejects([](A& a) { a.offset = {2, 18, 6, 7}; }, "'offset': expected [2,36,6,7], got [2,18,6,7]");
  rejects([](A& a) { a.offset = {2, 36, 6}; }, "'offset': expected [2,36,6,7], got [2,36,6]");
  rejects([](A& a) { a.mask = {2, 18, 6, 6}; }, "'mask': expected [2,18,6,7], got [2,18,6,6]");
  rejects([](A& a) { a.bias = {5}; }, "'bias': expected a number for each output channel");
  rejects([](A& a) { a.stride = 0; }, "'stride_h': expected 1 to 2147483647, got 0");
  rejects([](A& a) { a.padding = -1; }, "'pad_h': expected 0 to 2147483647, got -1");
  rejects([](A& a) { a.dilation = 0; }, "'dilation_h': expected 1");
  rejects([](A& a) { a.groups = 0; }, "'groups': expected 1");
}

}  // namespace
}  // namespace belay
