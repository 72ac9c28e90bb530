#include "runtime/kernels/packed/quantized_depthwise.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/depthwise_testing.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/requantize_reference.h"

namespace belay {
namespace {

// Images of 2 x size x size, all in guarded memory.
struct Problem {
  QuantizedDepthwiseArgs g;
  GuardedArray<uint8_t> in, bytes;
  GuardedArray<int8_t> weight, packed;
  GuardedFloats scale, bias, floats;
  GuardedArray<int32_t> weight_sums;

  Problem(int64_t channels, int64_t size, const TestWindow& w, std::mt19937_64& random)
      : Problem(channels, size, w, random,
                (channels + size) % 2 == 0 ? GuardedSide::kEnd : GuardedSide::kBegin) {}
  Problem(int64_t channels, int64_t size, const TestWindow& w, std::mt19937_64& random,
          GuardedSide side)
      : in(static_cast<size_t>(2 * size * size * channels), 0, side),
        bytes(OutputSize(TestGeometry(channels, size, size, w)), 0, side),
        weight(static_cast<size_t>(channels * w.height * w.width)),
        packed(static_cast<size_t>(*PackedQuantizedDepthwiseSize(channels, w.height, w.width)), 0,
               side),
        scale(static_cast<size_t>(channels), 0, side),
        bias(static_cast<size_t>(channels), 0, side),
        floats(bytes.size(), std::numeric_limits<float>::quiet_NaN(), side),
        weight_sums(static_cast<size_t>(channels), 0, side) {
    in.Fill(random);
    weight.Fill(random);
    bias.Fill(random);
    scale.Fill(random);
    for (size_t c = 0; c < scale.size(); ++c) scale[c] *= 0.002f;
    static_cast<DepthwiseGeometry&>(g) = TestGeometry(channels, size, size, w);
    g.in = in.data();
    g.weight = packed.data();
    Pack();
    g.epilogue.scale = scale.data();
    g.epilogue.bias = bias.data();
    g.epilogue.weight_sums = weight_sums.data();
    g.epilogue.input_zero_point = std::uniform_int_distribution<int32_t>(0, 255)(random);
    g.epilogue.inverse_scale = 5;
    g.epilogue.zero_point = std::uniform_int_distribution<int32_t>(0, 255)(random);
  }
  void Pack() {
    const int64_t taps = g.kernel_height * g.kernel_width;
    PackQuantizedDepthwise(weight.data(), g.channels, g.kernel_height, g.kernel_width, taps, 1,
                           packed.data());
    for (int64_t c = 0; c < g.channels; ++c) {
      int32_t& sum = weight_sums[static_cast<size_t>(c)] = 0;
      for (int64_t t = 0; t < taps; ++t) sum += weight[static_cast<size_t>(c * taps + t)];
    }
  }
  int64_t rows() const { return g.batch * g.out_height; }

  void Run(bool quantizes, int64_t first, int64_t last) {
    g.epilogue.quantizes = quantizes;
    g.out = quantizes ? static_cast<void*>(bytes.data()) : floats.data();
    QuantizedDepthwiseRows(g, first, last);
  }

  int64_t Sum(int64_t r, int64_t x, int64_t c) {
    const int64_t image = r / g.out_height, y = r % g.out_height;
    const int64_t taps = g.kernel_height * g.kernel_width;
    int64_t sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t iy = y * g.stride_y - g.padding_y + t / g.kernel_width * g.dilation_y;
      const int64_t ix = x * g.stride_x - g.padding_x + t % g.kernel_width * g.dilation_x;
      const bool inside = iy >= 0 && iy < g.height && ix >= 0 && ix < g.width;
      const int64_t value =
          inside
              ? in[static_cast<size_t>(((image * g.height + iy) * g.width + ix) * g.channels + c)]
              : g.epilogue.input_zero_point;
      sum += value * weight[static_cast<size_t>(c * taps + t)];
    }
    return sum;
  }

  // Compares the float and uint8 results of an epilogue without an activation bit by bit.
  void Check() {
    Run(true, 0, rows());
    Run(false, 0, rows());
    const QuantizedEpilogue& e = g.epilogue;
    for (int64_t r = 0; r < rows(); ++r) {
      for (int64_t x = 0; x < g.out_width; ++x) {
        for (int64_t c = 0; c < g.channels; ++c) {
          const auto at = static_cast<size_t>((r * g.out_width + x) * g.channels + c);
          const float y = RealSum(e, Sum(r, x, c), static_cast<size_t>(c));
          ASSERT_EQ(bytes[at], QuantizedReal(e, y))
              << g.channels << " channels, " << g.height << "x" << g.width << ", window "
              << g.kernel_height << "x" << g.kernel_width << " at " << r << "," << x << "," << c;
          ASSERT_EQ(floats[at], FinishedReal(e, y));
        }
      }
    }
  }
};

class QuantizedDepthwiseTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};
};

TEST_P(QuantizedDepthwiseTest, WindowsSizesAndChannels) {
  const TestWindow windows[] = {{3, 3, 1, 1, 1}, {3, 3, 2, 1, 1}, {3, 3, 1, 0, 1}, {3, 3, 2, 0, 1},
                                {5, 5, 1, 2, 1}, {5, 5, 2, 2, 1}, {3, 3, 1, 2, 2}, {7, 7, 1, 3, 1},
                                {2, 2, 3, 0, 1}, {3, 3, 1, 5, 1}, {1, 1, 1, 0, 1}, {5, 5, 2, 4, 1},
                                {3, 3, 3, 1, 1}, {4, 3, 1, 1, 1}, {2, 5, 1, 1, 1}, {9, 3, 1, 4, 1},
                                {1, 3, 2, 1, 1}, {6, 5, 1, 2, 1}, {9, 5, 1, 4, 1}};
  for (const TestWindow& w : windows) {
    for (int64_t size : {1, 2, 3, 5, 7, 12}) {
      if (OutputSize(TestGeometry(1, size, size, w)) == 0) continue;
      for (int64_t channels : {1, 7, 16, 19, 32, 56, 64, 115}) {
        Problem p(channels, size, w, random_);
        p.Check();
        if (HasFatalFailure()) return;
      }
    }
  }
}

// One row at a time.
TEST_P(QuantizedDepthwiseTest, LongRows) {
  Problem p(7, 259, {3, 3, 1, 1, 1}, random_);
  p.Check();
}

TEST_P(QuantizedDepthwiseTest, ExtremeOperands) {
  for (uint8_t value : {0, 255}) {
    for (int8_t factor : {-128, 127}) {
      for (int32_t zero_point : {0, 255}) {
        Problem p(80, 6, {5, 5, 1, 2, 1}, random_);
        std::fill(p.in.data(), p.in.data() + p.in.size(), value);
        std::fill(p.weight.data(), p.weight.data() + p.weight.size(), factor);
        p.Pack();
        p.g.epilogue.input_zero_point = zero_point;
        p.g.epilogue.zero_point = zero_point;
        p.Check();
      }
    }
  }
}

TEST_P(QuantizedDepthwiseTest, ClampsAndHugeValues) {
  for (float value : {1.0f, 3e9f, std::numeric_limits<float>::infinity()}) {
    Problem p(70, 6, {3, 3, 1, 1, 1}, random_);
    p.bias[3] = value;
    p.bias[66] = -value;
    p.g.epilogue.low = 0;
    p.g.epilogue.high = 6;
    p.g.epilogue.zero_point = p.g.epilogue.quant_min = 5;
    p.g.epilogue.quant_max = 33;
    p.Check();
  }
}

TEST_P(QuantizedDepthwiseTest, InnerQuantization) {
  for (int64_t channels : {64, 70}) {
    Problem p(channels, 6, {3, 3, 1, 1, 1}, random_);
    QuantizedEpilogue& e = p.g.epilogue;
    e.rounds = true;
    e.inner_scale = 0.3f;
    e.inner_inverse_scale = 1 / e.inner_scale;
    e.inner_zero_point = e.inner_quant_min = 100;
    e.inner_quant_max = 140;
    p.Check();
  }
}

TEST_P(QuantizedDepthwiseTest, WithoutBiasAndZeroPoint) {
  Problem p(40, 6, {3, 3, 1, 1, 1}, random_);
  p.g.epilogue.bias = nullptr;
  p.g.epilogue.weight_sums = nullptr;
  p.g.epilogue.input_zero_point = 0;
  p.Check();
}

TEST_P(QuantizedDepthwiseTest, ActivationPrecedesClamp) {
  Problem p(40, 6, {3, 3, 1, 1, 1}, random_);
  QuantizedEpilogue& e = p.g.epilogue;
  e.activation = Activation::kHardswish;
  e.low = -0.2f;
  e.high = 2;
  p.Run(true, 0, p.rows());
  p.Run(false, 0, p.rows());
  for (int64_t i = 0; i < static_cast<int64_t>(p.bytes.size()); ++i) {
    const int64_t c = i % 40, x = i / 40 % p.g.out_width, r = i / 40 / p.g.out_width;
    const double y = RealSum(e, p.Sum(r, x, c), static_cast<size_t>(c));
    const double want = std::fmin(std::fmax(y * std::fmin(std::fmax(y + 3, 0), 6) / 6, -0.2f), 2);
    const float got = p.floats[static_cast<size_t>(i)];
    ASSERT_NEAR(got, want, 16 * 0x1p-24 * (std::abs(y) + std::abs(want)));
    ASSERT_EQ(p.bytes[static_cast<size_t>(i)], QuantizedReal(e, got));
  }
}

TEST_P(QuantizedDepthwiseTest, ResultsDoNotDependOnTheRange) {
  Problem p(88, 11, {3, 3, 1, 1, 1}, random_);
  p.Run(true, 0, p.rows());
  const std::vector<uint8_t> whole(p.bytes.data(), p.bytes.data() + p.bytes.size());
  for (int64_t split = 1; split < p.rows(); ++split) {
    std::fill(p.bytes.data(), p.bytes.data() + p.bytes.size(), uint8_t{7});
    p.Run(true, 0, split);
    p.Run(true, split, p.rows());
    ASSERT_EQ(std::vector<uint8_t>(p.bytes.data(), p.bytes.data() + p.bytes.size()), whole);
  }
}

INSTANTIATE_TEST_SUITE_P(, QuantizedDepthwiseTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
