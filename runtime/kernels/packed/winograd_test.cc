#include "runtime/kernels/packed/winograd.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/exact_activation.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/winograd_matrices.h"
#include "runtime/kernels/packed/winograd_weights.h"

namespace belay {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Weight of pixel p and tap t in result r, in one dimension, with the matrices' absolute values.
double Weight(WinogradTile tile, int64_t r, int64_t p, int64_t t) {
  const WinogradMatrices& m = WinogradMatricesOf(tile);
  double sum = 0;
  for (int i = 0; i < 6; ++i) sum += std::abs(m.a[r][i] * m.b[i][p] * m.g[i][t]);
  return sum;
}

struct Shape {
  int64_t batch, channels, height, width, out_channels, padding_y, padding_x;
  int64_t depth = 1, kernel_depth = 1, stride_z = 1, padding_z = 0, dilation_z = 1;

  int64_t OutDepth() const {
    return (depth + 2 * padding_z - dilation_z * (kernel_depth - 1) - 1) / stride_z + 1;
  }
};

// A convolution, all in guarded memory.
struct Problem {
  WinogradArgs g;
  GuardedFloats in, filters, packed, bias, other, out;

  static size_t Outputs(const Shape& s) {
    return static_cast<size_t>(s.batch * s.OutDepth() * (s.height + 2 * s.padding_y - 2) *
                               (s.width + 2 * s.padding_x - 2) * s.out_channels);
  }
  Problem(WinogradTile tile, const Shape& s, std::mt19937_64& random)
      : in(static_cast<size_t>(s.batch * s.depth * s.height * s.width * s.channels)),
        filters(static_cast<size_t>(9 * s.kernel_depth * s.channels * s.out_channels)),
        packed(static_cast<size_t>(
            *PackedWinogradSize(tile, s.kernel_depth, s.channels, s.out_channels))),
        bias(static_cast<size_t>(s.out_channels)),
        other(Outputs(s)),
        out(Outputs(s), kNaN) {
    for (GuardedFloats* array : {&in, &filters, &bias, &other}) array->Fill(random);
    g.tile = tile;
    g.batch = s.batch;
    g.channels = s.channels;
    g.height = s.height;
    g.width = s.width;
    g.out_channels = s.out_channels;
    g.out_height = s.height + 2 * s.padding_y - 2;
    g.out_width = s.width + 2 * s.padding_x - 2;
    g.padding_y = s.padding_y;
    g.padding_x = s.padding_x;
    g.depth = s.depth;
    g.out_depth = s.OutDepth();
    g.kernel_depth = s.kernel_depth;
    g.stride_z = s.stride_z;
    g.padding_z = s.padding_z;
    g.dilation_z = s.dilation_z;
    Pack();
    g.in = in.data();
    g.weight = packed.data();
    g.out = out.data();
    g.epilogue.bias = bias.data();
  }
  // Must be called after filters were changed.
  void Pack() {
    const auto all =
        WinogradFilters::ChannelsLast(filters.data(), g.kernel_depth, g.channels, g.out_channels);
    PackWinograd(g.tile, all, 0, all.panels(), packed.data());
  }
  int64_t Products() const { return WinogradProducts(g.tile); }

  void Run() { Run(g.tiles(), g.tiles(), Products()); }
  // Runs chunks of `chunk` tiles, in steps of `tiles` tiles and `products` GEMMs.
  void Run(int64_t chunk, int64_t tiles, int64_t products) {
    for (int64_t first = 0; first < g.tiles(); first += chunk) {
      const int64_t count = std::min(chunk, g.tiles() - first);
      GuardedFloats scratch(static_cast<size_t>(WinogradScratchSize(g, count).value()), kNaN);
      const WinogradChunk part(g, first, count, scratch.data());
      for (int64_t t = 0; t < count; t += tiles)
        part.TransformPixels(t, std::min(count, t + tiles));
      for (int64_t p = 0; p < Products(); p += products) {
        part.Multiply(p, std::min(Products(), p + products));
      }
      for (int64_t t = 0; t < count; t += tiles) part.TransformSums(t, std::min(count, t + tiles));
    }
  }

  // Returns result (image, z, y, x, o) before bias and `other`, and S of the header.
  double Sum(int64_t image, int64_t z, int64_t y, int64_t x, int64_t o, double* magnitude) {
    double sum = 0;
    *magnitude = 0;
    // Each result's magnitude includes all pixels of the tile.
    const int64_t r = WinogradResults(g.tile), pixels = WinogradPixels(g.tile);
    const int64_t top = y / r * r - g.padding_y, left = x / r * r - g.padding_x;
    for (int64_t py = 0; py < pixels; ++py) {
      for (int64_t px = 0; px < pixels; ++px) {
        const int64_t iy = top + py, ix = left + px;
        if (iy < 0 || iy >= g.height || ix < 0 || ix >= g.width) continue;
        for (int64_t t = 0; t < 9; ++t) {
          const double weight = Weight(g.tile, y % r, py, t / 3) * Weight(g.tile, x % r, px, t % 3);
          const bool counts = py == y % r + t / 3 && px == x % r + t % 3;
          if (weight == 0) continue;
          for (int64_t k = 0; k < g.kernel_depth; ++k) {
            const int64_t iz = z * g.stride_z - g.padding_z + k * g.dilation_z;
            if (iz < 0 || iz >= g.depth) continue;
            const int64_t pixel = ((image * g.depth + iz) * g.height + iy) * g.width + ix;
            const int64_t filter = (o * g.kernel_depth + k) * 9 + t;
            for (int64_t c = 0; c < g.channels; ++c) {
              const double product = double{in[static_cast<size_t>(pixel * g.channels + c)]} *
                                     filters[static_cast<size_t>(filter * g.channels + c)];
              if (counts) sum += product;
              *magnitude += weight * std::abs(product);
            }
          }
        }
      }
    }
    return sum;
  }

  // Calls body(index, sum, magnitude) for every `step`-th result.
  template <class Body>
  void ForResults(size_t step, Body body) {
    for (size_t at = 0; at < out.size(); at += step) {
      const auto i = static_cast<int64_t>(at);
      const int64_t o = i % g.out_channels, x = i / g.out_channels % g.out_width;
      const int64_t y = i / g.out_channels / g.out_width % g.out_height;
      const int64_t plane = i / g.out_channels / g.out_width / g.out_height;
      double magnitude = 0;
      const double sum = Sum(plane / g.out_depth, plane % g.out_depth, y, x, o, &magnitude);
      body(at, sum, magnitude);
    }
  }
  double Unit() const {
    const int64_t more = g.tile == WinogradTile::k2x2 ? 12 : 24;
    return static_cast<double>(g.channels * g.kernel_depth + more) * 0x1p-24;
  }
};

class WinogradTest : public testing::TestWithParam<std::tuple<std::string, WinogradTile>> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(std::get<0>(GetParam()))); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  const WinogradTile tile_ = std::get<1>(GetParam());
  std::mt19937_64 random_{TestSeed()};
};

constexpr Shape kShapes[] = {
    {1, 16, 8, 8, 32, 1, 1},
    {2, 8, 5, 7, 33, 1, 1},
    {1, 17, 6, 6, 16, 0, 0},
    {1, 1, 3, 3, 1, 0, 0},
    {3, 20, 4, 9, 40, 2, 1},
    {1, 1024, 4, 4, 5, 1, 1},
    {1, 33, 1, 1, 70, 1, 1},
    {1, 4, 13, 10, 1024, 1, 0},
    // Volumes.
    {2, 8, 5, 6, 33, 1, 1, 4, 3, 1, 1},
    {1, 17, 6, 3, 16, 1, 1, 9, 3, 2, 1},
    {1, 9, 4, 7, 20, 0, 1, 8, 2, 1, 0, 3},
    {1, 12, 4, 4, 8, 1, 1, 3, 1},
    {1, 3, 4, 4, 8, 1, 1, 8, 8, 1, 7},
};

TEST_P(WinogradTest, ErrorIsWithinTheBound) {
  for (const Shape& shape : kShapes) {
    Problem p(tile_, shape, random_);
    p.g.epilogue.other = p.other.data();
    p.Run();
    p.ForResults(shape.channels * shape.out_channels > 2000 ? 7 : 1,
                 [&](size_t at, double sum, double magnitude) {
                   const double bias = p.bias[at % p.bias.size()], other = p.other[at];
                   ASSERT_NEAR(p.out[at], sum + bias + other,
                               p.Unit() * (magnitude + std::abs(bias) + std::abs(other)))
                       << shape.channels << " channels, " << shape.height << " by " << shape.width
                       << ", result " << at;
                 });
  }
}

// For these inputs, errors reach the bound within a factor of 2^9.
TEST_P(WinogradTest, BoundIsTight) {
  std::mt19937_64 always_the_same(1);
  Problem p(tile_, {1, 1, 16, 16, 16, 1, 1}, always_the_same);
  p.Run();
  double largest = 0;
  p.ForResults(1, [&](size_t at, double sum, double magnitude) {
    largest = std::max(largest, std::abs(p.out[at] - sum - double{p.bias[0]}) / magnitude);
  });
  EXPECT_GT(largest, p.Unit() / 512) << largest / p.Unit();
}

TEST_P(WinogradTest, IntegersAreExact) {
  // Filters are multiples of 576 = 24^2, so that transformed filters are integers.
  Problem p(tile_, {1, 4, 9, 6, 35, 1, 1}, random_);
  std::uniform_int_distribution<int> numbers(-2, 2);
  for (size_t i = 0; i < p.in.size(); ++i) p.in[i] = static_cast<float>(numbers(random_));
  for (size_t i = 0; i < p.filters.size(); ++i) {
    p.filters[i] = static_cast<float>(576 * (numbers(random_) / 2));
  }
  p.Pack();
  p.g.epilogue.bias = nullptr;
  p.Run();
  p.ForResults(1, [&](size_t at, double sum, double magnitude) {
    ASSERT_LT(magnitude, 0x1p24) << "the test's own numbers";
    ASSERT_EQ(p.out[at], sum) << at;
  });
}

TEST_P(WinogradTest, ResultsDoNotDependOnTheDivision) {
  for (const Shape& shape :
       {Shape{2, 19, 11, 14, 37, 1, 1}, Shape{2, 9, 7, 9, 37, 1, 1, 5, 3, 1, 1}}) {
    Problem p(tile_, shape, random_);
    p.g.epilogue.activation = Activation::kSilu;
    p.Run();
    const std::vector<float> whole(p.out.data(), p.out.data() + p.out.size());
    for (const int64_t chunk : {5, 24}) {
      std::fill(p.out.data(), p.out.data() + p.out.size(), kNaN);
      p.Run(chunk, 2, 7);
      ASSERT_EQ(std::memcmp(whole.data(), p.out.data(), whole.size() * sizeof(float)), 0) << chunk;
    }
  }
}

TEST_P(WinogradTest, EveryEpilogue) {
  Problem p(tile_, {1, 8, 6, 7, 21, 1, 1}, random_);
  p.Run();
  const std::vector<float> sums(p.out.data(), p.out.data() + p.out.size());
  EpilogueF32& e = p.g.epilogue;
  e.low = -0.5f;
  e.high = 6;
  p.Run();
  for (size_t i = 0; i < sums.size(); ++i) {
    ASSERT_EQ(p.out[i], std::clamp(sums[i], e.low, e.high)) << i;
  }
  e.other = p.other.data();
  e.multiply = true;
  e.activation = Activation::kHardsigmoid;
  p.Run();
  for (size_t i = 0; i < sums.size(); ++i) {
    const double exact = ExactActivation(e.activation, sums[i]) * p.other[i];
    ASSERT_NEAR(p.out[i], std::clamp<double>(exact, e.low, e.high), 4 * 0x1p-23 * std::abs(exact))
        << i;
  }
}

TEST_P(WinogradTest, OtherMayAliasTheResult) {
  Problem p(tile_, {1, 8, 9, 5, 20, 1, 1}, random_);
  p.g.epilogue.other = p.other.data();
  p.Run();
  p.g.out = p.other.data();
  p.Run();
  EXPECT_EQ(std::memcmp(p.out.data(), p.other.data(), p.out.size() * sizeof(float)), 0);
}

// S for operands of 1, relative to the plain sum: the factors in winograd.h.
TEST(WinogradMagnitudeTest, IsThatOfTheHeaderForEqualOperands) {
  for (const auto& [tile, least, most] : {std::tuple{WinogradTile::k2x2, 64.0 / 9, 64.0 / 9},
                                          std::tuple{WinogradTile::k4x4, 28.0, 256.0}}) {
    double smallest = 1e9, largest = 0;
    for (int64_t r = 0; r < WinogradResults(tile); ++r) {
      double sum = 0;
      for (int64_t p = 0; p < WinogradPixels(tile); ++p) {
        for (int64_t t = 0; t < 3; ++t) sum += Weight(tile, r, p, t);
      }
      smallest = std::min(smallest, sum * sum / 9);
      largest = std::max(largest, sum * sum / 9);
    }
    EXPECT_NEAR(smallest, least, 0.5);
    EXPECT_NEAR(largest, most, 0.5);
  }
}

// With tiles of 2x2 results it affects no other result, with tiles of 4x4 only results of its tile.
TEST_P(WinogradTest, NanAffectsOnlyItsTile) {
  Problem p(tile_, {1, 8, 12, 12, 8, 1, 1}, random_);
  p.in[0] = kNaN;  // pixel (0, 0) is only in the first tile
  p.Run();
  p.ForResults(1, [&](size_t at, double sum, double) {
    const size_t y = at / 8 / 12, x = at / 8 % 12;
    if (std::isnan(sum)) {
      EXPECT_TRUE(std::isnan(p.out[at])) << at;
    } else if (tile_ == WinogradTile::k2x2 || y >= 4 || x >= 4) {
      EXPECT_FALSE(std::isnan(p.out[at])) << at;
    }
  });
}

TEST(WinogradSizesTest, RoundUpToPanelsAndRejectOverflow) {
  constexpr WinogradTile k2x2 = WinogradTile::k2x2, k4x4 = WinogradTile::k4x4;
  EXPECT_EQ(PackedWinogradSize(k2x2, 1, 5, 33), 16 * 5 * 64);
  EXPECT_EQ(PackedWinogradSize(k4x4, 3, 5, 33), 36 * 15 * 64);
  EXPECT_EQ(PackedWinogradSize(k4x4, 1, -1, 4), std::nullopt);
  EXPECT_EQ(PackedWinogradSize(k4x4, 1, int64_t{1} << 40, int64_t{1} << 18), std::nullopt);
  EXPECT_EQ(PackedWinogradSize(k4x4, 8, int64_t{1} << 62, 1), std::nullopt);
  const auto args = [](WinogradTile tile, int64_t channels, int64_t out_channels,
                       int64_t depth = 1) {
    WinogradArgs g;
    g.tile = tile;
    g.channels = channels;
    g.out_channels = out_channels;
    g.depth = g.out_depth = depth;
    return g;
  };
  EXPECT_EQ(WinogradScratchSize(args(k4x4, 20, 33), 3).value(), 36 * (3 * (32 + 48) + 32) + 32);
  EXPECT_EQ(WinogradScratchSize(args(k2x2, 1024, 16, 5), 1).value(),
            16 * (5 * (1040 + 16) + 32) + 1040);
  EXPECT_FALSE(WinogradScratchSize(args(k4x4, 1 << 24, 1 << 24), int64_t{1} << 40).ok());
  EXPECT_EQ(WinogradChunkTiles(args(k2x2, 32, 32)), (1 << 20) / (4 * (16 * 96 + 32)));
  EXPECT_EQ(WinogradChunkTiles(args(k4x4, 1 << 20, 64)), 120);
  EXPECT_EQ(WinogradChunkTiles(args(k4x4, 1 << 20, 64, 16)), 8);
}

INSTANTIATE_TEST_SUITE_P(Sets, WinogradTest,
                         testing::Combine(testing::ValuesIn(InstructionSets()),
                                          testing::Values(WinogradTile::k2x2, WinogradTile::k4x4)));

}  // namespace
}  // namespace belay
