#include "runtime/kernels/packed/pixel_gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/exact_activation.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Lines of pixels with taps one pixel after another, and a gap after each line of C.
struct Problem {
  static constexpr size_t kGap = 3;
  size_t lines, pixels, columns, terms = 0, a_line, c_line;
  std::vector<size_t> first;  // term of each tap
  GuardedFloats a, b, c, other, bias;
  std::vector<PixelTap> taps;

  Problem(size_t lines, size_t pixels, size_t columns, const std::vector<size_t>& tap_terms,
          std::mt19937_64& random)
      : lines(lines),
        pixels(pixels),
        columns(columns),
        a_line((pixels + tap_terms.size() - 1) * kPixelFloats),
        c_line(pixels * columns + kGap),
        a(lines * a_line),
        b([&] {
          size_t sum = 0;
          for (size_t k : tap_terms) sum += k;
          return (sum - 1) * kPanelColumns + kPixelFloats;
        }()),
        c(lines * c_line),
        other(c.size()),
        bias(columns) {
    for (GuardedFloats* array : {&a, &b, &other, &bias}) array->Fill(random);
    std::fill(c.data(), c.data() + c.size(), kNan);
    for (size_t t = 0; t < tap_terms.size(); ++t) {
      taps.push_back({.a = a.data() + t * kPixelFloats, .k = tap_terms[t]});
      first.push_back(terms);
      terms += tap_terms[t];
    }
  }

  PixelGemmArgs Args() {
    PixelGemmArgs g;
    g.lines = lines;
    g.pixels = pixels;
    g.columns = columns;
    g.taps = taps.data();
    g.num_taps = taps.size();
    g.a_line = a_line;
    g.b = b.data();
    g.c = c.data();
    g.ldc = columns;
    g.c_line = c_line;
    return g;
  }

  double Sum(size_t line, size_t pixel, size_t column, double& magnitude) {
    double sum = 0;
    magnitude = 0;
    for (size_t t = 0; t < taps.size(); ++t) {
      for (size_t p = 0; p < taps[t].k; ++p) {
        const double x = static_cast<double>(taps[t].a[line * a_line + pixel * kPixelFloats + p]) *
                         b[(first[t] + p) * kPanelColumns + column];
        sum += x;
        magnitude += std::abs(x);
      }
    }
    return sum;
  }
};

class PixelGemmTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_OK(UseInstructionSet(GetParam()));
    if (!HasPixelGemm()) GTEST_SKIP() << "vectors of less than 16 floats";
  }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }

  std::mt19937_64 random_{TestSeed()};
};

TEST_P(PixelGemmTest, LinesPixelsAndColumnsAroundTheTiles) {
  for (size_t lines : {2, 3, 4, 7}) {
    for (size_t pixels : {8, 9, 13, 14, 15, 16, 20, 21, 28, 31}) {
      for (size_t columns : {1, 9, 15, 16}) {
        Problem p(lines, pixels, columns, {5, 5}, random_);
        PixelGemmArgs g = p.Args();
        g.epilogue.bias = p.bias.data();
        g.epilogue.other = p.other.data();
        PixelGemm(g);
        for (size_t l = 0; l < lines; ++l) {
          for (size_t i = 0; i < pixels; ++i) {
            for (size_t j = 0; j < columns; ++j) {
              const size_t at = l * p.c_line + i * columns + j;
              double magnitude;
              const double want = p.Sum(l, i, j, magnitude) + p.bias[j] + p.other[at];
              magnitude += std::abs(p.bias[j]) + std::abs(p.other[at]);
              ASSERT_NEAR(p.c[at], want, 14 * 0x1p-24 * magnitude)
                  << lines << " lines of " << pixels << " pixels, " << columns << " columns at "
                  << l << "," << i << "," << j;
            }
          }
          for (size_t i = 0; i < Problem::kGap; ++i) {
            ASSERT_TRUE(std::isnan(p.c[l * p.c_line + pixels * columns + i]));
          }
        }
      }
    }
  }
}

TEST_P(PixelGemmTest, TapsOfDifferentDepths) {
  const std::vector<size_t> taps[] = {{1}, {16}, {3, 16, 4}, {16, 7, 16, 7, 16, 7, 16, 7, 16, 7}};
  for (const std::vector<size_t>& depths : taps) {
    Problem p(3, 17, 16, depths, random_);
    PixelGemm(p.Args());
    const double terms = static_cast<double>(p.terms) + 4;
    for (size_t l = 0; l < p.lines; ++l) {
      for (size_t i = 0; i < p.pixels; ++i) {
        for (size_t j = 0; j < p.columns; ++j) {
          double magnitude;
          const double want = p.Sum(l, i, j, magnitude);
          ASSERT_NEAR(p.c[l * p.c_line + i * p.columns + j], want, terms * 0x1p-24 * magnitude)
              << p.terms << " terms";
        }
      }
    }
  }
}

// With C as `other`, pixels that two tiles compute must be stored once.
TEST_P(PixelGemmTest, EveryEpilogueInPlaceToo) {
  for (Activation activation :
       {Activation::kNone, Activation::kSigmoid, Activation::kHardswish, Activation::kSilu}) {
    for (bool multiply : {false, true}) {
      for (bool with_other : {false, true}) {
        for (bool in_place : {false, true}) {
          if (in_place && (!with_other || multiply)) continue;
          for (size_t columns : {11, 16}) {
            Problem p(5, 11, columns, {6, 6}, random_);
            PixelGemmArgs g = p.Args();
            g.epilogue = {.bias = p.bias.data(),
                          .other = with_other ? p.other.data() : nullptr,
                          .multiply = multiply,
                          .activation = activation,
                          .low = -0.5f,
                          .high = 2};
            if (in_place) {
              std::copy_n(p.other.data(), p.c.size(), p.c.data());
              g.epilogue.other = p.c.data();
            }
            PixelGemm(g);
            for (size_t at = 0; at < p.c.size(); ++at) {
              const size_t line = at / p.c_line, i = at % p.c_line / columns,
                           j = at % p.c_line % columns;
              if (i >= p.pixels) continue;
              double magnitude;
              double want = p.Sum(line, i, j, magnitude) + p.bias[j];
              if (with_other && !multiply) want += p.other[at];
              want = ExactActivation(activation, want);
              if (with_other && multiply) want *= p.other[at];
              want = std::clamp(want, -0.5, 2.0);
              ASSERT_NEAR(p.c[at], want, 1e-5 * (1 + magnitude)) << "at " << at;
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, PixelGemmTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
