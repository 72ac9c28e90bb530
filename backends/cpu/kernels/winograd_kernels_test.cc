// Compares winograd_conv2d with reference loops, bit for bit on each instruction set, with elements
// so small that every sum is exact. Rounding is bounded in runtime/kernels/packed/winograd_test.cc.
#include <limits>
#include <string_view>
#include <vector>

#include "backends/cpu/kernels/comparison_testing.h"
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"
#include "runtime/kernels/packed/winograd.h"
#include "runtime/kernels/packed/winograd_weights.h"

namespace belay::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kF32 = DType::kFloat32;

struct Epilogue {
  std::string_view activation = "none", combine = "add";
  double low = -kInf, high = kInf;
};
struct Convolution {
  int64_t batch, channels, height, width, out_channels;
  std::vector<int64_t> padding;
  WinogradTile tile = WinogradTile::k4x4;
};

// Elements -1, 0 and 1. Rows of |A^T| sum to at most 19, of |B^T| to at most 10: sums over up to
// 464 channels are below 2^24.
TestTensorSpec Small(Sizes sizes, Layout layout = Layout::kRowMajor) {
  return {.dtype = kF32, .sizes = sizes, .layout = layout, .below = -2};
}
TestArgument If(bool is, TestTensorSpec tensor) {
  return is ? TestArgument(tensor) : TestArgument(EValue());
}

KernelCall CallOf(const Convolution& c, bool bias, bool other, const Epilogue& e = {}) {
  const std::vector<int64_t>& pad = c.padding;
  const int64_t height = c.height + pad[0] + pad[pad.size() / 2] - 2;
  const int64_t width = c.width + pad[1] + pad[pad.size() - 1] - 2;
  KernelCall call;
  call.op = "belay_cpu.winograd_conv2d.default";
  const auto ones = std::vector<int64_t>{1, 1};
  call.arguments = {
      Small({c.batch, c.channels, c.height, c.width}, Layout::kChannelsLast),
      Small({*PackedWinogradSize(c.tile, 1, c.channels, c.out_channels)}),
      If(bias, Small({c.out_channels})),
      If(other, Small({c.batch, c.out_channels, height, width}, Layout::kChannelsLast)),
      EValue(c.out_channels),
      std::vector<int64_t>{3, 3},
      ones,
      pad,
      ones,
      EValue(e.activation),
      EValue(e.combine),
      EValue(e.low),
      EValue(e.high)};
  call.output_layout = Layout::kChannelsLast;
  return call;
}

using WinogradKernelsTest = CpuKernelComparisonTest;

TEST_F(WinogradKernelsTest, ConvolutionsOfEverySize) {
  const Convolution cases[] = {{1, 8, 4, 4, 32, {1, 1}},        {2, 9, 5, 11, 33, {1, 1}},
                               {1, 1, 3, 3, 1, {0, 0}},         {1, 20, 1, 1, 7, {1, 1}},
                               {2, 16, 6, 5, 40, {0, 1, 2, 3}}, {1, 17, 9, 6, 5, {5, 0, 0, 1}},
                               {0, 16, 8, 8, 8, {1, 1}},        {1, 0, 4, 4, 3, {1, 1}}};
  for (Convolution c : cases) {
    for (const WinogradTile tile : {WinogradTile::k2x2, WinogradTile::k4x4}) {
      c.tile = tile;
      for (bool bias : {false, true}) {
        for (bool other : {false, true}) {
          ASSERT_TRUE(comparison_.Compare(CallOf(c, bias, other)));
        }
      }
    }
  }
}

TEST_F(WinogradKernelsTest, Volumes) {
  for (const WinogradTile tile : {WinogradTile::k2x2, WinogradTile::k4x4}) {
    for (const bool strided : {false, true}) {
      KernelCall call;
      call.op = "belay_cpu.winograd_convolution.default";
      // Planes of the result: 7, or (7 + 2 - 5) / 2 + 1 = 3 with stride and dilation 2.
      const std::vector<int64_t> pad = {1, 1, 1}, zeros = {0, 0, 0}, ones = {1, 1, 1};
      call.arguments = {Small({2, 9, 7, 6, 5}, Layout::kChannelsLast),
                        Small({*PackedWinogradSize(tile, 3, 9, 33)}),
                        Small({33}),
                        Small({2, 33, strided ? 3 : 7, 6, 5}, Layout::kChannelsLast),
                        EValue(int64_t{33}),
                        EValue(int64_t{1}),
                        EValue(false),
                        std::vector<int64_t>{3, 3, 3},
                        strided ? std::vector<int64_t>{2, 1, 1} : ones,
                        pad,
                        zeros,
                        strided ? std::vector<int64_t>{2, 1, 1} : ones,
                        EValue(std::string_view("none")),
                        EValue(std::string_view("add")),
                        EValue(-kInf),
                        EValue(kInf)};
      call.output_layout = Layout::kChannelsLast;
      ASSERT_TRUE(comparison_.Compare(call));
    }
  }
}

// 140 tiles, 120 per chunk.
TEST_F(WinogradKernelsTest, ManyTilesRunInChunks) {
  WinogradArgs g;
  g.channels = 8;
  g.out_channels = 700;
  ASSERT_EQ(WinogradChunkTiles(g), 120);
  ASSERT_TRUE(
      comparison_.Compare(CallOf({2, 8, 20, 13, 700, {1, 1}, WinogradTile::k2x2}, true, true)));
}

TEST_F(WinogradKernelsTest, Epilogues) {
  for (const Epilogue& e : {Epilogue{"none", "add", 0, kInf}, Epilogue{"none", "add", -1, 2},
                            Epilogue{"none", "mul", -kInf, kInf}, Epilogue{"none", "mul", -9, 9}}) {
    ASSERT_TRUE(comparison_.Compare(CallOf({1, 16, 5, 6, 19, {1, 1}}, true, true, e)));
  }
  for (std::string_view activation :
       {"sigmoid", "tanh", "hardsigmoid", "hardswish", "silu", "gelu", "gelu_tanh"}) {
    const Epilogue e = {activation, "add", -kInf, kInf};
    KernelCall call = CallOf({1, 16, 5, 5, 19, {1, 1}}, true, false, e);
    call.max_ulp = 4, call.ulp_of = UlpOf::kLargest;
    ASSERT_TRUE(comparison_.Compare(call));
  }
}

}  // namespace
}  // namespace belay::cpu
