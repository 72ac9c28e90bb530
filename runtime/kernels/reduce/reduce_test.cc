// Reductions against the reference kernels: every operator, dtype, layout and set of dimensions.
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/kernel_comparison.h"
#include "runtime/kernels/reduce/reduce.h"

namespace belay {
namespace {

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                             DType::kFloat64, DType::kInt64,   DType::kInt32,
                             DType::kInt8,    DType::kUint8,   DType::kBool};

// Arguments that follow self.
enum class Form { kAll, kOneDim, kDims, kDimsAndDtype, kVar, kNorm };

struct Row {
  std::string op;
  Form form;
  enum Result { kSelf, kSum, kTruth, kIndex, kSelfAndIndex, kSelfTwice } result;
  bool floats_only;
  double max_ulp;
};

const Row kRows[] = {
    {"aten.sum.dim_IntList", Form::kDimsAndDtype, Row::kSum, false, 1},
    {"aten.prod.dim_int", Form::kOneDim, Row::kSum, false, 1},
    {"aten.mean.dim", Form::kDimsAndDtype, Row::kSelf, true, 1},
    {"aten.amax.default", Form::kDims, Row::kSelf, false, 0},
    {"aten.amin.default", Form::kDims, Row::kSelf, false, 0},
    {"aten.max.default", Form::kAll, Row::kSelf, false, 0},
    {"aten.min.default", Form::kAll, Row::kSelf, false, 0},
    {"aten.max.dim", Form::kOneDim, Row::kSelfAndIndex, false, 0},
    {"aten.min.dim", Form::kOneDim, Row::kSelfAndIndex, false, 0},
    {"aten.argmax.default", Form::kOneDim, Row::kIndex, false, 0},
    {"aten.argmin.default", Form::kOneDim, Row::kIndex, false, 0},
    {"aten.any.default", Form::kAll, Row::kTruth, false, 0},
    {"aten.any.dim", Form::kOneDim, Row::kTruth, false, 0},
    {"aten.any.dims", Form::kDims, Row::kTruth, false, 0},
    {"aten.all.default", Form::kAll, Row::kTruth, false, 0},
    {"aten.all.dim", Form::kOneDim, Row::kTruth, false, 0},
    {"aten.all.dims", Form::kDims, Row::kTruth, false, 0},
    {"aten.var.correction", Form::kVar, Row::kSelf, true, 1},
    {"aten.var_mean.correction", Form::kVar, Row::kSelfTwice, true, 1},
    {"aten.linalg_vector_norm.default", Form::kNorm, Row::kSelf, true, 1},
};

std::vector<DType> Results(const Row& row, DType dtype) {
  switch (row.result) {
    case Row::kSelf:
      return {dtype};
    case Row::kSum:
      return {IsFloatingPoint(dtype) ? dtype : DType::kInt64};
    case Row::kTruth:
      return {dtype == DType::kUint8 ? dtype : DType::kBool};
    case Row::kIndex:
      return {DType::kInt64};
    case Row::kSelfAndIndex:
      return {dtype, DType::kInt64};
    case Row::kSelfTwice:
      return {dtype, dtype};
  }
  return {};
}

// Returns a call of the row over these dimensions; operators of one dimension use the first.
KernelCall CallOf(const Row& row, const TestTensorSpec& self, std::vector<int64_t> dims,
                  bool keepdim) {
  KernelCall call;
  call.op = row.op;
  call.arguments = {self};
  call.outputs = Results(row, self.dtype);
  if (row.max_ulp != 0) {
    // Both kernels add in double, in different orders, and round once. In float64 the order is
    // visible: n terms, for variances squared distances from a mean of n terms, and the last
    // operations.
    int64_t n = 1;
    for (int64_t size : self.sizes) n *= size;
    call.max_ulp = self.dtype == DType::kFloat64 ? 4 * static_cast<double>(n) + 8 : row.max_ulp;
    call.ulp_of = UlpOf::kMagnitudes;
  }
  switch (row.form) {
    case Form::kAll:
      break;
    case Form::kOneDim:
      call.arguments.push_back(EValue(dims[0]));
      call.arguments.push_back(EValue(keepdim));
      if (row.op == "aten.prod.dim_int") call.arguments.push_back(EValue());
      break;
    case Form::kDims:
    case Form::kDimsAndDtype:
      call.arguments.push_back(dims);
      call.arguments.push_back(EValue(keepdim));
      if (row.form == Form::kDimsAndDtype) call.arguments.push_back(EValue());
      break;
    case Form::kVar:
      call.arguments.push_back(dims);
      call.arguments.push_back(EValue(int64_t{1}));
      call.arguments.push_back(EValue(keepdim));
      break;
    case Form::kNorm:
      call.arguments.push_back(EValue(int64_t{2}));
      call.arguments.push_back(dims);
      call.arguments.push_back(EValue(keepdim));
      call.arguments.push_back(EValue());
      break;
  }
  return call;
}

bool Takes(const Row& row, DType dtype) {
  if (row.floats_only && !IsFloatingPoint(dtype)) return false;
  return row.result != Row::kIndex || dtype != DType::kBool;
}

TEST(ReduceTest, EveryLengthAsRowAndAsColumn) {
  KernelComparison comparison;
  for (const Row& row : kRows) {
    for (DType dtype : kDTypes) {
      if (!Takes(row, dtype)) continue;
      for (int64_t n : KernelComparison::Lengths(dtype)) {
        if (n == 0) continue;
        const Values values = n % 2 == 0 ? Values::kNormal : Values::kFew;
        ASSERT_TRUE(comparison.Compare(
            CallOf(row, {dtype, {3, n}, Layout::kRowMajor, values, 0}, {1}, false)));
        ASSERT_TRUE(comparison.Compare(
            CallOf(row, {dtype, {5, n}, Layout::kRowMajor, values, 0}, {0}, true)));
      }
    }
  }
}

TEST(ReduceTest, EveryLayoutAndSetOfDimensions) {
  KernelComparison comparison;
  for (const Row& row : kRows) {
    for (DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64, DType::kUint8}) {
      if (!Takes(row, dtype)) continue;
      for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated,
                            Layout::kChannelsLast}) {
        const std::vector<std::vector<int64_t>> sets = {{0},    {1},    {-1},     {0, 2},
                                                        {1, 3}, {2, 3}, {1, 2, 3}};
        for (const std::vector<int64_t>& dims : sets) {
          for (bool keepdim : {false, true}) {
            KernelCall call =
                CallOf(row, {dtype, {3, 9, 5, 12}, layout, Values::kFew, 0}, dims, keepdim);
            call.output_layout = keepdim ? Layout::kReversed : Layout::kRowMajor;
            ASSERT_TRUE(comparison.Compare(call));
          }
        }
      }
    }
  }
}

// More rows than are summed at a time, also with gaps between the rows or the results.
TEST(ReduceTest, SumsOfManyRows) {
  KernelComparison comparison;
  for (int64_t rows : {63, 64, 65, 200}) {
    for (int64_t length : {17, 64, 196}) {
      TestTensorSpec self = {DType::kFloat32, {2, rows, length}};
      for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2}, {0, 2}}) {
        for (Layout output : {Layout::kRowMajor, Layout::kGaps}) {
          KernelCall call = {"aten.sum.dim_IntList",
                             {self, dims, EValue(false), EValue()},
                             {DType::kFloat32},
                             1,
                             UlpOf::kMagnitudes};
          call.output_layout = output;
          ASSERT_TRUE(comparison.Compare(call));
          call.op = "aten.mean.dim";
          ASSERT_TRUE(comparison.Compare(call));
          call.op = "aten.linalg_vector_norm.default";
          call.arguments = {self, EValue(2.0), dims, EValue(false), EValue()};
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
    }
  }
}

TEST(ReduceTest, NormsOfEveryOrder) {
  KernelComparison comparison;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (double order : {0.0, 0.5, 1.5, 3.0, 4.0, -1.0, -2.5, kInf, -kInf}) {
      const bool exact = order == 0 || std::isinf(order);
      const auto compare = [&](const TestTensorSpec& self, std::vector<int64_t> dims) {
        return comparison.Compare({"aten.linalg_vector_norm.default",
                                   {self, EValue(order), dims, EValue(false), EValue()},
                                   {dtype},
                                   exact ? 0.0 : 4.0});
      };
      for (int64_t n : {1, 2, 31, 32, 33, 100, 1023, 1500}) {
        ASSERT_TRUE(compare({dtype, {3, n}, Layout::kRowMajor, Values::kFew, 0}, {1}));
        ASSERT_TRUE(compare({dtype, {3, n}}, {0}));
        ASSERT_TRUE(compare({dtype, {5, n}, Layout::kReversed}, {1}));
        ASSERT_TRUE(compare({dtype, {2, 3, n}, Layout::kGaps}, {0, 2}));
      }
      for (Values values : {Values::kSpecial, Values::kWide}) {
        ASSERT_TRUE(compare({dtype, {40, 17}, Layout::kRowMajor, values, 0}, {1}));
        ASSERT_TRUE(compare({dtype, {17, 40}, Layout::kRowMajor, values, 0}, {0}));
      }
    }
  }
}

TEST(ReduceTest, FewResultsOfAdjacentElements) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (int64_t width : {2, 3, 5, 7}) {
      for (int64_t rows : {2, 3, 8, 16, 17, 31, 32, 33, 65, 1000}) {
        for (const char* op : {"aten.sum.dim_IntList", "aten.mean.dim"}) {
          for (const Sizes& sizes : {Sizes{rows, width}, Sizes{3, rows, width}}) {
            const std::vector<int64_t> dims = {static_cast<int64_t>(sizes.size()) - 2};
            ASSERT_TRUE(
                comparison.Compare({op,
                                    {TestTensorSpec{dtype, sizes}, dims, EValue(false), EValue()},
                                    {dtype},
                                    2,
                                    UlpOf::kMagnitudes}));
          }
        }
      }
    }
  }
  for (const char* op : {"aten.sum.dim_IntList", "aten.mean.dim"}) {
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
      for (int64_t n : {1, 16, 17, 100, 515}) {
        for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {1}, {0, 1}}) {
          const TestTensorSpec self = {DType::kComplex64, {4, n}, layout};
          ASSERT_TRUE(comparison.Compare(
              {op, {self, dims, EValue(true), EValue()}, {DType::kComplex64}, 4, UlpOf::kLargest}));
        }
      }
    }
  }
}

TEST(ReduceTest, ProductsOfFewRows) {
  KernelComparison comparison;
  for (int64_t rows : {1, 2, 5, 6, 7}) {
    for (int64_t columns : {8, 17, 1030}) {
      for (Values values : {Values::kNormal, Values::kSpecial, Values::kWide}) {
        const TestTensorSpec self = {
            DType::kFloat32, {rows, columns}, Layout::kRowMajor, values, 0};
        ASSERT_TRUE(comparison.Compare({"aten.prod.dim_int",
                                        {self, EValue(int64_t{0}), EValue(false), EValue()},
                                        {DType::kFloat32},
                                        1}));
      }
    }
  }
}

// Enough rows for blocks of rows, and one row less.
TEST(ReduceTest, ColumnsOfManyRows) {
  KernelComparison comparison;
  for (const Row& row : kRows) {
    if (row.op != "aten.sum.dim_IntList" && row.op != "aten.mean.dim") continue;
    for (DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
      for (int64_t rows : {31, 32, 33, 191, 255, 257, 1100}) {
        for (int64_t columns : {2, 17, 1024, 1030}) {
          ASSERT_TRUE(
              comparison.Compare(CallOf(row, {dtype, {rows, columns}}, {0}, rows % 2 == 0)));
        }
      }
      for (const Sizes& image :
           {Sizes{1, 19, 8, 8}, Sizes{1, 40, 28, 27}, Sizes{2, 19, 8, 8}, Sizes{1, 1, 16, 16}}) {
        ASSERT_TRUE(comparison.Compare(
            CallOf(row, {dtype, image, Layout::kChannelsLast, Values::kWide}, {2, 3}, true)));
      }
    }
    ASSERT_TRUE(comparison.Compare(
        CallOf(row, {DType::kFloat32, {64, 4100}}, {0}, false)));  // too many columns
    ASSERT_TRUE(comparison.Compare(
        CallOf(row, {DType::kFloat32, {64, 20}, Layout::kRowMajor, Values::kSpecial}, {0}, false)));
  }
}

TEST(ReduceTest, NanInfinitiesAndEmptyTensors) {
  KernelComparison comparison;
  for (const Row& row : kRows) {
    for (DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      for (int64_t dim : {0, 1}) {
        ASSERT_TRUE(comparison.Compare(
            CallOf(row, {dtype, {20, 20}, Layout::kRowMajor, Values::kSpecial, 0}, {dim}, false)));
      }
      // No results, and, if allowed, results without elements.
      ASSERT_TRUE(comparison.Compare(
          CallOf(row, {dtype, {row.form == Form::kAll ? 1 : 0, 4}}, {1}, false)));
      const bool extreme =
          row.op.find("max") != std::string::npos || row.op.find("min") != std::string::npos;
      if (!extreme) {
        ASSERT_TRUE(comparison.Compare(CallOf(row, {dtype, {30, 0}}, {1}, true)));
        ASSERT_TRUE(comparison.Compare(CallOf(row, {dtype, {0, 30}}, {0}, true)));
      }
    }
  }
}

TEST(ReduceTest, SumsOfColumnsHaveTheSameBitsForEveryNumberOfThreads) {
  constexpr int64_t kRows = 4111, kColumns = 300;
  std::mt19937 random(3);
  std::vector<float> elements(kRows * kColumns);
  for (float& x : elements) x = static_cast<float>(random() % 100000) / 977 - 50;
  const TestTensor self = TestTensor::Of<float>({kRows, kColumns}, elements);
  KernelRegistry kernels;
  ASSERT_OK(kernels.Add(ReduceHighwayKernels()));
  std::vector<float> expected;
  for (int threads : {1, 2, 3, 5, 7}) {
    const TestTensor sums = TestTensor::Zeros(DType::kFloat32, {kColumns});
    EValue dim(int64_t{0});
    EValue* const dims[] = {&dim};
    EValue arguments[] = {EValue(self.view()), EValue(ListView{dims}), EValue(false), EValue()},
           output(sums.view());
    EValue *const argument_slots[] = {&arguments[0], &arguments[1], &arguments[2], &arguments[3]},
                  *const outputs[] = {&output};
    FixedOutputs allocator;
    KernelContext planned(argument_slots, outputs, &allocator, {});
    const Kernel* kernel = kernels.Find("aten.sum.dim_IntList", planned);
    ASSERT_NE(kernel, nullptr);
    std::vector<double> scratch(kernel->ScratchBytes(planned) / sizeof(double));
    EXPECT_FALSE(scratch.empty());
    ThreadPool pool(threads);
    KernelContext context(argument_slots, outputs, &allocator,
                          absl::MakeSpan(reinterpret_cast<std::byte*>(scratch.data()),
                                         scratch.size() * sizeof(double)),
                          &pool);
    ASSERT_OK(kernel->Run(context));
    const float* const got = sums.view().as<const float>();
    if (threads == 1) expected.assign(got, got + kColumns);
    EXPECT_EQ(std::vector<float>(got, got + kColumns), expected) << threads << " threads";
  }
}

// Working memory of the kernel for the means of f32[batch, rows, columns] over the rows.
uint64_t ScratchOfMeans(int64_t batch, int64_t rows, int64_t columns) {
  const TestTensor self = TestTensor::Zeros(DType::kFloat32, {batch, rows, columns});
  const TestTensor out = TestTensor::Zeros(DType::kFloat32, {batch, columns});
  EValue dim(int64_t{1});
  EValue* const dims[] = {&dim};
  EValue arguments[] = {EValue(self.view()), EValue(ListView{dims}), EValue(false), EValue()},
         output(out.view());
  EValue *const slots[] = {&arguments[0], &arguments[1], &arguments[2], &arguments[3]},
                *const outputs[] = {&output};
  FixedOutputs allocator;
  const KernelContext planned(slots, outputs, &allocator, {});
  KernelRegistry kernels;
  EXPECT_OK(kernels.Add(ReduceHighwayKernels()));
  const Kernel* const kernel = kernels.Find("aten.mean.dim", planned);
  EXPECT_NE(kernel, nullptr);
  return kernel == nullptr ? 0 : kernel->ScratchBytes(planned);
}

TEST(ReduceTest, WorkingMemorySufficesForSmallerSizes) {
  const uint64_t batch_of_one = ScratchOfMeans(1, 64, 1024);
  EXPECT_GT(batch_of_one, 0u);
  for (int64_t batch : {2, 8, 16}) EXPECT_GE(ScratchOfMeans(batch, 64, 1024), batch_of_one);
  for (int64_t columns : {64, 500, 4096, 5000}) {
    EXPECT_GE(ScratchOfMeans(1, 1000, columns), ScratchOfMeans(1, 1000, 64)) << columns;
  }
}

// Returns the result of the kernel, which reduces all elements of `self` to `out`. The operator has
// arguments that are None after self.
template <class T>
T ResultOf(const char* op, size_t arguments, const TestTensor& self, const TestTensor& out) {
  std::vector<EValue> values(arguments);
  values[0] = EValue(self.view());
  EValue output(out.view());
  EValue* const outputs[] = {&output};
  FixedOutputs allocator;
  KernelRegistry kernels;
  EXPECT_OK(kernels.Add(ReduceHighwayKernels()));
  EXPECT_OK(kernels.Add(ExtremeHighwayKernels()));
  EXPECT_OK(RunOperator(kernels, op, values, outputs, allocator));
  return *out.view().template as<T>();
}

// Returns the kernel's product of the factors as one row.
template <class T>
T ProductOf(const std::vector<T>& factors) {
  const TestTensor self = TestTensor::Of<T>({static_cast<int64_t>(factors.size())}, factors);
  return ResultOf<T>("aten.prod.default", 2, self, TestTensor::Of<T>({}, {T{0}}));
}

// Factors other than 1, by position; factors kReduceLanes apart share a lane.
template <class T>
std::vector<T> Factors(const std::vector<std::pair<int64_t, double>>& placed) {
  std::vector<T> factors(4 * kReduceLanes, T{1});
  for (const auto& [place, factor] : placed) factors[place] = static_cast<T>(factor);
  return factors;
}

template <class T>
T OneAfterTheOther(const std::vector<T>& factors) {
  double product = 1;
  for (const T factor : factors) product *= static_cast<double>(factor);
  return static_cast<T>(product);
}

// A subnormal number has few bits; multiplying it does not restore the lost ones.
TEST(ReduceTest, DoubleProductsUseReferenceOrder) {
  constexpr int64_t kNextRow = kReduceLanes;
  const double third = 4.0 / 3;
  const struct {
    const char* what;
    std::vector<std::pair<int64_t, double>> factors;
  } kRows[] = {
      {"a partial product that is subnormal",
       {{0, third * 0x1p-1000}, {1, 0x1p-60}, {kNextRow, 0x1p60}, {kNextRow + 1, 0x1p60}}},
      {"an overflow",
       {{0, 0x1p1000}, {1, 0x1p1000}, {kNextRow, 0x1p-1000}, {kNextRow + 1, 0x1p-1000}}},
      {"zero", {{0, third * 0x1p-1000}, {kNextRow, 0}}},
      {"infinity and zero", {{0, HUGE_VAL}, {kNextRow, 0}}},
      {"NaN", {{3, std::nan("")}}},
      {"a negative number that is subnormal itself", {{3, -third * 0x1p-1060}, {4, 0x1p200}}},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.what);
    const std::vector<double> factors = Factors<double>(row.factors);
    const double expected = OneAfterTheOther(factors), product = ProductOf(factors);
    EXPECT_TRUE(product == expected || (std::isnan(product) && std::isnan(expected)))
        << product << ", expected " << expected;
  }
}

// Rows whose partial products leave the numbers of double; the result may be in range again.
TEST(ReduceTest, FloatProductsHaveNoBoundsOfTheExponent) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 400; ++trial) {
    const int64_t n = 1 + static_cast<int64_t>(random() % 700);
    const double center = static_cast<double>(random() % 7) - 3,
                 width = static_cast<double>(random() % 60);
    std::vector<float> factors(n);
    long double expected = 1;  // 15 bits of exponent
    double log = 0;
    for (float& factor : factors) {
      const double place = static_cast<double>(random() % 1001) / 500 - 1;
      factor = static_cast<float>((random() % 2 == 0 ? 1 : -1) * std::exp2(center + width * place));
      // Keeps the result near 1, and the partial products within long double.
      if (std::abs(log + std::log2(std::abs(factor))) > 8000) factor = 1;
      log += std::log2(std::abs(factor));
    }
    while (std::abs(log) > 100) {
      factors.push_back(log > 0 ? 0x1p-100f : 0x1p100f);
      log += log > 0 ? -100 : 100;
    }
    if (trial % 9 == 0) factors[random() % factors.size()] = 0;
    for (const float factor : factors) expected *= static_cast<long double>(factor);
    const float product = ProductOf(factors), rounded = static_cast<float>(expected);
    EXPECT_NEAR(product, rounded, std::abs(rounded) * 0x1p-23) << "trial " << trial;
  }
}

TEST(ReduceTest, FloatProductsOfZeroInfinityAndNan) {
  constexpr float kInfinity = HUGE_VALF;
  for (int64_t at : {0, 5, 31, 40, 99}) {
    std::vector<float> factors(100, 1e30f);
    factors[at] = 1e-30f;
    EXPECT_EQ(ProductOf(factors), kInfinity);
    factors[at] = -0.0f;
    const float zero = ProductOf(factors);
    EXPECT_TRUE(zero == 0 && std::signbit(zero));
    factors[99 - at] = -kInfinity;
    EXPECT_TRUE(std::isnan(ProductOf(factors)));
    factors[at] = 1e-45f;
    EXPECT_EQ(ProductOf(factors), -kInfinity);
    factors[at] = std::nanf("");
    EXPECT_TRUE(std::isnan(ProductOf(factors)));
  }
  EXPECT_EQ(ProductOf(std::vector<float>(700, 1e-3f)), 0);
}

TEST(ReduceTest, SumsOfComplexNumbers) {
  KernelComparison comparison;
  for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps, Layout::kRepeated}) {
    for (const std::vector<int64_t>& dims :
         {std::vector<int64_t>{0}, {1}, {2}, {0, 2}, {0, 1, 2}, {1, 2}}) {
      for (bool keep : {false, true}) {
        ASSERT_TRUE(comparison.Compare(
            {"aten.sum.dim_IntList",
             {TestTensorSpec{DType::kComplex64, {3, 7, 21}, layout}, dims, EValue(keep), EValue()},
             {DType::kComplex64},
             1,
             UlpOf::kMagnitudes}));
      }
    }
  }
}

// Runs of a result that are apart, and halves, which have lanes of float.
TEST(ReduceTest, SumsOfSeveralRuns) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kInt64}) {
    for (int64_t n : {127, 128, 130, 1030}) {
      for (const char* op : {"aten.sum.dim_IntList", "aten.amax.default"}) {
        KernelCall call = {
            op,
            {TestTensorSpec{dtype, {5, 3, n}}, std::vector<int64_t>{0, 2}, EValue(false)},
            {dtype},
            1,
            UlpOf::kMagnitudes};
        if (std::string_view(op) == "aten.sum.dim_IntList") call.arguments.push_back(EValue());
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

// The neighboring elements of the operand are not those of the result.
TEST(ReduceTest, ChannelsLastToOtherLayouts) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt64}) {
    for (int64_t channels : {7, 8, 40, 130}) {
      for (int64_t dim : {2, 3}) {
        for (const char* op : {"aten.sum.dim_IntList", "aten.amax.default"}) {
          for (Layout out : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
            KernelCall call = {op,
                               {TestTensorSpec{dtype, {2, channels, 5, 20}, Layout::kChannelsLast},
                                std::vector<int64_t>{dim}, EValue(false)},
                               {dtype},
                               1,
                               UlpOf::kMagnitudes};
            if (std::string_view(op) == "aten.sum.dim_IntList") call.arguments.push_back(EValue());
            call.output_layout = out;
            ASSERT_TRUE(comparison.Compare(call));
          }
        }
      }
    }
  }
}

TEST(ReduceTest, TruthOfBytes) {
  for (int64_t n : {1, 15, 255, 256, 257, 600}) {
    for (int64_t at = 0; at < n; at += 7) {
      for (bool all : {false, true}) {
        std::vector<uint8_t> bytes(n, all ? 1 : 0);
        bytes[at] = all ? 0 : 2;
        const TestTensor self = TestTensor::Of<uint8_t>({n}, bytes);
        const TestTensor out = TestTensor::Of<uint8_t>({}, {7});
        // uint8 keeps its dtype.
        EXPECT_EQ(ResultOf<uint8_t>(all ? "aten.all.default" : "aten.any.default", 1, self, out),
                  all ? 0 : 1);
      }
    }
  }
}

TEST(ReduceTest, OverloadsWithoutDimensionsAndWithOtherDtypes) {
  KernelComparison comparison;
  const TestTensorSpec floats = {DType::kFloat32, {7, 300}}, halves = {DType::kFloat16, {7, 300}},
                       ints = {DType::kInt32, {7, 300}};
  for (const char* op : {"aten.sum.default", "aten.prod.default", "aten.mean.default"}) {
    ASSERT_TRUE(
        comparison.Compare({op, {floats, EValue()}, {DType::kFloat32}, 1, UlpOf::kMagnitudes}));
    ASSERT_TRUE(comparison.Compare(
        {op, {halves, EValue(DType::kFloat32)}, {DType::kFloat32}, 1, UlpOf::kMagnitudes}));
  }
  ASSERT_TRUE(
      comparison.Compare({"aten.sum.default", {ints, EValue(DType::kInt32)}, {DType::kInt32}}));
  ASSERT_TRUE(comparison.Compare({"aten.prod.default", {ints, EValue()}, {DType::kInt64}}));
  ASSERT_TRUE(comparison.Compare({"aten.var.dim",
                                  {floats, std::vector<int64_t>{1}, EValue(false), EValue(false)},
                                  {DType::kFloat32},
                                  1}));
  ASSERT_TRUE(comparison.Compare(
      {"aten.argmax.default", {floats, EValue(), EValue(false)}, {DType::kInt64}}));
  ASSERT_TRUE(
      comparison.Compare({"aten.linalg_vector_norm.default",
                          {floats, EValue(1.0), std::vector<int64_t>{1}, EValue(false), EValue()},
                          {DType::kFloat32},
                          1}));
}

}  // namespace
}  // namespace belay
