// Constant tensors and arithmetic sequences against the reference kernels: equal bits.
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

using Ints = std::vector<int64_t>;
constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64,
                             DType::kInt64,   DType::kInt32,   DType::kInt16,    DType::kInt8,
                             DType::kUint8,   DType::kBool};

TEST(CreationTest, FullOfEveryTypeLengthAndLayout) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      ASSERT_TRUE(comparison.Compare(
          {"aten.full.default",
           {Ints{n}, EValue(int64_t{1}), EValue(dtype), EValue(), EValue(), EValue()},
           {dtype}}));
    }
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
      KernelCall call = {
          "aten.full.default",
          {Ints{3, 5, 7}, EValue(int64_t{1}), EValue(dtype), EValue(), EValue(), EValue()},
          {dtype}};
      call.output_layout = layout;
      ASSERT_TRUE(comparison.Compare(call));
      call.op = "aten.fill.Tensor";
      call.arguments = {TestTensorSpec{dtype, {3, 5, 7}}, TestTensorSpec{dtype, {}}};
      ASSERT_TRUE(comparison.Compare(call));
    }
  }
  ASSERT_TRUE(comparison.Compare({"aten.full.default",
                                  {Ints{9}, EValue(-0.3), EValue(), EValue(), EValue(), EValue()},
                                  {DType::kFloat32}}));
}

TEST(CreationTest, ArangeOfEveryTypeAndLength) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    if (dtype == DType::kBool) continue;
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      if (DTypeSize(dtype) < 4 && n > 127) continue;  // exceeds the dtype
      for (Layout layout : {Layout::kRowMajor, Layout::kGaps}) {
        KernelCall call = {"aten.arange.start_step",
                           {EValue(int64_t{0}), EValue(n), EValue(int64_t{1}), EValue(dtype),
                            EValue(), EValue(), EValue()},
                           {dtype}};
        call.output_layout = layout;
        ASSERT_TRUE(comparison.Compare(call));
        if (!IsFloatingPoint(dtype)) continue;
        call.arguments[0] = EValue(-1.7);
        call.arguments[1] = EValue(-1.7 + 0.3 * static_cast<double>(n));
        call.arguments[2] = EValue(0.3);
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

}  // namespace
}  // namespace belay
