#include "runtime/kernels/packed/quantized_add.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/packed/requantize_reference.h"

namespace belay {
namespace {

class QuantizedAddTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { ASSERT_OK(UseInstructionSet(GetParam())); }
  void TearDown() override { ASSERT_OK(UseInstructionSet(InstructionSets().front())); }

  // Adds `n` elements and compares.
  void Check(QuantizedAddArgs g, size_t n, GuardedSide side) {
    GuardedArray<uint8_t> a(n, 0, side), b(n, 0, side), out(n, 0, side);
    a.Fill(random_);
    b.Fill(random_);
    g.a = a.data();
    g.b = b.data();
    g.out = out.data();
    QuantizedAdd(g, 0, n);
    for (size_t i = 0; i < n; ++i) {
      const float x = static_cast<float>(a[i] - g.a_zero_point) * g.a_scale;
      const float y = static_cast<float>(b[i] - g.b_zero_point) * g.b_scale;
      ASSERT_EQ(out[i], QuantizedReal(g, x + y)) << n << " at " << i;
    }
    // In parts, in place.
    const std::vector<uint8_t> whole(out.data(), out.data() + n);
    g.out = a.data();
    QuantizedAdd(g, 0, n / 3);
    QuantizedAdd(g, n / 3, n);
    EXPECT_EQ(std::vector<uint8_t>(a.data(), a.data() + n), whole);
  }

  std::mt19937_64 random_{TestSeed()};
};

TEST_P(QuantizedAddTest, EveryLength) {
  const QuantizedAddArgs g = {.a_scale = 0.03f,
                              .b_scale = 0.071f,
                              .a_zero_point = 3,
                              .b_zero_point = 200,
                              .low = -1.5f,
                              .high = 9,
                              .inverse_scale = 1 / 0.06f,
                              .zero_point = 50,
                              .quant_min = 20,
                              .quant_max = 190};
  for (size_t n = 1; n <= 200; ++n) {
    Check(g, n, n % 2 == 0 ? GuardedSide::kEnd : GuardedSide::kBegin);
  }
}

TEST_P(QuantizedAddTest, ExtremeZeroPoints) {
  for (int32_t a_zero : {0, 255}) {
    for (int32_t b_zero : {0, 255}) {
      for (int32_t zero : {0, 128, 255}) {
        Check({.a_scale = 0.5f,
               .b_scale = 0.25f,
               .a_zero_point = a_zero,
               .b_zero_point = b_zero,
               .inverse_scale = 0.7f,
               .zero_point = zero},
              301, GuardedSide::kEnd);
      }
    }
  }
}

TEST_P(QuantizedAddTest, HugeSums) {
  for (float scale : {1e20f, 3e38f}) {
    Check({.a_scale = scale, .b_scale = scale, .a_zero_point = 100, .b_zero_point = 140}, 300,
          GuardedSide::kEnd);
  }
}

INSTANTIATE_TEST_SUITE_P(, QuantizedAddTest, testing::ValuesIn(InstructionSets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace belay
