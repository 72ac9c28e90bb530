// Gather and topk against the reference kernels.
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

constexpr DType kDTypes[] = {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kInt8};

TEST(SelectTest, GatherAlongEveryDimensionLengthAndLayout) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (int64_t dim : {0, 1}) {
      for (int64_t n : KernelComparison::Lengths(dtype)) {
        for (DType index : {DType::kInt64, DType::kInt32}) {
          const Sizes sizes = dim == 0 ? Sizes{9, n} : Sizes{3, 9};
          ASSERT_TRUE(comparison.Compare(
              {"aten.gather.default",
               {TestTensorSpec{dtype, sizes}, EValue(dim),
                TestTensorSpec{index, {3, n}, Layout::kRowMajor, Values::kNormal, 9},
                EValue(false)},
               {dtype}}));
        }
      }
      for (Layout layout : {Layout::kReversed, Layout::kGaps}) {
        KernelCall call = {
            "aten.gather.default",
            {TestTensorSpec{dtype, {9, 9, 9}, layout, Values::kNormal, 0}, EValue(dim),
             TestTensorSpec{DType::kInt64, {4, 7, 9}, layout, Values::kNormal, 9}, EValue(false)},
            {dtype}};
        call.output_layout = layout;
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

TEST(SelectTest, TopKOfEveryLengthAndOrder) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{5}, n}) {
        if (k > n) continue;
        for (bool largest : {true, false}) {
          for (Values values : {Values::kNormal, Values::kFew, Values::kSpecial}) {
            ASSERT_TRUE(
                comparison.Compare({"aten.topk.default",
                                    {TestTensorSpec{dtype, {2, n}, Layout::kRowMajor, values, 0},
                                     EValue(k), EValue(int64_t{-1}), EValue(largest), EValue(true)},
                                    {dtype, DType::kInt64}}));
          }
        }
      }
    }
    for (Layout layout : {Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
      for (int64_t dim : {0, 1, 2}) {
        ASSERT_TRUE(
            comparison.Compare({"aten.topk.default",
                                {TestTensorSpec{dtype, {7, 6, 8}, layout, Values::kFew, 0},
                                 EValue(int64_t{4}), EValue(dim), EValue(true), EValue(true)},
                                {dtype, DType::kInt64}}));
      }
    }
  }
}

}  // namespace
}  // namespace belay
