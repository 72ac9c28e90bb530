// GEMM against the reference kernels. The allowed error covers both: the Highway kernel accumulates
// in float (packed_gemm.h), the reference kernel in double. alpha, the addend and beta add three
// roundings, the two results one each.
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

KernelCall Mm(DType dtype, int64_t m, int64_t k, int64_t n, Layout a = Layout::kRowMajor,
              Layout b = Layout::kRowMajor) {
  return {"aten.mm.default",
          {TestTensorSpec{dtype, {m, k}, a, Values::kUnit, 0},
           TestTensorSpec{dtype, {k, n}, b, Values::kUnit, 0}},
          {dtype},
          static_cast<double>(k) + 6,
          UlpOf::kMagnitudes};
}

KernelCall Addmm(DType dtype, const Sizes& addend, int64_t m, int64_t k, int64_t n, double beta,
                 double alpha) {
  KernelCall call = Mm(dtype, m, k, n);
  call.op = "aten.addmm.default";
  call.arguments.insert(call.arguments.begin(), TestTensorSpec{dtype, addend});
  call.arguments.push_back(EValue(beta));
  call.arguments.push_back(EValue(alpha));
  return call;
}

TEST(GemmTest, AllTileTails) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    for (int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 25, 30}) {
      for (int64_t n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65}) {
        const int64_t k = (m * 7 + n * 3) % 40;
        ASSERT_TRUE(comparison.Compare(Mm(dtype, m, k, n)));
        ASSERT_TRUE(comparison.Compare(Addmm(dtype, {n}, m, k, n, 1, 1)));
      }
    }
  }
}

TEST(GemmTest, LayoutsBatchesAndAddends) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (Layout a : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
      for (Layout b : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
        for (Layout out : {Layout::kRowMajor, Layout::kReversed}) {
          KernelCall call = Mm(dtype, 13, 40, 37, a, b);
          call.output_layout = out;
          ASSERT_TRUE(comparison.Compare(call));
          call.op = "aten.bmm.default";
          std::get<TestTensorSpec>(call.arguments[0]).sizes = {3, 5, 40};
          std::get<TestTensorSpec>(call.arguments[1]).sizes = {3, 40, 19};
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
    }
    for (const Sizes& addend : {Sizes{19}, Sizes{1}, Sizes{}, Sizes{7, 19}, Sizes{7, 1}}) {
      for (const auto& [beta, alpha] :
           std::vector<std::pair<double, double>>{{1, 1}, {0.5, 2}, {0, 1}}) {
        ASSERT_TRUE(comparison.Compare(Addmm(dtype, addend, 7, 33, 19, beta, alpha)));
      }
    }
  }
}

TEST(GemmTest, ComplexMatrices) {
  KernelComparison comparison;
  for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
    for (int64_t n : {0, 1, 7, 16, 33}) {
      KernelCall call = Mm(DType::kComplex64, 5, 19, n, layout, layout);
      call.max_ulp *= 2;  // parts are differences and sums of two sums
      call.ulp_of = UlpOf::kLargest;
      ASSERT_TRUE(comparison.Compare(call));
      call.op = "aten.bmm.default";
      std::get<TestTensorSpec>(call.arguments[0]).sizes = {3, 5, 19};
      std::get<TestTensorSpec>(call.arguments[1]).sizes = {3, 19, n};
      ASSERT_TRUE(comparison.Compare(call));
    }
  }
}

TEST(GemmTest, GroupedRows) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
      // An empty group, groups of one and of many rows, and rows after the last group.
      for (const std::vector<int32_t>& ends :
           {std::vector<int32_t>{0, 1, 14, 14, 20}, {3, 3, 9, 15, 17}, {0, 0, 0, 0, 0}}) {
        TestTensor offsets = TestTensor::Of<int32_t>({5}, ends);
        KernelCall call = Mm(dtype, 20, 33, 19, layout);
        call.op = "aten._grouped_mm.default";
        std::get<TestTensorSpec>(call.arguments[1]).sizes = {5, 33, 19};
        std::get<TestTensorSpec>(call.arguments[1]).layout = layout;
        call.arguments.resize(5);
        call.arguments[2] = EValue(offsets.view());
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

}  // namespace
}  // namespace belay
