// torchvision's operators beyond the models of conformance/models/more.
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the elements of the operator's result.
template <class T>
absl::StatusOr<std::vector<T>> Apply(std::string_view op, std::vector<EValue> arguments,
                                     DType dtype) {
  KernelRegistry registry;
  EXPECT_OK(AddReferenceKernels(registry));
  TensorView planned, indices;
  planned.dtype = dtype;
  indices.dtype = DType::kInt32;  // the second result of some operators
  EValue output(planned), second(indices);
  const bool has_second = op == "torchvision.roi_pool.default" || op.starts_with("torchvision.ps_");
  std::vector<EValue*> outputs = {&output};
  if (has_second) outputs.push_back(&second);
  FreshOutputs allocator;
  ABSL_RETURN_IF_ERROR(RunOperator(registry, op, std::move(arguments), outputs, allocator));
  return ToVector<T>(*output.get_if<TensorView>());
}

absl::StatusOr<std::vector<int64_t>> Nms(const std::vector<float>& boxes,
                                         const std::vector<float>& scores, double threshold) {
  const int64_t count = static_cast<int64_t>(scores.size());
  const TestTensor dets = TestTensor::Of<float>({count, 4}, boxes),
                   values = TestTensor::Of<float>({count}, scores);
  return Apply<int64_t>("torchvision.nms.default",
                        {EValue(dets.view()), EValue(values.view()), EValue(threshold)},
                        DType::kInt64);
}

TEST(NmsTest, EqualScoresKeepTheirOrderAndNanIsTheLargest) {
  const std::vector<float> apart = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
  EXPECT_THAT(*Nms(apart, {1, 1, 1}, 0.5), ElementsAre(0, 1, 2));
  EXPECT_THAT(*Nms(apart, {1, 2, NAN}, 0.5), ElementsAre(2, 1, 0));
}

TEST(NmsTest, KeepsBoxesUpToTheThreshold) {
  const std::vector<float> half = {0, 0, 2, 1, 1, 0, 3, 1};  // intersection over union is a third
  EXPECT_THAT(*Nms(half, {1, 2}, 0.3), ElementsAre(1));
  EXPECT_THAT(*Nms(half, {1, 2}, 0.34), ElementsAre(1, 0));
}

TEST(NmsTest, BoxesWithoutAreaOverlapNothing) {
  EXPECT_THAT(*Nms({0, 0, 0, 0, 0, 0, 0, 0}, {1, 2}, 0.5), ElementsAre(1, 0));
  EXPECT_THAT(*Nms({}, {}, 0.5), ElementsAre());
}

absl::StatusOr<std::vector<float>> Align(const Sizes& sizes, const std::vector<float>& image,
                                         const std::vector<float>& region) {
  const TestTensor input = TestTensor::Of<float>(sizes, image),
                   rois = TestTensor::Of<float>({1, 5}, region);
  return Apply<float>("torchvision.roi_align.default",
                      {EValue(input.view()), EValue(rois.view()), EValue(1.0), EValue(int64_t{1}),
                       EValue(int64_t{1}), EValue(int64_t{0}), EValue(true)},
                      DType::kFloat32);
}

TEST(RoiAlignTest, SamplesOutsideTheImageAreZero) {
  const Sizes sizes = {1, 1, 2, 2};
  EXPECT_THAT(*Align(sizes, {1, 2, 3, 4}, {0, 9, 9, 11, 11}), ElementsAre(0));
  EXPECT_THAT(*Align(sizes, {1, 2, 3, 4}, {0, 0.5, 0.5, 1.5, 1.5}), ElementsAre(2.5));
  EXPECT_THAT(*Align({1, 1, 0, 0}, {}, {0, 0, 0, 1, 1}), ElementsAre(0));
  EXPECT_THAT(*Align(sizes, {1, 2, 3, 4}, {0, 5, 5, 1, 1}), ElementsAre(0));
}

TEST(RoiAlignTest, RejectsInvalidImagesAndHugeRegions) {
  const auto error = [](const std::vector<float>& region) {
    return std::string(Align({1, 1, 2, 2}, {1, 2, 3, 4}, region).status().message());
  };
  EXPECT_THAT(error({1, 0, 0, 1, 1}), HasSubstr("region 0 is of image 1, expected one of 1"));
  EXPECT_THAT(error({NAN, 0, 0, 1, 1}), HasSubstr("is of image nan"));
  EXPECT_THAT(error({0, 0, 0, 1e30f, 1}), HasSubstr("pixels, expected at most 16384"));
  EXPECT_THAT(error({0, 0, 0, 1, NAN}), HasSubstr("pixels, expected at most 16384"));
}

TEST(RoiPoolTest, RejectsInvalidImagesAndFarRegions) {
  const auto error = [](std::string_view op, const std::vector<float>& region) {
    const TestTensor input = TestTensor::Of<float>({1, 1, 2, 2}, {1, 2, 3, 4}),
                     rois = TestTensor::Of<float>({1, 5}, region);
    return std::string(Apply<float>(op,
                                    {EValue(input.view()), EValue(rois.view()), EValue(1.0),
                                     EValue(int64_t{1}), EValue(int64_t{1})},
                                    DType::kFloat32)
                           .status()
                           .message());
  };
  for (const std::string_view op :
       {"torchvision.roi_pool.default", "torchvision.ps_roi_pool.default"}) {
    EXPECT_EQ(error(op, {0, 0, 0, 1, 1}), "");
    EXPECT_THAT(error(op, {-1, 0, 0, 1, 1}),
                HasSubstr("region 0 is of image -1, expected one of 1"));
    EXPECT_THAT(error(op, {0, 0, 1e30f, 1, 1}), HasSubstr("region 0 has a corner at 1e+30"));
    EXPECT_THAT(error(op, {0, NAN, 0, 1, 1}), HasSubstr("region 0 has a corner at nan"));
  }
}

TEST(DeformConvTest, OffsetsOutsideTheImageGiveZero) {
  const TestTensor input = TestTensor::Of<float>({1, 1, 2, 2}, {1, 2, 3, 4}),
                   weight = TestTensor::Of<float>({1, 1, 1, 1}, {2}),
                   mask = TestTensor::Zeros(DType::kFloat32, {1, 1}),
                   bias = TestTensor::Of<float>({1}, {0.5});
  // Pixel (y, x) is read at (y + first, x + second).
  const auto moved = [&](float first, float second) {
    const TestTensor offset = TestTensor::Of<float>(
        {1, 2, 2, 2}, {first, first, first, first, second, second, second, second});
    const EValue one(int64_t{1}), zero(int64_t{0});
    return *Apply<float>(
        "torchvision.deform_conv2d.default",
        {EValue(input.view()), EValue(weight.view()), EValue(offset.view()), EValue(mask.view()),
         EValue(bias.view()), one, one, zero, zero, one, one, one, one, EValue(false)},
        DType::kFloat32);
  };
  EXPECT_THAT(moved(0, 0), ElementsAre(2.5, 4.5, 6.5, 8.5));
  EXPECT_THAT(moved(0.5, 0), ElementsAre(4.5, 6.5, 3.5, 4.5));  // half outside
  EXPECT_THAT(moved(0, -1), ElementsAre(0.5, 2.5, 0.5, 6.5));
  EXPECT_THAT(moved(1e30f, 0), ElementsAre(0.5, 0.5, 0.5, 0.5));
  EXPECT_THAT(moved(0, NAN), ElementsAre(0.5, 0.5, 0.5, 0.5));
}

}  // namespace
}  // namespace belay
