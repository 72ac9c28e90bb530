// Sorting against the reference kernel: equal elements keep their order, NaN is the largest.
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64,
                             DType::kInt64,   DType::kInt32,   DType::kInt16,    DType::kInt8,
                             DType::kUint8,   DType::kBool};

TEST(SortTest, EveryTypeLengthAndOrder) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      for (bool descending : {false, true}) {
        for (Values values : {Values::kNormal, Values::kFew, Values::kSpecial, Values::kWide}) {
          if (dtype == DType::kBool && values != Values::kNormal) continue;
          const TestTensorSpec self = {dtype, {2, n}, Layout::kRowMajor, values, 0};
          ASSERT_TRUE(comparison.Compare({"aten.sort.default",
                                          {self, EValue(int64_t{-1}), EValue(descending)},
                                          {dtype, DType::kInt64}}));
        }
      }
    }
  }
}

// Enough rows for several threads, along every dimension; up to 64 keys are ranked.
TEST(SortTest, ManyRows) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kInt64, DType::kBFloat16}) {
    for (int64_t n : {1, 17, 63, 64, 65, 120}) {
      for (int64_t dim : {0, 1, 2}) {
        Sizes sizes = {40, 9, 20};
        sizes[static_cast<int>(dim)] = n;
        const TestTensorSpec self = {dtype, sizes, Layout::kRowMajor, Values::kFew, 0};
        ASSERT_TRUE(comparison.Compare({"aten.sort.default",
                                        {self, EValue(dim), EValue(n % 2 == 0)},
                                        {dtype, DType::kInt64}}));
        ASSERT_TRUE(comparison.Compare(
            {"aten.median.dim", {self, EValue(dim), EValue(false)}, {dtype, DType::kInt64}}));
      }
    }
  }
}

TEST(SortTest, MedianAndKthValueOfEveryTypeAndLength) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    if (dtype == DType::kBool) continue;
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      if (n == 0) continue;
      for (Values values : {Values::kNormal, Values::kFew, Values::kSpecial, Values::kWide}) {
        const TestTensorSpec self = {dtype, {3, n}, Layout::kRowMajor, values, 0};
        ASSERT_TRUE(comparison.Compare({"aten.median.dim",
                                        {self, EValue(int64_t{1}), EValue(false)},
                                        {dtype, DType::kInt64}}));
        for (int64_t k : {int64_t{1}, (n + 1) / 2, n}) {
          ASSERT_TRUE(comparison.Compare({"aten.kthvalue.default",
                                          {self, EValue(k), EValue(int64_t{1}), EValue(true)},
                                          {dtype, DType::kInt64}}));
        }
      }
    }
  }
}

TEST(SortTest, MedianAlongEveryDimensionAndLayout) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kInt64, DType::kBFloat16}) {
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
      for (int64_t dim = 0; dim < 3; ++dim) {
        for (bool keep : {false, true}) {
          KernelCall call = {"aten.median.dim",
                             {TestTensorSpec{dtype, {7, 30, 9}, layout, Values::kFew, 0},
                              EValue(dim), EValue(keep)},
                             {dtype, DType::kInt64}};
          call.output_layout = layout;
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
    }
  }
  const TestTensorSpec scalar = {DType::kFloat32, {}, Layout::kRowMajor, Values::kNormal, 0};
  ASSERT_TRUE(comparison.Compare({"aten.median.dim",
                                  {scalar, EValue(int64_t{0}), EValue(false)},
                                  {DType::kFloat32, DType::kInt64}}));
  ASSERT_TRUE(comparison.Compare({"aten.kthvalue.default",
                                  {scalar, EValue(int64_t{1}), EValue(int64_t{0}), EValue(true)},
                                  {DType::kFloat32, DType::kInt64}}));
}

TEST(SortTest, BinarySearch) {
  KernelComparison comparison;
  for (int64_t boundaries : {0, 1, 2, 7, 64, 1000}) {
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
      for (Values values : {Values::kNormal, Values::kFew, Values::kSpecial}) {
        for (bool right : {false, true}) {
          for (bool narrow : {false, true}) {
            const TestTensorSpec x = {DType::kFloat32, {3, 201}, layout, values, 0};
            // The boundaries are not sorted: both kernels compare with the same ones.
            const TestTensorSpec table = {
                DType::kFloat32, {boundaries}, Layout::kRowMajor, values, 1};
            const DType result = narrow ? DType::kInt32 : DType::kInt64;
            KernelCall call = {
                "aten.bucketize.Tensor", {x, table, EValue(narrow), EValue(right)}, {result}};
            call.output_layout = layout;
            ASSERT_TRUE(comparison.Compare(call));
          }
        }
      }
    }
  }
}

TEST(SortTest, StableAlongEveryDimensionAndLayout) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kInt64, DType::kBFloat16}) {
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
      for (int64_t dim = 0; dim < 3; ++dim) {
        KernelCall call = {"aten.sort.stable",
                           {TestTensorSpec{dtype, {7, 130, 9}, layout, Values::kFew, 0},
                            EValue(true), EValue(dim), EValue(false)},
                           {dtype, DType::kInt64}};
        ASSERT_TRUE(comparison.Compare(call));
        call.output_layout = layout;
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
    for (const Sizes& sizes : {Sizes{}, Sizes{3, 0}}) {
      ASSERT_TRUE(comparison.Compare(
          {"aten.sort.stable",
           {TestTensorSpec{dtype, sizes}, EValue(), EValue(int64_t{-1}), EValue(true)},
           {dtype, DType::kInt64}}));
    }
  }
}

}  // namespace
}  // namespace belay
