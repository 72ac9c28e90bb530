// Compares bfloat16 kernels with reference loops on each instruction set: bit for bit where sums
// are exact, else within the tolerance of each call. Inexact sums are bounded in
// runtime/kernels/packed/bfloat16_gemm_test.cc.
#include <limits>
#include <string_view>
#include <vector>

#include "backends/cpu/bfloat16_calls.h"
#include "backends/cpu/kernels/comparison_testing.h"
#include "backends/cpu/kernels/cpu_kernels.h"
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kBF16 = DType::kBFloat16;

struct Epilogue {
  std::string_view activation = "none", combine = "add";
  double low = -kInf, high = kInf;
};

// Integers of magnitude up to 8: sums of up to 2^18 products are exact in float32.
TestTensorSpec Small(DType dtype, Sizes sizes, Layout layout = Layout::kRowMajor) {
  return {.dtype = dtype, .sizes = sizes, .layout = layout, .below = -8};
}
TestArgument If(bool is, TestTensorSpec tensor) {
  return is ? TestArgument(tensor) : TestArgument(EValue());
}

KernelCall Finished(std::string_view op, std::vector<TestArgument> arguments, const Epilogue& e) {
  KernelCall call;
  call.op = op;
  call.arguments = std::move(arguments);
  call.arguments.insert(call.arguments.end(),
                        {EValue(e.activation), EValue(e.combine), EValue(e.low), EValue(e.high)});
  call.outputs = {kBF16};
  // Activations may round a tie differently, and erf and exp underflow early.
  if (e.activation != "none") call.max_ulp = 1, call.ulp_of = UlpOf::kLargest;
  return call;
}

KernelCall Linear(Sizes input, int64_t features, bool bias, bool other, const Epilogue& e = {}) {
  Sizes result = input;
  const int64_t k = input[input.size() - 1];
  result[result.size() - 1] = features;
  return Finished("belay_cpu.bfloat16_linear.default",
                  {Small(kBF16, input), Small(kBF16, {*PackedVnni2Size(k, features)}),
                   If(bias, Small(DType::kFloat32, {features})), If(other, Small(kBF16, result)),
                   EValue(features)},
                  e);
}

struct Convolution {
  int64_t batch, channels, height, width, out_channels, kernel, stride, padding, dilation;
};

KernelCall CallOf(const Convolution& c, bool bias, bool other, const Epilogue& e = {},
                  Layout layout = Layout::kChannelsLast) {
  const auto outputs = [&](int64_t size) {
    return (size + 2 * c.padding - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
  };
  const Sizes result = {c.batch, c.out_channels, outputs(c.height), outputs(c.width)};
  std::vector<TestArgument> arguments = {
      Small(kBF16, {c.batch, c.channels, c.height, c.width}, layout),
      Small(kBF16, {*PackedPairFiltersSize(c.channels, c.kernel * c.kernel, c.out_channels)}),
      If(bias, Small(DType::kFloat32, {c.out_channels})),
      If(other, Small(kBF16, result, Layout::kChannelsLast)), EValue(c.out_channels)};
  for (int64_t number : {c.kernel, c.stride, c.padding, c.dilation}) {
    arguments.push_back(std::vector<int64_t>{number, number});
  }
  KernelCall call = Finished("belay_cpu.bfloat16_conv2d.default", std::move(arguments), e);
  call.output_layout = Layout::kChannelsLast;
  return call;
}

// `c.out_channels` is not used.
KernelCall Depthwise(const Convolution& c, bool bias, bool other, const Epilogue& e = {}) {
  const auto outputs = [&](int64_t size) {
    return (size + 2 * c.padding - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
  };
  const Sizes result = {c.batch, c.channels, outputs(c.height), outputs(c.width)};
  std::vector<TestArgument> arguments = {
      Small(kBF16, {c.batch, c.channels, c.height, c.width}, Layout::kChannelsLast),
      Small(DType::kFloat32, {*PackedDepthwiseSize(c.channels, c.kernel * c.kernel)}),
      If(bias, Small(DType::kFloat32, {c.channels})),
      If(other, Small(kBF16, result, Layout::kChannelsLast))};
  for (int64_t number : {c.kernel, c.stride, c.padding, c.dilation}) {
    arguments.push_back(std::vector<int64_t>{number, number});
  }
  KernelCall call =
      Finished("belay_cpu.bfloat16_depthwise_conv2d.default", std::move(arguments), e);
  call.output_layout = Layout::kChannelsLast;
  return call;
}

struct GeneralConvolution {
  std::vector<int64_t> input;  // [n, c, ...]
  int64_t out_channels, groups;
  bool transposed;
  std::vector<int64_t> kernel, stride, padding, output_padding, dilation;
};

KernelCall General(const GeneralConvolution& c, bool bias, bool other, const Epilogue& e = {}) {
  const size_t spatial = c.kernel.size();
  VolumeWindow window;
  Sizes sizes{absl::MakeConstSpan(c.input)}, result = sizes;
  result[1] = c.out_channels;
  for (size_t s = 0; s < spatial; ++s) {
    window.axes[3 - spatial + s] = {.kernel = c.kernel[s]};
    const int64_t reach = c.dilation[s] * (c.kernel[s] - 1) + 1;
    int64_t& size = result[static_cast<int>(2 + s)];
    size = c.transposed ? (size - 1) * c.stride[s] + reach + c.output_padding[s] - 2 * c.padding[s]
                        : (size + 2 * c.padding[s] - reach) / c.stride[s] + 1;
  }
  const int64_t weights =
      *PackedPairVolumesSize(window, c.groups, c.input[1] / c.groups, c.out_channels);
  KernelCall call = Finished("belay_cpu.bfloat16_convolution.default",
                             {Small(kBF16, sizes, Layout::kChannelsLast), Small(kBF16, {weights}),
                              If(bias, Small(DType::kFloat32, {c.out_channels})),
                              If(other, Small(kBF16, result, Layout::kChannelsLast)),
                              EValue(c.out_channels), EValue(c.groups), EValue(c.transposed),
                              c.kernel, c.stride, c.padding, c.output_padding, c.dilation},
                             e);
  call.output_layout = Layout::kChannelsLast;
  return call;
}

using BFloat16KernelsTest = CpuKernelComparisonTest;

TEST_F(BFloat16KernelsTest, LinearOfEveryRank) {
  for (bool bias : {false, true}) {
    for (bool other : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(Linear({8}, 5, bias, other)));
      ASSERT_TRUE(comparison_.Compare(Linear({1, 40}, 70, bias, other)));
      ASSERT_TRUE(comparison_.Compare(Linear({3, 5, 34}, 31, bias, other)));
      ASSERT_TRUE(comparison_.Compare(Linear({2, 13, 1, 8}, 64, bias, other)));
      ASSERT_TRUE(comparison_.Compare(Linear({4, 0}, 33, bias, other)));  // empty sums
    }
  }
  ASSERT_TRUE(
      comparison_.Compare(Linear({14, 2048}, 33, true, false)));  // rows of one L1 cache way
  ASSERT_TRUE(comparison_.Compare(Linear({0, 4}, 3, true, false)));
}

TEST_F(BFloat16KernelsTest, ConvolutionsReadRowsOrPixels) {
  const Convolution cases[] = {{1, 16, 5, 6, 24, 1, 1, 0, 1},    // rows
                               {1, 2048, 2, 7, 33, 1, 1, 0, 1},  // rows of one L1 cache way
                               {2, 16, 9, 7, 20, 3, 1, 1, 1},    // taps
                               {1, 8, 9, 7, 33, 3, 2, 1, 1},    {1, 12, 11, 9, 17, 3, 1, 2, 2},
                               {1, 10, 6, 6, 5, 1, 2, 0, 1},    {1, 8, 4, 4, 8, 1, 1, 2, 1},
                               {0, 16, 5, 5, 7, 3, 1, 1, 1}};
  for (const Convolution& c : cases) {
    for (bool bias : {false, true}) {
      for (bool other : {false, true}) {
        ASSERT_TRUE(comparison_.Compare(CallOf(c, bias, other)));
      }
    }
  }
}

TEST_F(BFloat16KernelsTest, FewChannelsArePaddedWithZeros) {
  for (int64_t channels = 1; channels < kFewChannels; ++channels) {
    for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast, Layout::kGaps}) {
      const Convolution cases[] = {{2, channels, 9, 7, 20, 3, 2, 1, 1},
                                   {1, channels, 9, 7, 33, 3, 1, 2, 2},
                                   {1, channels, 5, 6, 24, 1, 1, 0, 1},
                                   {1, channels, 6, 6, 8, 2, 2, 0, 1}};
      for (const Convolution& c : cases) {
        ASSERT_TRUE(comparison_.Compare(CallOf(c, true, false, {}, layout)));
      }
    }
  }
}

TEST_F(BFloat16KernelsTest, Groups) {
  const int64_t channels[][3] = {{32, 32, 2}, {48, 24, 3}, {12, 18, 2}, {16, 48, 4},
                                 {66, 81, 3}, {40, 40, 4}, {96, 96, 6}, {20, 30, 5}};
  for (const auto& [in, out, groups] : channels) {
    for (bool other : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(
          General({{2, in, 5, 7}, out, groups, false, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 1}}, true,
                  other, {"none", "add", 0, kInf})));
      ASSERT_TRUE(comparison_.Compare(
          General({{1, in, 9, 8}, out, groups, false, {3, 2}, {2, 1}, {2, 0}, {0, 0}, {2, 3}},
                  false, other)));
      ASSERT_TRUE(comparison_.Compare(
          General({{1, in, 6, 5}, out, groups, false, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, true,
                  other)));
    }
  }
}

TEST_F(BFloat16KernelsTest, TransposedConvolutionsByPhases) {
  const int64_t channels[][3] = {{16, 12, 1}, {32, 40, 1}, {32, 36, 2}, {2, 3, 1}};
  for (const auto& [in, out, groups] : channels) {
    for (bool other : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(
          General({{2, in, 4, 5}, out, groups, true, {4, 4}, {2, 2}, {1, 1}, {0, 0}, {1, 1}}, true,
                  other, {"silu", "add", -kInf, kInf})));
      ASSERT_TRUE(comparison_.Compare(
          General({{1, in, 5, 3}, out, groups, true, {2, 3}, {3, 2}, {0, 1}, {1, 1}, {1, 2}}, false,
                  other)));
      ASSERT_TRUE(comparison_.Compare(
          General({{1, in, 3, 4}, out, groups, true, {1, 1}, {2, 2}, {0, 0}, {1, 1}, {1, 1}}, true,
                  other)));
    }
  }
}

TEST_F(BFloat16KernelsTest, Volumes) {
  for (const int64_t channels : {1, 3, 6, 8, 18}) {
    for (bool other : {false, true}) {
      ASSERT_TRUE(comparison_.Compare(General({{1, channels, 4, 5, 6},
                                               20,
                                               1,
                                               false,
                                               {3, 3, 3},
                                               {1, 1, 1},
                                               {1, 1, 1},
                                               {0, 0, 0},
                                               {1, 1, 1}},
                                              true, other)));
      ASSERT_TRUE(comparison_.Compare(General({{2, channels, 5, 4, 7},
                                               33,
                                               1,
                                               false,
                                               {2, 3, 1},
                                               {2, 1, 2},
                                               {0, 1, 0},
                                               {0, 0, 0},
                                               {1, 1, 1}},
                                              false, other)));
    }
  }
  ASSERT_TRUE(comparison_.Compare(
      General({{1, 8, 2, 3, 4}, 20, 1, true, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}},
              true, true)));
}

TEST_F(BFloat16KernelsTest, DepthwiseConvolutionsOfEveryWindow) {
  const Convolution cases[] = {{2, 16, 9, 7, 0, 3, 1, 1, 1}, {1, 33, 9, 11, 0, 3, 2, 1, 1},
                               {1, 20, 8, 9, 0, 5, 1, 2, 1}, {1, 40, 9, 9, 0, 5, 2, 2, 1},
                               {1, 24, 9, 9, 0, 7, 1, 3, 1}, {1, 7, 11, 9, 0, 3, 1, 2, 2},
                               {1, 16, 6, 6, 0, 2, 3, 0, 1}, {0, 16, 5, 5, 0, 3, 1, 1, 1}};
  for (const Convolution& c : cases) {
    for (bool bias : {false, true}) {
      for (bool other : {false, true}) {
        ASSERT_TRUE(comparison_.Compare(Depthwise(c, bias, other)));
      }
    }
  }
}

TEST_F(BFloat16KernelsTest, Epilogues) {
  for (const Epilogue& e :
       {Epilogue{"none", "add", 0, kInf}, Epilogue{"none", "add", -1, 2},
        Epilogue{"none", "mul", -kInf, kInf}, Epilogue{"none", "mul", -300, 300}}) {
    ASSERT_TRUE(comparison_.Compare(Linear({14, 10}, 35, true, true, e)));
    ASSERT_TRUE(comparison_.Compare(CallOf({1, 16, 5, 5, 19, 3, 1, 1, 1}, true, true, e)));
    ASSERT_TRUE(comparison_.Compare(Depthwise({1, 19, 5, 5, 0, 3, 1, 1, 1}, true, true, e)));
  }
  for (std::string_view activation :
       {"sigmoid", "tanh", "hardsigmoid", "hardswish", "silu", "gelu", "gelu_tanh"}) {
    const Epilogue e = {activation, "add", -kInf, kInf};
    ASSERT_TRUE(comparison_.Compare(Linear({14, 10}, 35, true, true, e)));
    ASSERT_TRUE(comparison_.Compare(CallOf({1, 16, 5, 5, 19, 3, 1, 1, 1}, true, false, e)));
    ASSERT_TRUE(comparison_.Compare(Depthwise({1, 19, 5, 5, 0, 3, 1, 1, 1}, true, false, e)));
  }
}

}  // namespace
}  // namespace belay::cpu
