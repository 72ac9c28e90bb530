// Image resampling against the reference kernels.
#include <utility>

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

// Dimensions of scale 1 are copied; others blend each element with 0 times its neighbor.
TEST(ResizeTest, InfinitePixels) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat16}) {
    for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast, Layout::kGaps}) {
      for (int64_t width : {1, 7, 40}) {
        const TestTensorSpec image = {dtype, {2, 3, 5, width}, layout, Values::kSpecial, 0};
        for (const Ints& to : {Ints{5, width}, Ints{10, width}, Ints{5, 2 * width}, Ints{3, 4}}) {
          for (const EValue& height_scale : {EValue(), EValue(1.0)}) {
            for (const EValue& width_scale : {EValue(), EValue(1.0)}) {
              for (bool align : {false, true}) {
                KernelCall call = {"aten.upsample_bilinear2d.default",
                                   {image, to, EValue(align), height_scale, width_scale},
                                   {dtype}};
                call.max_ulp = 4;
                call.ulp_of = UlpOf::kLargest;
                call.output_layout = layout;
                ASSERT_TRUE(comparison.Compare(call));
              }
            }
          }
        }
      }
    }
  }
}

TEST(ResizeTest, AntialiasedFilters) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast, Layout::kGaps}) {
      for (int64_t from : {1, 7, 40}) {
        for (int64_t to : {1, 3, 19, 41}) {
          const TestTensorSpec image = {dtype, {2, 3, from, from + 1}, layout, Values::kNormal, 0};
          for (const char* op :
               {"aten._upsample_bilinear2d_aa.default", "aten._upsample_bicubic2d_aa.default",
                "aten._upsample_lanczos2d_aa.default"}) {
            for (bool align : {false, true}) {
              for (const EValue& scale : {EValue(), EValue(0.3)}) {
                KernelCall call = {
                    op, {image, Ints{to, to + 1}, EValue(align), scale, scale}, {dtype}};
                call.max_ulp = 16;
                call.ulp_of = UlpOf::kLargest;
                call.output_layout = layout;
                ASSERT_TRUE(comparison.Compare(call));
              }
            }
          }
        }
      }
    }
  }
}

// A pixel outside of a window must not reach the result.
TEST(ResizeTest, AntialiasedFiltersOfInfinitePixels) {
  KernelComparison comparison;
  for (int64_t to : {5, 19, 40}) {
    const TestTensorSpec image = {
        DType::kFloat32, {2, 3, 30, 41}, Layout::kRowMajor, Values::kSpecial, 0};
    KernelCall call = {"aten._upsample_bilinear2d_aa.default",
                       {image, Ints{to, to}, EValue(false), EValue(), EValue()}};
    call.max_ulp = 16;
    call.ulp_of = UlpOf::kLargest;
    ASSERT_TRUE(comparison.Compare(call));
  }
}

TEST(ResizeTest, SumsOfOverlappingPatches) {
  KernelComparison comparison;
  for (int64_t kernel : {1, 2, 3, 5}) {
    for (int64_t stride : {1, 2, 3}) {
      for (int64_t padding : {0, 1, 4}) {
        for (int64_t dilation : {1, 2}) {
          const int64_t height = 11, width = 14, reach = dilation * (kernel - 1) + 1;
          if (reach > height + 2 * padding) continue;
          const int64_t windows = ((height + 2 * padding - reach) / stride + 1) *
                                  ((width + 2 * padding - reach) / stride + 1);
          for (const Sizes& sizes :
               {Sizes{3 * kernel * kernel, windows}, Sizes{2, 3 * kernel * kernel, windows}}) {
            KernelCall call = {
                "aten.col2im.default",
                {TestTensorSpec{DType::kFloat32, sizes}, Ints{height, width}, Ints{kernel, kernel},
                 Ints{dilation, dilation}, Ints{padding, padding}, Ints{stride, stride}},
                {DType::kFloat32}};
            call.max_ulp = 8;
            call.ulp_of = UlpOf::kLargest;
            ASSERT_TRUE(comparison.Compare(call));
          }
        }
      }
    }
  }
}

TEST(ResizeTest, UnchangedImagesAreCopied) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kUint8}) {
    for (Layout in : {Layout::kRowMajor, Layout::kChannelsLast, Layout::kGaps}) {
      for (Layout out : {Layout::kRowMajor, Layout::kChannelsLast, Layout::kGaps}) {
        KernelCall call = {"aten.upsample_nearest2d.vec",
                           {TestTensorSpec{dtype, {2, 3, 40, 50}, in}, Ints{40, 50}, EValue()},
                           {dtype}};
        call.output_layout = out;
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

TEST(ResizeTest, LargeImagesAreDivided) {
  KernelComparison comparison;
  for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
    const TestTensorSpec image = {DType::kFloat32, {2, 19, 40, 30}, layout};
    KernelCall call = {"aten.upsample_nearest2d.vec", {image, Ints{80, 60}, EValue()}};
    call.output_layout = layout;
    ASSERT_TRUE(comparison.Compare(call));
    call = {"aten.upsample_bilinear2d.vec", {image, Ints{80, 61}, EValue(false), EValue()}};
    call.max_ulp = 4;
    call.ulp_of = UlpOf::kLargest;
    call.output_layout = layout;
    ASSERT_TRUE(comparison.Compare(call));
  }
}

// Positive images: no sum of weighed neighbors cancels, except for bicubic weights.
KernelCall GridCall(const Sizes& input, const Sizes& grid, Layout layout, Layout out,
                    int64_t interpolation, int64_t padding, bool corners) {
  KernelCall call;
  const bool volume = input.size() == 5;
  call.op = volume ? "aten.grid_sampler_3d.default" : "aten.grid_sampler_2d.default";
  call.arguments = {TestTensorSpec{DType::kFloat32, input, layout, Values::kPositive},
                    TestTensorSpec{DType::kFloat32, grid}, EValue(interpolation), EValue(padding),
                    EValue(corners)};
  call.output_layout = out;
  call.max_ulp = interpolation == 1 ? 0 : 16 + 10;
  if (interpolation == 2) call.ulp_of = UlpOf::kLargest;
  return call;
}

TEST(ResizeTest, GridSamplesOfEveryMode) {
  KernelComparison comparison;
  for (int64_t padding : {0, 1, 2}) {
    for (bool corners : {false, true}) {
      for (Layout layout :
           {Layout::kRowMajor, Layout::kChannelsLast, Layout::kGaps, Layout::kReversed}) {
        const Layout out = layout == Layout::kGaps ? Layout::kReversed : layout;
        for (int64_t interpolation : {0, 1, 2}) {
          for (int64_t width : {1, 17, 130}) {
            ASSERT_TRUE(comparison.Compare(GridCall({2, 19, 7, 9}, {2, 3, width, 2}, layout, out,
                                                    interpolation, padding, corners)));
          }
          ASSERT_TRUE(comparison.Compare(
              GridCall({1, 1, 1, 1}, {1, 5, 3, 2}, layout, out, interpolation, padding, corners)));
          if (interpolation == 2) continue;
          ASSERT_TRUE(comparison.Compare(GridCall({2, 5, 4, 3, 6}, {2, 3, 2, 21, 3}, layout, out,
                                                  interpolation, padding, corners)));
        }
      }
    }
  }
}

// Images of many channels are copied channels last, if their pixels are read often.
TEST(ResizeTest, GridSamplesOfManyChannels) {
  KernelComparison comparison;
  for (int64_t channels : {7, 8, 9, 31, 32, 33, 48, 65, 100}) {
    for (int64_t interpolation : {0, 1, 2}) {
      for (const auto& [layout, out] : {std::pair{Layout::kRowMajor, Layout::kRowMajor},
                                        {Layout::kGaps, Layout::kChannelsLast},
                                        {Layout::kChannelsLast, Layout::kRowMajor},
                                        {Layout::kReversed, Layout::kReversed}}) {
        for (int64_t rows : {1, 11}) {  // more and fewer pixels than positions
          ASSERT_TRUE(comparison.Compare(GridCall({2, channels, 12, 15}, {2, rows, 17, 2}, layout,
                                                  out, interpolation, 0, false)));
        }
        if (interpolation == 2) continue;
        ASSERT_TRUE(comparison.Compare(GridCall({2, channels, 3, 4, 5}, {2, 4, 5, 21, 3}, layout,
                                                out, interpolation, 1, true)));
      }
    }
  }
}

TEST(ResizeTest, GridSamplesAtSpecialPositions) {
  KernelComparison comparison;
  for (int64_t padding : {0, 1, 2}) {
    for (int64_t interpolation : {0, 1}) {
      KernelCall call = GridCall({1, 3, 5, 6}, {1, 4, 17, 2}, Layout::kRowMajor, Layout::kRowMajor,
                                 interpolation, padding, false);
      std::get<TestTensorSpec>(call.arguments[1]).values = Values::kSpecial;
      ASSERT_TRUE(comparison.Compare(call));
      call = GridCall({1, 9, 5, 6}, {1, 4, 17, 2}, Layout::kRowMajor, Layout::kRowMajor,
                      interpolation, padding, false);
      std::get<TestTensorSpec>(call.arguments[1]).values = Values::kSpecial;
      ASSERT_TRUE(comparison.Compare(call));
      call = GridCall({1, 3, 5, 6, 4}, {1, 2, 4, 17, 3}, Layout::kRowMajor, Layout::kRowMajor,
                      interpolation, padding, true);
      std::get<TestTensorSpec>(call.arguments[1]).values = Values::kSpecial;
      ASSERT_TRUE(comparison.Compare(call));
    }
  }
}

TEST(ResizeTest, LargeGridsAreDivided) {
  KernelComparison comparison;
  for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
    ASSERT_TRUE(
        comparison.Compare(GridCall({2, 19, 31, 30}, {2, 50, 60, 2}, layout, layout, 0, 0, false)));
    ASSERT_TRUE(
        comparison.Compare(GridCall({2, 5, 31, 30}, {2, 90, 60, 2}, layout, layout, 0, 0, false)));
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
