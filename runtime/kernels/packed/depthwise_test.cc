#include "runtime/kernels/packed/depthwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/depthwise_testing.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {
namespace {

// Images of 2 x height x width, all in guarded memory.
struct Problem {
  DepthwiseArgs g;
  GuardedFloats in, weight, packed, bias, other, out;

  Problem(int64_t channels, int64_t height, int64_t width, const TestWindow& w,
          std::mt19937_64& random)
      : in(static_cast<size_t>(2 * height * width * channels)),
        weight(static_cast<size_t>(channels * w.height * w.width)),
        packed(static_cast<size_t>(*PackedDepthwiseSize(channels, w.height * w.width))),
        bias(static_cast<size_t>(channels)),
        other(OutputSize(TestGeometry(channels, height, width, w))),
        out(other.size(), std::numeric_limits<float>::quiet_NaN()) {
    in.Fill(random);
    weight.Fill(random);
    bias.Fill(random);
    other.Fill(random);
    const int64_t taps = w.height * w.width;
    PackDepthwise(weight.data(), channels, taps, taps, 1, packed.data());
    static_cast<DepthwiseGeometry&>(g) = TestGeometry(channels, height, width, w);
    g.in = in.data();
    g.weight = packed.data();
    g.out = out.data();
    g.epilogue.bias = bias.data();
  }
  int64_t rows() const { return g.batch * g.out_height; }

  // Expects every element within the header's error bound.
  void Check() {
    const int64_t taps = g.kernel_height * g.kernel_width;
    for (int64_t r = 0; r < rows(); ++r) {
      const int64_t image = r / g.out_height, y = r % g.out_height;
      for (int64_t x = 0; x < g.out_width; ++x) {
        for (int64_t c = 0; c < g.channels; ++c) {
          double want = bias[static_cast<size_t>(c)], magnitude = std::abs(want);
          for (int64_t t = 0; t < taps; ++t) {
            const int64_t iy = y * g.stride_y - g.padding_y + t / g.kernel_width * g.dilation_y;
            const int64_t ix = x * g.stride_x - g.padding_x + t % g.kernel_width * g.dilation_x;
            if (iy < 0 || iy >= g.height || ix < 0 || ix >= g.width) continue;
            const size_t at =
                static_cast<size_t>(((image * g.height + iy) * g.width + ix) * g.channels + c);
            const double product = double{in[at]} * weight[static_cast<size_t>(c * taps + t)];
            want += product;
            magnitude += std::abs(product);
          }
          const auto at = static_cast<size_t>((r * g.out_width + x) * g.channels + c);
          ASSERT_NEAR(out[at], want, static_cast<double>(taps + 4) * 0x1p-24 * magnitude)
              << g.channels << " channels, " << g.height << "x" << g.width << ", window "
              << g.kernel_width << " at " << r << "," << x << "," << c;
        }
      }
    }
  }
};

class DepthwiseTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};
};

TEST_P(DepthwiseTest, WindowsSizesAndChannels) {
  const TestWindow windows[] = {{3, 3, 1, 1, 1}, {3, 3, 2, 1, 1}, {3, 3, 1, 0, 1}, {3, 3, 2, 0, 1},
                                {5, 5, 1, 2, 1}, {5, 5, 2, 2, 1}, {3, 3, 1, 2, 2}, {7, 7, 1, 3, 1},
                                {2, 2, 3, 0, 1}, {3, 3, 1, 5, 1}, {1, 1, 1, 0, 1}, {5, 5, 2, 4, 1},
                                {3, 3, 3, 1, 1}, {7, 7, 2, 3, 1}, {5, 3, 1, 1, 1}, {3, 3, 1, 6, 4},
                                {2, 4, 1, 1, 1}, {1, 9, 1, 4, 1}, {3, 6, 2, 2, 1}, {9, 1, 1, 4, 1}};
  for (const TestWindow& w : windows) {
    for (int64_t width : {1, 2, 3, 5, 7, 9, 12, 19}) {
      if (WindowPlaces(width, w.width, w) < 1) continue;
      for (int64_t channels : {1, 4, 7, 16, 19, 32, 40}) {
        Problem p(channels, width, width, w, random_);
        DepthwiseRows(p.g, 0, p.rows());
        p.Check();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(DepthwiseTest, ResultsDoNotDependOnTheRange) {
  Problem p(24, 9, 11, {3, 3, 1, 1, 1}, random_);
  DepthwiseRows(p.g, 0, p.rows());
  const std::vector<float> whole(p.out.data(), p.out.data() + p.out.size());
  for (int64_t split = 1; split < p.rows(); ++split) {
    std::fill(p.out.data(), p.out.data() + p.out.size(), 7.0f);
    DepthwiseRows(p.g, 0, split);
    DepthwiseRows(p.g, split, p.rows());
    ASSERT_EQ(std::memcmp(whole.data(), p.out.data(), whole.size() * sizeof(float)), 0);
  }
}

// Input and result are ring buffers of the last rows; a few rows are computed at a time.
TEST_P(DepthwiseTest, RowsInRingBuffers) {
  for (const TestWindow& w : {TestWindow{3, 3, 1, 1, 1}, TestWindow{3, 3, 2, 1, 1},
                              TestWindow{5, 5, 1, 2, 1}, TestWindow{3, 3, 1, 2, 2}}) {
    for (Activation activation : {Activation::kNone, Activation::kHardswish}) {
      Problem p(21, 17, 9, w, random_);
      p.g.batch = 1;
      p.g.epilogue.activation = activation;
      DepthwiseRows(p.g, 0, p.rows());
      const int64_t in_row = p.g.width * p.g.channels, out_row = p.g.out_width * p.g.channels;
      // At most the input rows that two rows of results read.
      constexpr int64_t kInRows = 8, kOutRows = 4;
      GuardedFloats in(static_cast<size_t>(kInRows * in_row));
      GuardedFloats out(static_cast<size_t>(kOutRows * out_row), 7.0f);
      DepthwiseArgs ring = p.g;
      ring.in = in.data();
      ring.out = out.data();
      ring.in_row_mask = kInRows - 1;
      ring.out_row_mask = kOutRows - 1;
      int64_t written = 0;
      for (int64_t y = 0; y < p.rows();) {
        const int64_t end = std::min(p.rows(), y + 1 + y % 2);  // also pairs that begin at odd rows
        const int64_t reach = (w.height - 1) * w.dilation;
        const int64_t met = std::min(p.g.height, (end - 1) * w.stride - w.padding + reach + 1);
        for (; written < met; ++written) {
          std::memcpy(in.data() + (written & ring.in_row_mask) * in_row,
                      p.in.data() + written * in_row, static_cast<size_t>(in_row) * sizeof(float));
        }
        DepthwiseRows(ring, y, end);
        for (; y < end; ++y) {
          ASSERT_EQ(
              std::memcmp(out.data() + (y & ring.out_row_mask) * out_row,
                          p.out.data() + y * out_row, static_cast<size_t>(out_row) * sizeof(float)),
              0)
              << "row " << y << " of a window of " << w.height << ", stride " << w.stride;
        }
      }
    }
  }
}

// Same epilogue functions as for GEMM.
TEST_P(DepthwiseTest, EveryEpilogue) {
  for (int64_t channels : {8, 21}) {
    for (int activation = 0; activation <= static_cast<int>(Activation::kGeluTanh); ++activation) {
      for (int combine : {0, 1, 2}) {
        Problem p(channels, 6, 6, {3, 3, 1, 1, 1}, random_);
        DepthwiseRows(p.g, 0, p.rows());
        const std::vector<float> sums(p.out.data(), p.out.data() + p.out.size());
        EpilogueF32& e = p.g.epilogue;
        e.activation = static_cast<Activation>(activation);
        e.low = -0.5;
        e.high = 3;
        e.multiply = combine == 2;
        if (combine != 0) e.other = p.other.data();
        DepthwiseRows(p.g, 0, p.rows());
        for (size_t i = 0; i < sums.size(); ++i) {
          const double other = p.other[i];
          const double x = sums[i] + (combine == 1 ? other : 0.0);
          if (activation == static_cast<int>(Activation::kNone)) {
            const double product = combine == 2 ? x * other : x;
            ASSERT_NEAR(p.out[i], std::fmin(std::fmax(product, -0.5), 3),
                        2 * 0x1p-24 * (std::abs(x) + std::abs(product)));
          } else {
            ASSERT_GE(p.out[i], -0.5f);
            ASSERT_LE(p.out[i], 3.0f);
          }
        }
      }
    }
  }
}

TEST_P(DepthwiseTest, PaddingDoesNotChangeInfinities) {
  Problem p(16, 3, 3, {3, 3, 1, 1, 1}, random_);
  for (size_t i = 0; i < p.packed.size(); ++i) p.packed[i] = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < p.in.size(); ++i) p.in[i] = 1;
  DepthwiseRows(p.g, 0, p.rows());
  for (size_t i = 0; i < p.out.size(); ++i) {
    EXPECT_EQ(p.out[i], std::numeric_limits<float>::infinity());
  }
}

INSTANTIATE_TEST_SUITE_P(, DepthwiseTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
