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

TEST_F(BFloat16KernelsTest, Epilogues) {
  for (const Epilogue& e :
       {Epilogue{"none", "add", 0, kInf}, Epilogue{"none", "add", -1, 2},
        Epilogue{"none", "mul", -kInf, kInf}, Epilogue{"none", "mul", -300, 300}}) {
    ASSERT_TRUE(comparison_.Compare(Linear({14, 10}, 35, true, true, e)));
    ASSERT_TRUE(comparison_.Compare(CallOf({1, 16, 5, 5, 19, 3, 1, 1, 1}, true, true, e)));
  }
  for (std::string_view activation :
       {"sigmoid", "tanh", "hardsigmoid", "hardswish", "silu", "gelu", "gelu_tanh"}) {
    const Epilogue e = {activation, "add", -kInf, kInf};
    ASSERT_TRUE(comparison_.Compare(Linear({14, 10}, 35, true, true, e)));
    ASSERT_TRUE(comparison_.Compare(CallOf({1, 16, 5, 5, 19, 3, 1, 1, 1}, true, false, e)));
  }
}

}  // namespace
}  // namespace belay::cpu
