#include "runtime/kernels/packed/token_rows.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/guarded_array.h"

namespace belay {
namespace {

class TokenRowsTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }
  std::mt19937_64 random_{TestSeed()};
};

TEST_P(TokenRowsTest, RmsNormOfAllLengths) {
  for (size_t n : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 768, 2049}) {
    for (bool weighted : {false, true}) {
      constexpr size_t kRows = 3;
      GuardedFloats in(kRows * n), weight(n), out(kRows * n, NAN);
      in.Fill(random_);
      weight.Fill(random_);
      constexpr float kEpsilon = 1e-5f;
      RmsNormRows(in.data(), weighted ? weight.data() : nullptr, kEpsilon, kRows, n, out.data());
      for (size_t r = 0; r < kRows; ++r) {
        double sum = 0;
        for (size_t i = 0; i < n; ++i) sum += double{in[r * n + i]} * in[r * n + i];
        const double factor = 1 / std::sqrt(sum / static_cast<double>(n) + double{kEpsilon});
        for (size_t i = 0; i < n; ++i) {
          const double want = in[r * n + i] * factor * (weighted ? weight[i] : 1.0);
          ASSERT_NEAR(out[r * n + i], want,
                      (static_cast<double>(n) / 2 + 8) * 0x1p-24 * std::abs(want))
              << n << ": " << r << "," << i;
        }
      }
      // In place.
      const std::vector<float> apart(out.data(), out.data() + out.size());
      RmsNormRows(in.data(), weighted ? weight.data() : nullptr, kEpsilon, kRows, n, in.data());
      EXPECT_TRUE(std::equal(apart.begin(), apart.end(), in.data())) << n;
    }
  }
}

TEST_P(TokenRowsTest, RmsNormOfSpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  float zeros[3] = {}, out[3];
  RmsNormRows(zeros, nullptr, 1e-5f, 1, 3, out);
  for (float x : out) EXPECT_EQ(x, 0);
  RmsNormRows(zeros, nullptr, 0, 1, 3, out);
  for (float x : out) EXPECT_TRUE(std::isnan(x));
  // If the squares overflow, the result is 0, as with separate operators.
  const float large[3] = {1e30f, 1, 2};
  RmsNormRows(large, nullptr, 1e-5f, 1, 3, out);
  for (float x : out) EXPECT_EQ(x, 0);
  const float special[3] = {kInf, 1, NAN};
  RmsNormRows(special, nullptr, 1e-5f, 1, 3, out);
  for (float x : out) EXPECT_TRUE(std::isnan(x));
}

TEST_P(TokenRowsTest, RotationsOfAllLengths) {
  for (size_t half : {1, 2, 3, 4, 7, 8, 9, 16, 17, 32, 33, 64, 65}) {
    for (bool own : {false, true}) {
      const size_t second = own ? half : 0;
      GuardedFloats in(2 * half), cosine(half + second), sine(half + second), out(2 * half, NAN);
      in.Fill(random_);
      cosine.Fill(random_);
      sine.Fill(random_);
      RotateRow(in.data(), cosine.data(), sine.data(), half, second, out.data());
      for (size_t j = 0; j < half; ++j) {
        const double x = in[j], y = in[half + j];
        const double a = x * cosine[j], b = y * sine[j];
        const double c = y * cosine[second + j], d = x * sine[second + j];
        ASSERT_NEAR(out[j], a - b, 0x1p-23 * (std::abs(a) + std::abs(b))) << half << ": " << j;
        ASSERT_NEAR(out[half + j], c + d, 0x1p-23 * (std::abs(c) + std::abs(d)))
            << half << ": " << j;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, TokenRowsTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
