// Cumulative sums and products against the reference kernel: equal bits.
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

TEST(ScanTest, EveryLengthDimensionDtypeAndLayout) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64,
                      DType::kInt64, DType::kInt32, DType::kUint8, DType::kBool}) {
    const DType result = IsFloatingPoint(dtype) ? dtype : DType::kInt64;
    const auto compare = [&](const TestTensorSpec& self, int64_t dim, Layout out) {
      for (const char* op : {"aten.cumsum.default", "aten.cumprod.default"}) {
        KernelCall call = {op, {self, EValue(dim), EValue()}, {result}};
        call.output_layout = out;
        ASSERT_TRUE(comparison.Compare(call));
      }
    };
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      compare({dtype, {7, n}}, 1, Layout::kRowMajor);
      compare({dtype, {3, n}}, 0, Layout::kRowMajor);
    }
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
      for (int64_t dim : {0, 1, 2, -1})
        compare({dtype, {4, 5, 6}, layout, Values::kNormal, 0}, dim,
                layout == Layout::kRepeated ? Layout::kRowMajor : layout);
    }
    compare({dtype, {}}, 0, Layout::kRowMajor);
  }
}

TEST(RunningExtremesTest, EveryLengthDimensionDtypeAndLayout) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                      DType::kInt64, DType::kInt32, DType::kInt16, DType::kInt8, DType::kUint8}) {
    const auto compare = [&](const TestTensorSpec& self, int64_t dim, Layout out) {
      for (const char* op : {"aten.cummax.default", "aten.cummin.default"}) {
        KernelCall call = {op, {self, EValue(dim)}, {dtype, DType::kInt64}};
        call.output_layout = out;
        ASSERT_TRUE(comparison.Compare(call));
      }
    };
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      for (Values values : {Values::kNormal, Values::kFew, Values::kSpecial}) {
        compare({dtype, {3, n}, Layout::kRowMajor, values, 0}, 1, Layout::kRowMajor);
      }
      compare({dtype, {5, n}, Layout::kRowMajor, Values::kFew, 0}, 0, Layout::kRowMajor);
    }
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
      for (int64_t dim : {0, 1, 2, -1})
        compare({dtype, {4, 5, 6}, layout, Values::kSpecial, 0}, dim,
                layout == Layout::kRepeated ? Layout::kRowMajor : layout);
    }
    compare({dtype, {}}, 0, Layout::kRowMajor);
  }
}

TEST(LogScanTest, EveryLengthDimensionDtypeAndLayout) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const auto compare = [&](const TestTensorSpec& self, int64_t dim, Layout out) {
      // Near 0, results are sums of terms that cancel.
      KernelCall call = {
          "aten.logcumsumexp.default", {self, EValue(dim)}, {dtype}, 1, UlpOf::kMagnitudes};
      call.output_layout = out;
      ASSERT_TRUE(comparison.Compare(call));
    };
    for (int64_t n : {0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 130}) {
      for (Values values : {Values::kNormal, Values::kFew, Values::kSpecial, Values::kWide}) {
        compare({dtype, {3, n}, Layout::kRowMajor, values, 0}, 1, Layout::kRowMajor);
        compare({dtype, {5, n}, Layout::kRowMajor, values, 0}, 0, Layout::kRowMajor);
      }
    }
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
      for (int64_t dim : {0, 1, 2, -1})
        compare({dtype, {4, 5, 6}, layout, Values::kNormal, 0}, dim,
                layout == Layout::kRepeated ? Layout::kRowMajor : layout);
    }
    compare({dtype, {}}, 0, Layout::kRowMajor);
  }
}

}  // namespace
}  // namespace belay
