// Softmax and log-softmax against the reference kernels.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

KernelCall CallOf(const char* op, const TestTensorSpec& self, int64_t dim) {
  const auto rank = static_cast<int64_t>(self.sizes.size());
  const size_t d = static_cast<size_t>(dim < 0 ? dim + rank : dim);
  const double n = self.sizes.empty() ? 1 : std::max(1.0, static_cast<double>(self.sizes[d]));
  const double bound = 13 + std::log(n) + n / 4;  // softmax.h
  return {op, {self, EValue(dim), EValue(false)}, {self.dtype}, bound, UlpOf::kLargest};
}

constexpr const char* kOps[] = {"aten._softmax.default", "aten._log_softmax.default"};
constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64};

TEST(SoftmaxTest, RowsAndColumnsOfEveryLength) {
  KernelComparison comparison;
  for (const char* op : kOps) {
    for (DType dtype : kDTypes) {
      for (int64_t n : KernelComparison::Lengths(dtype)) {
        ASSERT_TRUE(comparison.Compare(CallOf(op, {dtype, {3, n}}, -1)));
        ASSERT_TRUE(comparison.Compare(CallOf(op, {dtype, {n, 3}}, 0)));
        ASSERT_TRUE(comparison.Compare(CallOf(op, {dtype, {2, 5, n}}, 1)));
      }
    }
  }
}

TEST(SoftmaxTest, EveryLayoutAndDimension) {
  KernelComparison comparison;
  for (const char* op : kOps) {
    for (DType dtype : kDTypes) {
      for (Layout in : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated,
                        Layout::kChannelsLast}) {
        for (int64_t dim : {0, 1, 2, 3}) {
          KernelCall call = CallOf(op, {dtype, {3, 5, 7, 19}, in, Values::kWide, 0}, dim);
          ASSERT_TRUE(comparison.Compare(call));
          call.output_layout = Layout::kReversed;
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
      ASSERT_TRUE(comparison.Compare(CallOf(op, {dtype, {}}, 0)));
    }
  }
}

// Rows of few elements: blocks of rows, and rows that are left over.
TEST(SoftmaxTest, ManyShortRows) {
  KernelComparison comparison;
  for (const char* op : kOps) {
    for (int64_t n = 1; n <= 26; ++n) {
      for (int64_t rows : {16, 63, 64, 130}) {
        for (Layout layout : {Layout::kRowMajor, Layout::kGaps}) {
          KernelCall call =
              CallOf(op, {DType::kFloat32, {2, rows, n}, layout, Values::kWide, 0}, -1);
          ASSERT_TRUE(comparison.Compare(call));
          call.output_layout = Layout::kReversed;
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
      ASSERT_TRUE(comparison.Compare(
          CallOf(op, {DType::kFloat32, {70, n}, Layout::kRowMajor, Values::kSpecial, 0}, -1)));
    }
    KernelCall call =
        CallOf(op, {DType::kFloat32, {1, 3, 70, 90}, Layout::kChannelsLast, Values::kWide, 0}, 1);
    call.output_layout = Layout::kChannelsLast;
    ASSERT_TRUE(comparison.Compare(call));
  }
}

TEST(SoftmaxTest, AcceptsBoolAsDimension) {
  KernelComparison comparison;
  for (const char* op : kOps) {
    KernelCall call = CallOf(op, {DType::kFloat16, {3, 5, 7}}, 1);
    call.arguments[1] = EValue(true);
    ASSERT_TRUE(comparison.Compare(call));
  }
}

TEST(SoftmaxTest, NanAndInfinities) {
  KernelComparison comparison;
  for (const char* op : kOps) {
    for (int64_t dim : {0, 1}) {
      for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
        ASSERT_TRUE(comparison.Compare(
            CallOf(op, {dtype, {20, 20}, Layout::kRowMajor, Values::kSpecial, 0}, dim)));
      }
    }
  }
}

}  // namespace
}  // namespace belay
