// Gather and topk against the reference kernels.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/kernel_comparison.h"
#include "runtime/kernels/packed/guarded_array.h"
#include "runtime/kernels/select/select.h"

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

// Rows that several threads share.
TEST(SelectTest, ManyRows) {
  KernelComparison comparison;
  for (DType index : {DType::kInt64, DType::kInt32}) {
    ASSERT_TRUE(comparison.Compare(
        {"aten.gather.default",
         {TestTensorSpec{DType::kFloat32, {300, 9}}, EValue(int64_t{1}),
          TestTensorSpec{index, {300, 400}, Layout::kRowMajor, Values::kNormal, 9}, EValue(false)},
         {DType::kFloat32}}));
  }
  for (int64_t k : {1, 16, 64, 65, 200}) {
    for (bool largest : {true, false}) {
      for (Values values : {Values::kNormal, Values::kFew, Values::kSpecial}) {
        ASSERT_TRUE(comparison.Compare(
            {"aten.topk.default",
             {TestTensorSpec{DType::kFloat32, {300, 310}, Layout::kRowMajor, values, 0}, EValue(k),
              EValue(int64_t{-1}), EValue(largest), EValue(true)},
             {DType::kFloat32, DType::kInt64}}));
      }
    }
  }
}

TEST(SelectTest, GatherOfShortLastDimensions) {
  KernelComparison comparison;
  for (int64_t dim : {0, 1, 2}) {
    for (const Sizes& sizes : {Sizes{3, 40, 1}, Sizes{40, 3, 2}, Sizes{1, 1100, 3}}) {
      for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
        Sizes self = sizes;
        self[static_cast<int>(dim)] = 9;
        KernelCall call = {
            "aten.gather.default",
            {TestTensorSpec{DType::kFloat32, self, layout, Values::kNormal, 0}, EValue(dim),
             TestTensorSpec{DType::kInt64, sizes, layout, Values::kNormal, 9}, EValue(false)},
            {DType::kFloat32}};
        call.output_layout = layout;
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

TEST(SelectTest, TopKOfEveryLengthAndOrder) {
  KernelComparison comparison;
  for (DType dtype :
       {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kInt64, DType::kInt8}) {
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{5}, n}) {
        if (k > n) continue;
        for (bool largest : {true, false}) {
          for (Values values : {Values::kNormal, Values::kFew, Values::kSpecial}) {
            if (values == Values::kSpecial && !IsFloatingPoint(dtype)) continue;
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

// Bit i of Beating is set exactly if x[i] precedes the bound.
template <class T>
void CheckBeating(const std::vector<T>& values, std::mt19937_64& random) {
  for (const GuardedSide side : {GuardedSide::kEnd, GuardedSide::kBegin}) {
    for (size_t n = 0; n <= 64; ++n) {
      GuardedArray<T> x(n, T{}, side);
      for (size_t i = 0; i < n; ++i) x[i] = values[random() % values.size()];
      for (const T bound : values) {
        for (const bool largest : {true, false}) {
          uint64_t want = 0;
          for (size_t i = 0; i < n; ++i) {
            const bool beats = largest ? !(x[i] <= bound) : x[i] < bound || bound != bound;
            want |= uint64_t{beats} << i;
          }
          ASSERT_EQ(Beating(x.data(), n, bound, largest), want)
              << n << " elements, bound " << bound << (largest ? ", largest" : ", smallest");
        }
      }
    }
  }
}

TEST(SelectTest, ElementsThatPrecedeABound) {
  std::mt19937_64 random(TestSeed());
  using Float = std::numeric_limits<float>;
  using Integer = std::numeric_limits<int64_t>;
  for (const std::string& set : InstructionSets()) {
    ASSERT_OK(UseInstructionSet(set));
    CheckBeating<float>({0.0f, -0.0f, 1.5f, -2.0f, Float::infinity(), -Float::infinity(),
                         Float::quiet_NaN(), Float::max(), Float::denorm_min()},
                        random);
    CheckBeating<int64_t>(
        {0, 1, -1, Integer::min(), Integer::max(), int64_t{1} << 32, -(int64_t{1} << 32)}, random);
    if (HasFatalFailure()) break;
  }
  ASSERT_OK(UseInstructionSet(InstructionSets().front()));
}

// Returns a call that scatters a source of the index's sizes along `dim`.
KernelCall Scattered(const char* op, DType dtype, const Sizes& self, int64_t dim,
                     const TestTensorSpec& index, Layout layout) {
  const std::string name = op;
  KernelCall call = {op, {TestTensorSpec{dtype, self, layout}, EValue(dim), index}, {dtype}};
  if (name.find(".value") != std::string::npos) {
    call.arguments.push_back(EValue(int64_t{3}));
  } else {
    call.arguments.push_back(TestTensorSpec{dtype, index.sizes, layout});
  }
  return call;
}

TEST(ScatterTest, EveryLengthDimensionDtypeAndLayout) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32,
                      DType::kFloat16, DType::kBFloat16}) {
    for (const char* op :
         {"aten.scatter.src", "aten.scatter.value", "aten.scatter_add.default",
          "aten.scatter.reduce", "aten.scatter.value_reduce", "aten.scatter_reduce.two"}) {
      const std::string name = op;
      std::vector<std::string_view> reductions = {""};
      const bool reduces = name == "aten.scatter_reduce.two";
      if (reduces) reductions = {"sum", "prod", "amax", "amin"};
      if (reduces && IsFloatingPoint(dtype) && DTypeSize(dtype) > 2) reductions.push_back("mean");
      if (name == "aten.scatter.reduce" || name == "aten.scatter.value_reduce")
        reductions = {"add", "multiply"};
      for (std::string_view reduce : reductions) {
        const auto compare = [&](const Sizes& self, int64_t dim, const TestTensorSpec& index,
                                 Layout layout) {
          KernelCall call = Scattered(op, dtype, self, dim, index, layout);
          if (!reduce.empty()) call.arguments.push_back(EValue(reduce));
          if (reduces) call.arguments.push_back(EValue(true));
          ASSERT_TRUE(comparison.Compare(call));
          if (!reduces) return;
          call.arguments.back() = EValue(false);  // without self
          ASSERT_TRUE(comparison.Compare(call));
        };
        for (int64_t n : {1, 2, 7, 16, 33, 1025}) {
          // Equal indices (an index of one row) and different ones.
          compare({9, n}, 0, {DType::kInt64, {4, n}, Layout::kRowMajor, Values::kNormal, 1},
                  Layout::kRowMajor);
          compare({9, n}, 0, {DType::kInt64, {4, n}, Layout::kRowMajor, Values::kNormal, 9},
                  Layout::kRowMajor);
          compare({3, 9}, 1, {DType::kInt32, {2, n}, Layout::kRowMajor, Values::kNormal, 9},
                  Layout::kRowMajor);
        }
        for (Layout layout : {Layout::kReversed, Layout::kGaps}) {
          for (int64_t dim : {0, 1, -1}) {
            compare({5, 6, 7}, dim, {DType::kInt64, {4, 3, 5}, layout, Values::kNormal, 4}, layout);
          }
        }
        compare({}, 0, {DType::kInt64, {}, Layout::kRowMajor, Values::kNormal, 1},
                Layout::kRowMajor);
        compare({4, 0}, 0, {DType::kInt64, {4, 0}, Layout::kRowMajor, Values::kNormal, 1},
                Layout::kRowMajor);
      }
    }
  }
}

// Large enough for several threads, which divide each of the dimensions.
TEST(ScatterTest, DividesEveryDimension) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64}) {
    for (const Sizes& sizes : {Sizes{300, 5, 100}, Sizes{3, 400, 100}, Sizes{2, 9, 8009}}) {
      for (int64_t dim : {0, 1, 2}) {
        for (int64_t below : {1, 2}) {
          ASSERT_TRUE(comparison.Compare(
              Scattered("aten.scatter_add.default", dtype, sizes, dim,
                        {DType::kInt64, sizes, Layout::kRowMajor, Values::kNormal, below},
                        Layout::kRowMajor)));
        }
      }
    }
  }
}

TEST(ScatterTest, AssignsEveryWidth) {
  KernelComparison comparison;
  for (DType dtype : {DType::kInt8, DType::kInt16, DType::kFloat16, DType::kBFloat16}) {
    for (int64_t dim : {0, 1}) {
      ASSERT_TRUE(comparison.Compare(Scattered(
          "aten.scatter.src", dtype, {6, 40}, dim,
          {DType::kInt64, {5, 40}, Layout::kRowMajor, Values::kNormal, 6}, Layout::kRowMajor)));
    }
  }
}

TEST(SelectTest, MaskedScatterOfEveryTypeLayoutAndMask) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
      for (const Sizes& mask : {Sizes{5, 7, 9}, Sizes{5, 7, 1}, Sizes{9}, Sizes{1, 1, 1}}) {
        KernelCall call = {
            "aten.masked_scatter.default",
            {TestTensorSpec{dtype, {5, 7, 9}, layout, Values::kNormal, 0},
             TestTensorSpec{DType::kBool, mask, Layout::kRowMajor, Values::kNormal, 0},
             TestTensorSpec{dtype, {315}, Layout::kRowMajor, Values::kNormal, 0}},
            {dtype}};
        call.output_layout = layout;
        ASSERT_TRUE(comparison.Compare(call));
      }
    }
  }
}

}  // namespace
}  // namespace belay
