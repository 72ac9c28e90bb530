// Distances against the reference kernels, which compute in double precision.
#include <limits>

#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

constexpr double kOrders[] = {1, 2, std::numeric_limits<double>::infinity()};

// The bound of distance.h, and one rounding of the reference result.
double MaxUlp(int64_t k) { return static_cast<double>(k) + 4; }

TEST(DistanceTest, EverySizeAndOrder) {
  KernelComparison comparison;
  for (double p : kOrders) {
    for (int64_t m : {0, 1, 3, 4, 5, 9}) {
      for (int64_t n : {0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 70}) {
        for (int64_t k : {0, 1, 5, 64}) {
          KernelCall call = {"aten._cdist_forward.default",
                             {TestTensorSpec{DType::kFloat32, {m, k}},
                              TestTensorSpec{DType::kFloat32, {n, k}}, EValue(p), EValue()},
                             {DType::kFloat32},
                             MaxUlp(k)};
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
    }
    for (int64_t n : {0, 1, 2, 3, 8, 16, 17, 33, 70}) {
      for (int64_t k : {0, 1, 9}) {
        ASSERT_TRUE(comparison.Compare({"aten._pdist_forward.default",
                                        {TestTensorSpec{DType::kFloat32, {n, k}}, EValue(p)},
                                        {DType::kFloat32},
                                        MaxUlp(k)}));
      }
    }
  }
}

TEST(DistanceTest, LayoutsBatchesAndSpecialValues) {
  KernelComparison comparison;
  for (double p : kOrders) {
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
      for (Layout out : {Layout::kRowMajor, Layout::kReversed}) {
        for (Values values : {Values::kNormal, Values::kSpecial}) {
          const TestTensorSpec x = {DType::kFloat32, {3, 1, 6, 10}, layout, values};
          const TestTensorSpec y = {DType::kFloat32, {2, 37, 10}, layout, Values::kNormal};
          KernelCall call = {
              "aten._cdist_forward.default", {x, y, EValue(p), EValue()}, {DType::kFloat32}};
          call.max_ulp = MaxUlp(10);
          call.output_layout = out;
          if (values == Values::kSpecial && p == 2) continue;  // squares overflow in float
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
    }
  }
}

TEST(DistanceTest, LargeCallsAreDivided) {
  KernelComparison comparison;
  for (double p : kOrders) {
    ASSERT_TRUE(comparison.Compare(
        {"aten._cdist_forward.default",
         {TestTensorSpec{DType::kFloat32, {600, 20}}, TestTensorSpec{DType::kFloat32, {130, 20}},
          EValue(p), EValue(int64_t{1})},
         {DType::kFloat32},
         MaxUlp(20)}));
    ASSERT_TRUE(comparison.Compare({"aten._pdist_forward.default",
                                    {TestTensorSpec{DType::kFloat32, {300, 40}}, EValue(p)},
                                    {DType::kFloat32},
                                    MaxUlp(40)}));
  }
}

}  // namespace
}  // namespace belay
