// Data movement against the reference kernels: every dtype, every layout, all tails of runs and of
// transposed tiles.
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64,
                             DType::kInt64,   DType::kInt32,   DType::kInt16,    DType::kInt8,
                             DType::kUint8,   DType::kBool};
constexpr Layout kLayouts[] = {Layout::kRowMajor, Layout::kReversed, Layout::kGaps,
                               Layout::kRepeated, Layout::kChannelsLast};

EValue Int(int64_t v) { return EValue(v); }

// Operators on one tensor of sizes [3, 4, 6, 10].
std::vector<std::pair<std::string, std::vector<TestArgument>>> OneTensorCalls() {
  using Ints = std::vector<int64_t>;
  return {
      {"aten.alias_copy.default", {}},
      {"aten.clone.default", {EValue()}},
      {"aten.constant_pad_nd.default", {Ints{2, 3, -1, 1}, Int(1)}},
      {"aten.constant_pad_nd.default", {Ints{2, 3, -1, 1, 3, 0, 1, 2}, Int(1)}},
      {"aten.reflection_pad2d.default", {Ints{2, 9, 5, 0}}},
      {"aten.reflection_pad2d.default", {Ints{-3, 4, 2, -1}}},
      {"aten.reflection_pad3d.default", {Ints{1, 2, 3, 4, 3, 1}}},
      {"aten.replication_pad2d.default", {Ints{2, 30, -2, 3}}},
      {"aten.replication_pad2d.default", {Ints{-12, 14, 0, -5}}},
      {"aten.replication_pad3d.default", {Ints{1, 2, 3, 4, 9, 1}}},
      {"aten.diagonal_copy.default", {Int(1), Int(2), Int(3)}},
      {"aten.flip.default", {Ints{}}},
      {"aten.flip.default", {Ints{3}}},
      {"aten.flip.default", {Ints{0, 2}}},
      {"aten.flip.default", {Ints{0, 1, 2, 3}}},
      {"aten.roll.default", {Ints{-3}, Ints{3}}},
      {"aten.roll.default", {Ints{1, 17, 0}, Ints{0, 2, 1}}},
      {"aten.roll.default", {Ints{2, -1, 5, 3}, Ints{0, 1, 2, 3}}},
      {"aten.roll.default", {Ints{1, 2}, Ints{2, 2}}},
      {"aten.expand_copy.default", {Ints{2, 3, 4, 6, 10}, EValue(false)}},
      {"aten.permute_copy.default", {Ints{0, 2, 3, 1}}},
      {"aten.permute_copy.default", {Ints{3, 2, 1, 0}}},
      {"aten.pixel_shuffle.default", {Int(2)}},
      {"aten.pixel_unshuffle.default", {Int(2)}},
      {"aten.repeat.default", {Ints{2, 1, 2, 1, 3}}},
      {"aten.select_copy.int", {Int(2), Int(-2)}},
      {"aten.slice_copy.Tensor", {Int(3), Int(1), Int(9), Int(1)}},
      {"aten.slice_copy.Tensor", {Int(3), Int(0), Int(10), Int(2)}},
      {"aten.slice_copy.Tensor", {Int(1), Int(1), Int(4), Int(2)}},
      {"aten.squeeze_copy.default", {}},
      {"aten.transpose_copy.int", {Int(2), Int(3)}},
      {"aten.transpose_copy.int", {Int(0), Int(3)}},
      {"aten.unfold_copy.default", {Int(3), Int(4), Int(3)}},
      {"aten.unsqueeze_copy.default", {Int(2)}},
      {"aten.view_copy.default", {Ints{12, 60}}},
  };
}

TEST(MovementTest, EveryOperatorOnEveryLayoutAndDtype) {
  KernelComparison comparison;
  for (const auto& [op, parameters] : OneTensorCalls()) {
    for (DType dtype : kDTypes) {
      for (Layout in : kLayouts) {
        for (Layout out : {Layout::kRowMajor, Layout::kReversed, Layout::kChannelsLast}) {
          KernelCall call;
          call.op = op;
          call.arguments = {TestTensorSpec{dtype, {3, 4, 6, 10}, in, Values::kNormal, 0}};
          for (const TestArgument& p : parameters) call.arguments.push_back(p);
          call.outputs = {dtype};
          call.output_layout = out;
          ASSERT_TRUE(comparison.Compare(call));
        }
      }
    }
  }
}

// Large enough for several threads.
TEST(MovementTest, LargeCopiesAreDivided) {
  KernelComparison comparison;
  for (Layout layout : kLayouts) {
    KernelCall call;
    call.op = "aten._to_copy.default";
    call.arguments = {TestTensorSpec{DType::kFloat32, {2, 33, 61, 40}, Layout::kRowMajor},
                      EValue(DType::kFloat16),
                      EValue(),
                      EValue(),
                      EValue(),
                      EValue(false),
                      EValue()};
    call.outputs = {DType::kFloat16};
    call.output_layout = layout == Layout::kRepeated ? Layout::kRowMajor : layout;
    ASSERT_TRUE(comparison.Compare(call));
    call.arguments[0] = TestTensorSpec{DType::kFloat16, {1, 33, 61, 40}, layout};
    call.output_layout = Layout::kChannelsLast;
    ASSERT_TRUE(comparison.Compare(call));
  }
}

TEST(MovementTest, LargePaddingIsDivided) {
  KernelComparison comparison;
  for (Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
    for (const char* op : {"aten.reflection_pad2d.default", "aten.replication_pad2d.default",
                           "aten.constant_pad_nd.default"}) {
      KernelCall call;
      call.op = op;
      call.arguments = {TestTensorSpec{DType::kFloat32, {2, 31, 40, 40}, layout},
                        std::vector<int64_t>{3, 4, 5, 6}};
      if (call.op == "aten.constant_pad_nd.default") call.arguments.push_back(EValue(2.5));
      call.outputs = {DType::kFloat32};
      call.output_layout = layout;
      ASSERT_TRUE(comparison.Compare(call));
    }
  }
}

TEST(MovementTest, TransposedPlanesOfAllSizes) {
  KernelComparison comparison;
  for (DType dtype : {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kInt64}) {
    for (int64_t rows : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 70}) {
      for (int64_t columns : {1, 3, 4, 7, 8, 16, 17, 63, 64, 65, 130}) {
        ASSERT_TRUE(comparison.Compare({"aten.transpose_copy.int",
                                        {TestTensorSpec{dtype, {2, rows, columns}}, Int(1), Int(2)},
                                        {dtype}}));
      }
    }
  }
}

TEST(MovementTest, FlippedAndRolledRowsOfAllLengths) {
  using Ints = std::vector<int64_t>;
  KernelComparison comparison;
  for (DType dtype : {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kInt64}) {
    for (int64_t n : KernelComparison::Lengths(dtype)) {
      const TestTensorSpec rows = {dtype, {2, n}};
      ASSERT_TRUE(comparison.Compare({"aten.flip.default", {rows, Ints{1}}, {dtype}}));
      if (n == 0) continue;
      ASSERT_TRUE(comparison.Compare({"aten.roll.default", {rows, Ints{n / 2}, Ints{1}}, {dtype}}));
    }
  }
}

TEST(MovementTest, EveryConversionAtEveryLength) {
  KernelComparison comparison;
  for (DType from : kDTypes) {
    for (DType to : kDTypes) {
      const auto convert = [&](TestTensorSpec spec, Layout out) {
        KernelCall call;
        call.op = "aten._to_copy.default";
        call.arguments = {spec, EValue(to), EValue(), EValue(), EValue(), EValue(false), EValue()};
        call.outputs = {to};
        call.output_layout = out;
        ASSERT_TRUE(comparison.Compare(call));
      };
      for (int64_t n : KernelComparison::Lengths(from)) {
        convert({from, {n}}, Layout::kRowMajor);
        convert({from, {n}, Layout::kRowMajor, Values::kSpecial, 0}, Layout::kRowMajor);
        convert({from, {n}, Layout::kRowMajor, Values::kWide, 0}, Layout::kRowMajor);
      }
      for (Layout layout : kLayouts) {
        convert({from, {2, 3, 5, 7}, layout, Values::kNormal, 0}, Layout::kReversed);
      }
    }
  }
}

TEST(MovementTest, JoinsAndSplits) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (Layout layout : kLayouts) {
      for (int64_t dim : {0, 1, 2, -1}) {
        const auto part = [&](int64_t size) {
          Sizes sizes = {5, 6, 7};
          sizes[static_cast<int>(dim < 0 ? dim + 3 : dim)] = size;
          return TestTensorSpec{dtype, sizes, layout, Values::kNormal, 0};
        };
        ASSERT_TRUE(comparison.Compare(
            {"aten.cat.default",
             {std::vector<TestTensorSpec>{part(1), part(20), part(0), part(3)}, Int(dim)},
             {dtype}}));
        ASSERT_TRUE(comparison.Compare({"aten.stack.default",
                                        {std::vector<TestTensorSpec>{part(9), part(9)}, Int(dim)},
                                        {dtype}}));
        KernelCall split;
        split.op = "aten.split_copy.Tensor";
        split.arguments = {part(10), Int(4), Int(dim)};
        split.outputs = {dtype};
        split.pieces = 3;
        ASSERT_TRUE(comparison.Compare(split));
        ASSERT_TRUE(comparison.Compare(
            {"aten.index_select.default",
             {part(10), Int(dim),
              TestTensorSpec{DType::kInt64, {13}, Layout::kRowMajor, Values::kNormal, 10}},
             {dtype}}));
      }
    }
  }
}

TEST(MovementTest, CopiesBroadcastSources) {
  KernelComparison comparison;
  for (DType from : {DType::kFloat32, DType::kInt64, DType::kFloat16}) {
    ASSERT_TRUE(comparison.Compare({"aten.copy.default",
                                    {TestTensorSpec{DType::kFloat32, {3, 5, 7}},
                                     TestTensorSpec{from, {5, 1}}, EValue(false)}}));
  }
}

TEST(MovementTest, ReplacesParts) {
  KernelComparison comparison;
  for (DType dtype : kDTypes) {
    for (Layout layout : kLayouts) {
      for (int64_t dim : {0, 1, 2, 3}) {
        const Sizes sizes = {5, 6, 7, 9};
        Sizes part = sizes, slice = sizes;
        part[static_cast<int>(dim)] = 2;
        slice.erase(static_cast<int>(dim));
        const TestTensorSpec self = {dtype, sizes, layout, Values::kNormal, 0};
        ASSERT_TRUE(comparison.Compare(
            {"aten.slice_scatter.default",
             {self, TestTensorSpec{dtype, part}, Int(dim), Int(1), Int(5), Int(2)},
             {dtype}}));
        ASSERT_TRUE(comparison.Compare({"aten.select_scatter.default",
                                        {self, TestTensorSpec{dtype, slice}, Int(dim), Int(-2)},
                                        {dtype}}));
      }
    }
  }
}

TEST(MovementTest, ViewsComplexNumbersAsPairs) {
  KernelComparison comparison;
  for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
    for (const Sizes& sizes :
         {Sizes{}, Sizes{0}, Sizes{1}, Sizes{17}, Sizes{5, 7}, Sizes{33, 40}}) {
      Sizes pairs = sizes;
      pairs.push_back(2);
      ASSERT_TRUE(comparison.Compare({"aten.view_as_real_copy.default",
                                      {TestTensorSpec{DType::kComplex64, sizes, layout}},
                                      {DType::kFloat32}}));
      ASSERT_TRUE(comparison.Compare({"aten.view_as_complex_copy.default",
                                      {TestTensorSpec{DType::kFloat32, pairs}},
                                      {DType::kComplex64}}));
    }
  }
}

TEST(MovementTest, SelectsIndicesOfEveryDimension) {
  KernelComparison comparison;
  for (DType dtype : {DType::kFloat32, DType::kInt8, DType::kFloat16, DType::kInt64}) {
    for (Layout layout : kLayouts) {
      for (int64_t dim : {0, 1, 2}) {
        for (int64_t count : {0, 1, 17, 40}) {
          const TestTensorSpec index = {
              DType::kInt64, {count}, Layout::kRowMajor, Values::kNormal, 5};
          ASSERT_TRUE(
              comparison.Compare({"aten.index_select.default",
                                  {TestTensorSpec{dtype, {5, 7, 6}, layout}, EValue(dim), index},
                                  {dtype}}));
        }
      }
    }
  }
}

}  // namespace
}  // namespace belay
