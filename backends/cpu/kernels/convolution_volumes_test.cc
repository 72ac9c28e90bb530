// belay_cpu::convolution against its plain loops over doubles, on each instruction set.
#include <limits>
#include <string_view>
#include <vector>

#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/kernels/comparison_testing.h"
#include "backends/cpu/kernels/valid_calls_testing.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kFloat = DType::kFloat32;

struct Epilogue {
  std::string_view activation = "none", combine = "add";
  double low = -kInf, high = kInf;
};

struct Convolution {
  std::vector<int64_t> input;  // [n, c, ...]
  int64_t out_channels, groups;
  bool transposed;
  std::vector<int64_t> kernel, stride, padding, output_padding, dilation;
};

// Errors are bounded before results are clamped, which makes none of them larger.
void Unbound(absl::Span<EValue* const> arguments) {
  *arguments[arguments.size() - 2] = EValue(-kInf);
  *arguments[arguments.size() - 1] = EValue(kInf);
}

KernelCall CallOf(const Convolution& c, bool bias = true, bool other = false,
                  const Epilogue& e = {}) {
  const size_t spatial = c.kernel.size();
  VolumeWindow window;
  Sizes sizes{absl::MakeConstSpan(c.input)}, result = sizes;
  result[1] = c.out_channels;
  int64_t terms = c.input[1] / c.groups;
  for (size_t s = 0; s < spatial; ++s) {
    WindowAxis& a = window.axes[3 - spatial + s];
    a = {.kernel = c.kernel[s],
         .stride = c.stride[s],
         .dilation = c.dilation[s],
         .padding = c.padding[s],
         .padding_after = c.padding[c.padding.size() == spatial ? s : spatial + s],
         .output_padding = c.output_padding[s],
         .transposed = c.transposed};
    terms *= a.kernel;
    const int64_t reach = a.dilation * (a.kernel - 1) + 1;
    int64_t& size = result[static_cast<int>(2 + s)];
    size = c.transposed
               ? (size - 1) * a.stride + reach + a.output_padding - a.padding - a.padding_after
               : (size + a.padding + a.padding_after - reach) / a.stride + 1;
  }
  const int64_t weights =
      *PackedVolumeFiltersSize(window, c.groups, c.input[1] / c.groups, c.out_channels);
  KernelCall call;
  call.op = "belay_cpu.convolution.default";
  call.arguments = {
      TestTensorSpec{kFloat, sizes, Layout::kChannelsLast},
      TestTensorSpec{kFloat, {weights}},
      bias ? TestArgument(TestTensorSpec{kFloat, {c.out_channels}}) : TestArgument(EValue()),
      other ? TestArgument(TestTensorSpec{kFloat, result, Layout::kChannelsLast})
            : TestArgument(EValue()),
      EValue(c.out_channels),
      EValue(c.groups),
      EValue(c.transposed),
      c.kernel,
      c.stride,
      c.padding,
      c.output_padding,
      c.dilation,
      EValue(e.activation),
      EValue(e.combine),
      EValue(e.low),
      EValue(e.high)};
  call.output_layout = Layout::kChannelsLast;
  // A product of `terms` terms, and bias, `other` and the rounding of the sum.
  call.max_ulp = static_cast<double>(terms) + 4;
  call.ulp_of = UlpOf::kMagnitudes;
  call.adjust_magnitudes = Unbound;
  return call;
}

using ConvolutionVolumesTest = CpuKernelComparisonTest;

TEST_F(ConvolutionVolumesTest, Groups) {
  const int64_t channels[][3] = {{32, 32, 2},  {48, 24, 3},  {12, 9, 3},  {16, 16, 4}, {20, 40, 5},
                                 {24, 24, 24}, {12, 24, 12}, {66, 80, 2}, {40, 40, 5}};
  for (const auto& [in, out, groups] : channels) {
    for (bool other : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(
          CallOf({{2, in, 5, 7}, out, groups, false, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}}, true,
                 other)));
      ASSERT_TRUE(comparison_.Compare(
          CallOf({{1, in, 9, 8}, out, groups, false, {3, 2}, {2, 1}, {2, 0, 1, 3}, {0, 0}, {2, 3}},
                 false, other)));
      ASSERT_TRUE(comparison_.Compare(
          CallOf({{1, in, 6, 5}, out, groups, false, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, true,
                 other)));
    }
  }
}

TEST_F(ConvolutionVolumesTest, GroupsOfAVectorOfFilters) {
  const int64_t channels[][3] = {{48, 48, 3}, {32, 20, 2}, {15, 36, 3}, {72, 48, 3}};
  const int64_t sizes[][2] = {{2, 14}, {3, 16}, {5, 15}, {9, 28}, {35, 40}};
  for (const auto& [in, out, groups] : channels) {
    for (const auto& [height, width] : sizes) {
      for (bool other : {false, true}) {
        ASSERT_TRUE(comparison_.Compare(CallOf(
            {{2, in, height, width}, out, groups, false, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
            true, other, {"none", "add", 0, 6})));
      }
    }
    ASSERT_TRUE(comparison_.Compare(
        CallOf({{1, in, 9, 18}, out, groups, false, {4, 2}, {1, 1}, {3, 0, 1, 3}, {0, 0}, {2, 3}},
               false, true, {"silu", "mul"})));
    ASSERT_TRUE(comparison_.Compare(CallOf(
        {{1, in, 2, 19}, out, groups, false, {1, 3}, {1, 1}, {0, 1}, {0, 0}, {1, 1}}, true)));
  }
}

// Each phase of the columns is copied to pixels of its own.
TEST_F(ConvolutionVolumesTest, StridedGroupsOfAVectorOfFilters) {
  const int64_t channels[][3] = {{48, 48, 3}, {32, 20, 2}, {15, 36, 3}, {8, 12, 1}, {25, 16, 1}};
  for (const auto& [in, out, groups] : channels) {
    for (const int64_t height : {4, 33}) {
      for (const int64_t width : {28, 29, 44}) {
        ASSERT_TRUE(comparison_.Compare(CallOf(
            {{2, in, height, width}, out, groups, false, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}},
            true, true, {"none", "add", 0, 6})));
      }
    }
    ASSERT_TRUE(comparison_.Compare(CallOf(
        {{1, in, 9, 50}, out, groups, false, {4, 5}, {3, 3}, {3, 0, 1, 4}, {0, 0}, {1, 2}})));
    ASSERT_TRUE(comparison_.Compare(
        CallOf({{1, in, 7, 33}, out, groups, false, {2, 3}, {1, 2}, {0, 0}, {0, 0}, {2, 3}})));
    ASSERT_TRUE(comparison_.Compare(
        CallOf({{1, in, 5, 15}, out, groups, false, {3, 2}, {2, 1}, {1, 1}, {0, 0}, {1, 1}})));
    // Images of fewer columns than the stride: phases are only padding.
    for (const int64_t width : {1, 2, 3}) {
      ASSERT_TRUE(comparison_.Compare(CallOf({{2, in, 3, width},
                                              out,
                                              groups,
                                              false,
                                              {3, 3},
                                              {3, 3},
                                              {2, 20, 3, 22},
                                              {0, 0},
                                              {1, 2}})));
    }
  }
}

// The working memory is that of the largest images; smaller ones need no more.
TEST(ConvolutionScratchTest, SufficesForFewerRows) {
  for (const int64_t stride : {1, 2}) {
    for (const int64_t width : {30, 250, 700}) {
      uint64_t before = 0;
      for (int64_t height = 3; height <= 40; ++height) {
        const int64_t out_height = (height - 1) / stride + 1, out_width = (width - 1) / stride + 1;
        const TextCall call =
            ValidCall("convolution")
                .With("input", absl::StrCat("f32[1,64,", height, ",", width, "]:l"))
                .With("weight", "f32[18432]")
                .With("other", "none")
                .With("out_channels", "16")
                .With("bias", "none")
                .With("groups", "1")
                .With("transposed", "false")
                .With("kernel_size", "[3,3]")
                .With("stride", absl::StrCat("[", stride, ",", stride, "]"))
                .WithOutput(0, absl::StrCat("f32[1,16,", out_height, ",", out_width, "]:l"));
        const uint64_t bytes = RunKernel(call, {.plan_only = true}).scratch_bytes;
        EXPECT_GE(bytes, before) << height << "x" << width << ", stride " << stride;
        before = bytes;
      }
    }
  }
}

TEST_F(ConvolutionVolumesTest, VolumesOfAVectorOfFilters) {
  const Convolution cases[] = {
      {{2, 16, 4, 5, 14}, 16, 1, false, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{1, 25, 5, 9, 17}, 11, 1, false, {2, 3, 3}, {2, 1, 1}, {1, 0, 2}, {0, 0, 0}, {3, 1, 1}},
      {{2, 8, 3, 7, 33}, 9, 1, false, {3, 2, 3}, {1, 2, 2}, {2, 1, 1}, {0, 0, 0}, {1, 2, 1}},
      {{1, 32, 3, 40, 15}, 32, 2, false, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
  };
  for (const Convolution& c : cases) {
    for (bool other : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(CallOf(c, true, other)));
    }
    ASSERT_TRUE(comparison_.Compare(CallOf(c, false, true, {"none", "mul", -1, 2})));
    KernelCall call = CallOf(c);
    call.output_layout = Layout::kRowMajor;
    ASSERT_TRUE(comparison_.Compare(call));
  }
}

TEST_F(ConvolutionVolumesTest, TransposedImages) {
  const Convolution cases[] = {
      {{1, 16, 5, 6}, 24, 1, true, {4, 4}, {2, 2}, {1, 1}, {0, 0}, {1, 1}},
      {{2, 16, 3, 4}, 9, 1, true, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}},
      {{2, 8, 3, 4}, 40, 1, true, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
      {{2, 8, 3, 4}, 40, 1, true, {3, 3}, {2, 3}, {1, 1}, {1, 0}, {2, 1}},
      {{1, 8, 1, 1}, 33, 1, true, {4, 4}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
      {{2, 8, 4, 3}, 5, 1, true, {2, 3}, {3, 4}, {0, 0}, {0, 2}, {1, 1}},  // results of the bias
      {{1, 8, 4, 3}, 5, 1, true, {3, 2}, {2, 4}, {1, 0}, {0, 0}, {2, 2}},
      {{1, 3, 1, 40}, 20, 1, true, {1, 16}, {1, 8}, {0, 4}, {0, 0}, {1, 1}},
      {{2, 12, 3, 4}, 18, 3, true, {3, 3}, {2, 2}, {1, 1}, {0, 1}, {1, 1}},
      {{2, 16, 3, 4}, 16, 4, true, {3, 3}, {2, 2}, {1, 1}, {0, 1}, {1, 1}},
      {{2, 20, 3, 4}, 20, 20, true, {4, 4}, {2, 2}, {1, 1}, {0, 0}, {1, 1}},
      {{1, 64, 2, 2}, 64, 2, true, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
  };
  for (const Convolution& c : cases) {
    for (bool other : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(CallOf(c, true, other)));
    }
    ASSERT_TRUE(comparison_.Compare(CallOf(c, false, true, {"none", "mul", -1, 2})));
  }
}

TEST_F(ConvolutionVolumesTest, Volumes) {
  const Convolution cases[] = {
      {{2, 16, 3, 4, 5}, 24, 1, false, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{1, 9, 5, 6, 7},
       8,
       1,
       false,
       {3, 2, 1},
       {2, 1, 3},
       {1, 0, 2, 0, 1, 1},
       {0, 0, 0},
       {2, 1, 1}},
      {{2, 3, 4, 7, 6}, 20, 1, false, {3, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{2, 3, 4, 7, 6}, 20, 1, false, {1, 3, 3}, {1, 1, 1}, {0, 2, 2}, {0, 0, 0}, {1, 1, 2}},
      {{2, 1, 4, 5, 20}, 16, 1, false, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{1, 3, 5, 7, 37}, 20, 1, false, {3, 3, 3}, {2, 1, 2}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{2, 2, 5, 6, 40}, 32, 1, false, {2, 3, 5}, {1, 2, 1}, {1, 1, 2}, {0, 0, 0}, {2, 1, 1}},
      {{2, 16, 3, 5, 7}, 2, 1, false, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}},
      {{2, 20, 3, 5, 7}, 40, 1, false, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}},
      {{1, 20, 3, 4, 5}, 20, 20, false, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{1, 32, 3, 4, 5}, 32, 2, false, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{2, 8, 2, 3, 4}, 6, 1, true, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}},
      {{2, 8, 2, 3, 4}, 6, 1, true, {3, 3, 3}, {2, 1, 2}, {1, 0, 1}, {1, 0, 0}, {1, 1, 1}},
  };
  for (const Convolution& c : cases) {
    for (bool other : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(CallOf(c, true, other)));
    }
  }
}

TEST_F(ConvolutionVolumesTest, DepthwiseVolumes) {
  const Convolution cases[] = {
      {{2, 20, 5, 6, 7}, 20, 20, false, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{1, 40, 5, 19, 11}, 40, 40, false, {3, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{2, 33, 4, 9, 10}, 33, 33, false, {2, 5, 5}, {2, 1, 1}, {0, 2, 2}, {0, 0, 0}, {3, 1, 1}},
      {{1, 16, 6, 7, 9}, 16, 16, false, {3, 1, 3}, {1, 1, 1}, {2, 0, 1}, {0, 0, 0}, {2, 1, 2}},
      // Windows of one pixel per plane.
      {{2, 18, 7, 4, 5}, 18, 18, false, {5, 1, 1}, {1, 1, 1}, {2, 0, 0}, {0, 0, 0}, {1, 1, 1}},
      {{1, 24, 9, 3, 5}, 24, 24, false, {3, 1, 1}, {2, 1, 1}, {2, 0, 0}, {0, 0, 0}, {2, 1, 1}},
      // Results of the bias: no plane of the window is inside.
      {{1, 17, 2, 5, 6}, 17, 17, false, {2, 3, 3}, {1, 1, 1}, {3, 1, 1}, {0, 0, 0}, {1, 1, 1}},
  };
  for (const Convolution& c : cases) {
    for (bool other : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(CallOf(c, true, other)));
      ASSERT_TRUE(comparison_.Compare(CallOf(c, false, other, {"none", "add", -1, 2})));
    }
    ASSERT_TRUE(comparison_.Compare(CallOf(c, true, true, {"none", "mul", -1, 2})));
    for (bool other : {false, true}) {
      KernelCall call = CallOf(c, true, other, {"silu", "add"});
      call.max_ulp = 512, call.ulp_of = UlpOf::kLargest;
      ASSERT_TRUE(comparison_.Compare(call));
    }
    KernelCall call = CallOf(c);
    call.output_layout = Layout::kRowMajor;
    ASSERT_TRUE(comparison_.Compare(call));
  }
}

// Strips of pixels begin and end inside an image.
TEST_F(ConvolutionVolumesTest, ContiguousResults) {
  const Convolution cases[] = {
      {{3, 32, 17, 19}, 32, 2, false, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
      {{3, 16, 17, 19}, 16, 4, false, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
      {{2, 66, 2, 3}, 80, 2, false, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
      {{1, 1600, 3, 40}, 1600, 4, false, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
      {{2, 16, 5, 9, 11}, 24, 1, false, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{2, 3, 5, 9, 11}, 20, 1, false, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{2, 16, 5, 9, 11}, 2, 1, false, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}},
      {{1, 0, 5, 6}, 12, 3, false, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
  };
  for (const Convolution& c : cases) {
    KernelCall call = CallOf(c);
    call.output_layout = Layout::kRowMajor;
    ASSERT_TRUE(comparison_.Compare(call));
  }
}

TEST_F(ConvolutionVolumesTest, Epilogues) {
  const Convolution cases[] = {
      {{1, 32, 5, 6}, 32, 2, false, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
      {{1, 20, 5, 6}, 20, 5, false, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
      {{1, 2, 2, 3, 18}, 21, 1, false, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
      {{1, 12, 3, 7}, 19, 1, true, {4, 4}, {2, 2}, {1, 1}, {0, 0}, {1, 1}},
      {{1, 12, 3, 7}, 19, 1, true, {1, 1}, {2, 2}, {0, 0}, {1, 1}, {1, 1}},
  };
  for (const Convolution& c : cases) {
    for (std::string_view activation : {"sigmoid", "tanh", "hardswish", "silu", "gelu"}) {
      for (std::string_view combine : {"add", "mul"}) {
        KernelCall call = CallOf(c, true, true, {activation, combine});
        call.max_ulp = 512, call.ulp_of = UlpOf::kLargest;
        ASSERT_TRUE(comparison_.Compare(call));
      }
    }
  }
}

TEST_F(ConvolutionVolumesTest, NoImagesAndNoChannels) {
  ASSERT_TRUE(comparison_.Compare(
      CallOf({{0, 12, 5, 6}, 12, 3, false, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}})));
  ASSERT_TRUE(comparison_.Compare(
      CallOf({{1, 0, 5, 6}, 12, 3, false, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}})));
  ASSERT_TRUE(comparison_.Compare(
      CallOf({{1, 0, 5, 6}, 12, 1, true, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}})));
}

}  // namespace
}  // namespace belay::cpu
