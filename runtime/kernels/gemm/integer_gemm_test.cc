// GEMM of integers and doubles against the reference kernels: equal bits of integers.
#include <utility>

#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

constexpr DType kDTypes[] = {DType::kInt8,  DType::kUint8, DType::kInt16,
                             DType::kInt32, DType::kInt64, DType::kFloat64};

KernelCall Mm(DType dtype, int64_t m, int64_t k, int64_t n, Layout a = Layout::kRowMajor,
              Layout b = Layout::kRowMajor) {
  return {"aten.mm.default",
          {TestTensorSpec{dtype, {m, k}, a, Values::kWide, 0},
           TestTensorSpec{dtype, {k, n}, b, Values::kWide, 0}},
          {dtype},
          IsFloatingPoint(dtype) ? static_cast<double>(2 * k + 2) : 0,
          UlpOf::kMagnitudes};
}

KernelCall Addmm(DType dtype, const Sizes& addend, int64_t m, int64_t k, int64_t n) {
  KernelCall call = Mm(dtype, m, k, n);
  call.op = "aten.addmm.default";
  call.arguments.insert(call.arguments.begin(),
                        TestTensorSpec{dtype, addend, Layout::kRowMajor, Values::kWide, 0});
  call.arguments.push_back(EValue(int64_t{1}));
  call.arguments.push_back(EValue(int64_t{1}));
  return call;
}

TEST(IntegerGemmTest, DeepColumnsOfDoubles) {
  KernelComparison comparison;
  for (int64_t m : {1, 7, 8, 9, 17}) {
    for (int64_t n : {1, 2, 3, 4, 5}) {
      for (int64_t k : {31, 32, 33, 39, 64, 203}) {
        for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
          ASSERT_TRUE(comparison.Compare(Mm(DType::kFloat64, m, k, n, Layout::kRowMajor, layout)));
        }
        ASSERT_TRUE(comparison.Compare(Addmm(DType::kFloat64, {n}, m, k, n)));
      }
    }
  }
}

TEST(IntegerGemmTest, AllTileTails) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (int64_t m : {0, 1, 2, 3, 4, 5, 8, 11, 12, 13, 25}) {
      for (int64_t n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65}) {
        for (int64_t k : {int64_t{0}, int64_t{1}, 4 + n % 4, 2 * m + n}) {
          ASSERT_TRUE(comparison.Compare(Mm(dtype, m, k, n)));
        }
        ASSERT_TRUE(comparison.Compare(Addmm(dtype, {n}, m, m + 3, n)));
      }
    }
  }
}

TEST(IntegerGemmTest, LayoutsBatchesAndAddends) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (Layout a : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
      for (Layout b : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
        for (Layout out : {Layout::kRowMajor, Layout::kReversed}) {
          KernelCall call = Mm(dtype, 13, 39, 37, a, b);
          call.output_layout = out;
          ASSERT_TRUE(comparison.Compare(call));
          call.op = "aten.bmm.default";
          std::get<TestTensorSpec>(call.arguments[0]).sizes = {3, 5, 39};
          std::get<TestTensorSpec>(call.arguments[1]).sizes = {3, 39, 19};
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
    }
    for (const Sizes& addend : {Sizes{19}, Sizes{1}, Sizes{}, Sizes{7, 19}, Sizes{7, 1}}) {
      ASSERT_TRUE(comparison.Compare(Addmm(dtype, addend, 7, 33, 19)));
    }
  }
}

TEST(IntegerGemmTest, DoublesScaleProductAndAddend) {
  KernelComparison comparison;
  for (const auto& [beta, alpha] : {std::pair(1.0, 0.5), {0.0, -2.0}, {-0.75, 1.0}, {3.0, 0.25}}) {
    for (const Sizes& addend : {Sizes{19}, Sizes{}, Sizes{7, 1}}) {
      KernelCall call = Addmm(DType::kFloat64, addend, 7, 33, 19);
      call.arguments[3] = EValue(beta);
      call.arguments[4] = EValue(alpha);
      ASSERT_TRUE(comparison.Compare(call));
    }
  }
}

}  // namespace
}  // namespace belay
