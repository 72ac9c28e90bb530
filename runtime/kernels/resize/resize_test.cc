// Image resampling against the reference kernels.
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

using Ints = std::vector<int64_t>;

TEST(ResizeTest, EverySizeLayoutAndDtype) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kUint8}) {
    for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast, Layout::kGaps}) {
      for (int64_t from : {1, 2, 7, 20}) {
        for (int64_t to : {1, 4, 7, 19, 40, 41}) {
          const TestTensorSpec image = {dtype, {2, 3, from, from + 1}, layout, Values::kNormal, 0};
          KernelCall call = {
              "aten.upsample_nearest2d.vec", {image, Ints{to, to + 2}, EValue()}, {dtype}};
          call.output_layout = layout;
          ASSERT_TRUE(comparison.Compare(call));
          if (dtype == DType::kUint8) continue;
          for (bool align : {false, true}) {
            call.op = "aten.upsample_bilinear2d.vec";
            call.arguments = {image, Ints{to, to + 2}, EValue(align), EValue()};
            call.max_ulp = 4;
            call.ulp_of = UlpOf::kLargest;
            ASSERT_TRUE(comparison.Compare(call));
          }
        }
      }
    }
  }
}

TEST(ResizeTest, ScalesRefinePositions) {
  KernelComparison comparison;
  const TestTensorSpec image = {DType::kFloat32, {1, 2, 6, 9}};
  ASSERT_TRUE(comparison.Compare({"aten.upsample_nearest2d.default",
                                  {image, Ints{13, 20}, EValue(2.2), EValue(2.3)},
                                  {DType::kFloat32}}));
  ASSERT_TRUE(comparison.Compare({"aten.upsample_bilinear2d.default",
                                  {image, Ints{13, 20}, EValue(false), EValue(2.2), EValue(2.3)},
                                  {DType::kFloat32},
                                  4,
                                  UlpOf::kLargest}));
}

}  // namespace
}  // namespace belay
