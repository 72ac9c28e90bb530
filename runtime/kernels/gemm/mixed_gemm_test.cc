// GEMM of floats with int8 weights against the reference kernels: equal bits.
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

TestTensorSpec Positive(const Sizes& sizes, Layout layout) {
  return {DType::kFloat32, sizes, layout, Values::kPositive, 0};
}
TestArgument ZeroPoints(const Sizes& sizes, Layout layout, bool present) {
  if (!present) return EValue();
  return TestTensorSpec{DType::kFloat32, sizes, layout, Values::kNormal, 7};
}

KernelCall MixedMm(int64_t m, int64_t k, int64_t n, bool zero_points,
                   Layout layout = Layout::kRowMajor) {
  return {"quantized_decomposed.mixed_mm.default",
          {TestTensorSpec{DType::kFloat32, {m, k}, layout, Values::kNormal, 0},
           TestTensorSpec{DType::kInt8, {k, n}, layout, Values::kNormal, 0}, Positive({k}, layout),
           ZeroPoints({k}, layout, zero_points)}};
}

// `groups` scales per row; 0: scales are a vector.
KernelCall MixedLinear(int64_t m, int64_t k, int64_t n, int64_t groups, bool zero_points,
                       Layout layout = Layout::kRowMajor) {
  const Sizes scales = groups == 0 ? Sizes{n} : Sizes{n, groups};
  return {"quantized_decomposed.mixed_linear.default",
          {TestTensorSpec{DType::kFloat32, {m, k}, layout, Values::kNormal, 0},
           TestTensorSpec{DType::kInt8, {n, k}, layout, Values::kNormal, 0},
           Positive(scales, layout), ZeroPoints(scales, layout, zero_points), EValue()}};
}

TEST(MixedGemmTest, AllTileAndGroupTails) {
  KernelComparison comparison;
  for (int64_t m : {0, 1, 2, 3, 5, 6, 7, 13}) {
    for (int64_t n : {1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 65}) {
      for (int64_t k : {int64_t{0}, int64_t{1}, (m * 7 + n * 3) % 40}) {
        for (bool zero_points : {false, true}) {
          ASSERT_TRUE(comparison.Compare(MixedMm(m, k, n, zero_points)));
          for (int64_t groups : {0, 1, 3}) {
            ASSERT_TRUE(comparison.Compare(MixedLinear(m, k, n, groups, zero_points)));
          }
        }
      }
    }
  }
}

TEST(MixedGemmTest, EveryLayout) {
  KernelComparison comparison;
  for (Layout layout : {Layout::kReversed, Layout::kGaps}) {
    ASSERT_TRUE(comparison.Compare(MixedMm(7, 33, 70, true, layout)));
    ASSERT_TRUE(comparison.Compare(MixedLinear(7, 33, 70, 4, true, layout)));
  }
}

}  // namespace
}  // namespace belay
