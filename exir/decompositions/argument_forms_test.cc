// Calls that the vectors of conformance/decompositions do not cover, checked by values.
#include <cmath>
#include <string>
#include <vector>

#include "exir/decompositions/expect_values.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

Values OfInt(DType dtype, Sizes64 sizes, std::vector<double> v) { return {dtype, sizes, v}; }
const ExpectOptions kList = {.list = true};

TEST(ArgumentFormsTest, ScalarAndTensorOperands) {
  ExpectValues("aten._add_relu.Scalar(%a, -0.5, 2)", {F({3}, {0, 1, 2})}, {F({3}, {0, 0, 1})});
  ExpectValues("aten.rsub.Scalar(%a, 1.5)", {H({2}, {1, 2})}, {H({2}, {0.5, -0.5})});
  ExpectValues("aten.rsub.Scalar(%a, 3, 2)", {OfInt(DType::kUint8, {2}, {1, 2})},
               {OfInt(DType::kUint8, {2}, {1, 255})});
  const Values x = F({4}, {1, 1, kInf, kNan}), y = F({4}, {1, 1.5, kInf, kNan});
  ExpectValues("aten.isclose.default(%a, %b, 0.0, 0.0)", {x, y}, {B({4}, {1, 0, 1, 0})});
  ExpectValues("aten.isclose.default(%a, %b, 0.0, 0.5)", {x, y}, {B({4}, {1, 1, 1, 0})});
  ExpectValues("aten.isclose.default(%a, %b, 0.5, 0.0, true)", {x, y}, {B({4}, {1, 1, 1, 1})});
}

TEST(ArgumentFormsTest, AttentionHeadSizesAndMasks) {
  // Scores 0 and 2 · a / √2, weights 1/4 and 3/4.
  const double a = std::log(3.0) / std::sqrt(2.0);
  const Values query = F({1, 1, 1, 2}, {1, 1}), key = F({1, 1, 2, 2}, {0, 0, a, a});
  const Values value = F({1, 1, 2, 2}, {4, 0, 0, 4});
  ExpectValues("aten.scaled_dot_product_attention.default(%a, %b, %c)", {query, key, value},
               {F({1, 1, 1, 2}, {1, 3})});
  // An additive mask.
  const Values zeros = F({1, 1, 2, 2}, {0, 0, 0, 0}), mask = F({1, 2}, {0, std::log(3.0)});
  ExpectValues("aten.scaled_dot_product_attention.default(%a, %b, %c, %d)",
               {query, zeros, value, mask}, {F({1, 1, 1, 2}, {1, 3})});
  ExpectValues("aten.scaled_dot_product_attention.default(%a, %b, %c, %d)",
               {query, zeros, value, B({1, 2}, {0, 1})}, {F({1, 1, 1, 2}, {0, 4})});
}

TEST(ArgumentFormsTest, AttentionOfHalfPrecisionComputesInFloat32) {
  // The scores 64 and 64.03125 are the same number in bfloat16 and, after scaling, in float16.
  const double weight = 1 / (1 + std::exp(-0.03125));
  const double want = 1024 * weight;
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const auto of = [&](std::vector<double> elements) {
      return Values{dtype, {1, 1, static_cast<int64_t>(elements.size()) / 2, 2}, elements};
    };
    ExpectValues("aten.scaled_dot_product_attention.default(%a, %b, %c, scale=1.0)",
                 {of({8, 0.03125}), of({8, 0, 8, 1}), of({0, 0, 1024, 1024})}, {of({want, want})},
                 {.rtol = 1.0 / 256});
  }
}

// Rows without elements have equal scores.
TEST(ArgumentFormsTest, AttentionOfHeadsWithoutElements) {
  for (const char* call : {"aten.scaled_dot_product_attention.default(%a, %b, %c)",
                           "aten.scaled_dot_product_attention.default(%a, %b, %c, scale=2.0)"}) {
    ExpectValues(call, {F({1, 1, 1, 0}, {}), F({1, 1, 2, 0}, {}), F({1, 1, 2, 1}, {1, 3})},
                 {F({1, 1, 1, 1}, {2})}, {.symbolic_empty = true});
  }
}

TEST(ArgumentFormsTest, HistogramsWithIntegerLimits) {
  ExpectValues("aten.histogram.bin_ct(%a, 2, range=[0,4])", {F({4}, {0, 1, 3, 4})},
               {F({2}, {2, 2}), F({3}, {0, 2, 4})});
  ExpectValues("aten.histogram.bin_ct(%a, 2, range=[0.0,4.0])", {F({4}, {0, 2, 3, 9})},
               {F({2}, {1, 2}), F({3}, {0, 2, 4})});
}

TEST(ArgumentFormsTest, CopiesAndFormats) {
  const Values x = F({2, 3}, {1, 2, 3, 4, 5, 6});
  ExpectValues("aten.to.dtype(%a, dtype:f32)", {x}, {x});
  ExpectValues("aten.to.dtype(%a, dtype:f32, false, true)", {x}, {x});
  ExpectValues("aten.to.dtype(%a, dtype:i64, false, true)", {x}, {I({2, 3}, x.elements)});
  const Values image = F({1, 2, 1, 2}, {1, 2, 3, 4});
  ExpectValues("aten.to.dtype(%a, dtype:f32, memory_format=format:channels_last)", {image},
               {image});
  ExpectValues("aten.to.other(%a, %b)", {x, I({1}, {0})}, {I({2, 3}, x.elements)});
  ExpectValues("aten.contiguous.default(%a, memory_format=format:channels_last)", {image}, {image});
  // Contiguous in both memory formats.
  const Values column = F({2, 1, 1, 1}, {1, 2});
  ExpectValues("aten.contiguous.default(%a, memory_format=format:channels_last)", {column},
               {column});
  ExpectValues("aten.empty_permuted.default([2,3], [0,1])", {}, {F({2, 3}, {0, 0, 0, 0, 0, 0})});
  ExpectValues("aten.empty_permuted.default([2,3], [1,0])", {}, {F({2, 3}, {0, 0, 0, 0, 0, 0})});
}

TEST(ArgumentFormsTest, GradientsWithDynamicSizes) {
  ExpectValues("aten.gradient.tensorarray(%a, spacing=[%b], dim=[0])",
               {F({4}, {0, 1, 4, 9}), F({4}, {0, 1, 2, 3})}, {F({4}, {1, 2, 4, 5})}, kList);
  ExpectValues("aten.gradient.tensorarray(%a, spacing=[%b], dim=[0])",
               {F({3}, {0, 1, 9}), F({3}, {0, 1, 3})}, {F({3}, {1, 2, 4})}, kList);
}

TEST(ArgumentFormsTest, IndicesOfScalarTensors) {
  ExpectValues("aten.take_along_dim.default(%a, %b, 0)", {F({}, {5}), I({}, {0})}, {F({}, {5})});
  ExpectValues("aten.meshgrid.indexing([%a], indexing=\"xy\")", {F({2}, {1, 2})}, {F({2}, {1, 2})},
               kList);
  ExpectValues("aten.meshgrid.indexing([%a,%b], indexing=\"xy\")", {F({2}, {1, 2}), F({1}, {3})},
               {F({1, 2}, {1, 2}), F({1, 2}, {3, 3})}, kList);
}

TEST(ArgumentFormsTest, Matmuls) {
  const Values none = F({0, 2}, {}), vector = F({2}, {1, 2});
  ExpectValues("aten.addmv.default(%a, %b, %c)", {F({0}, {}), none, vector}, {F({0}, {})});
  for (const char* call :
       {"aten.addmv.default(%a, %b, %c, beta=0.0)", "aten.addmv.default(%a, %b, %c, beta=0)"}) {
    ExpectValues(call, {F({0}, {}), none, vector}, {F({0}, {})});
    ExpectValues(call, {F({1}, {kNan}), F({1, 2}, {3, 4}), vector}, {F({1}, {11})});
  }
  const Values self = B({2, 2}, {1, 0, 0, 1}), row = B({2}, {1, 0}), column = B({2}, {1, 1});
  ExpectValues("aten.addr.default(%a, %b, %c)", {self, row, column}, {B({2, 2}, {1, 1, 0, 1})});
  ExpectValues("aten.addr.default(%a, %b, %c, beta=0)", {self, row, column},
               {B({2, 2}, {1, 1, 0, 0})});
  ExpectValues("aten.addr.default(%a, %b, %c, beta=false)", {self, row, column},
               {B({2, 2}, {1, 1, 0, 0})});
  ExpectValues("aten.addr.default(%a, %b, %c, alpha=false)", {self, row, column}, {self});
  const Values half = H({1, 2}, {1, 2}), matrix = H({2, 1}, {3, 4});
  ExpectValues("aten.mm.dtype(%a, %b, dtype:f32)", {half, matrix}, {F({1, 1}, {11})});
  ExpectValues("aten.bmm.dtype(%a, %b, dtype:f32)", {H({1, 1, 2}, {1, 2}), H({1, 2, 1}, {3, 4})},
               {F({1, 1, 1}, {11})});
  // Vectors and matrices as left and right operands of batches.
  const Values batch = F({2, 2, 1}, {1, 2, 3, 4});
  ExpectValues("aten.matmul.default(%a, %b)", {F({2}, {1, 10}), batch}, {F({2, 1}, {21, 43})});
  ExpectValues("aten.matmul.default(%a, %b)", {batch, F({1}, {10})}, {F({2, 2}, {10, 20, 30, 40})});
  ExpectValues("aten.matmul.default(%a, %b)", {F({1, 2}, {1, 10}), batch},
               {F({2, 1, 1}, {21, 43})});
  ExpectValues("aten.matmul.default(%a, %b)", {F({3, 1, 1, 2}, {1, 10, 1, 0, 0, 1}), batch},
               {F({3, 2, 1, 1}, {21, 43, 1, 3, 2, 4})});
}

TEST(ArgumentFormsTest, UnbatchedLosses) {
  ExpectValues("aten.nll_loss_forward.default(%a, %b, none, 0, -100)",
               {F({3}, {-1, -2, -3}), I({}, {1})}, {F({}, {2}), F({}, {1})});
  ExpectValues("aten.nll_loss_forward.default(%a, %b, none, 0, -100)",
               {F({1, 3}, {-1, -2, -3}), I({1}, {1})}, {F({1}, {2}), F({}, {0})});
}

TEST(ArgumentFormsTest, BatchStatistics) {
  const Values x = F({2, 1}, {1, 3}), mean = F({1}, {0}), var = F({1}, {1});
  ExpectValues(
      "aten._batch_norm_with_update_functional.default(%a, none, none, %b, %c, 0.1, 0.0)",
      {x, mean, var},
      {F({2, 1}, {-1, 1}), F({1}, {2}), F({1}, {1}), U8({0}, {}), F({1}, {0.2}), F({1}, {1.1})});
  ExpectValues(
      "aten._native_batch_norm_legit_functional.default(%a, none, none, %b, %c, true, 0.1, 0.0)",
      {x, mean, var}, {F({2, 1}, {-1, 1}), F({1}, {2}), F({1}, {1}), F({1}, {0.2}), F({1}, {1.1})});
}

TEST(ArgumentFormsTest, GlobalAveragePooling) {
  ExpectValues("aten.adaptive_avg_pool3d.default(%a, [1,1,1])", {F({1, 1, 2, 1, 2}, {1, 2, 3, 6})},
               {F({1, 1, 1, 1, 1}, {3})});
}

// Deterministic random numbers: probabilities 0 and 1, and ranges of one.
TEST(ArgumentFormsTest, RandomNumbersInRange) {
  const std::vector<double> certain = {0, 1, 1};
  ExpectValues("aten.bernoulli.default(%a)", {F({3}, certain)}, {F({3}, certain)});
  ExpectValues("aten.bernoulli.default(%a)", {D({3}, certain)}, {D({3}, certain)});
  ExpectValues("aten.bernoulli.Tensor(%a, %b)", {F({3}, {7, 7, 7}), D({3}, certain)},
               {F({3}, certain)});
  ExpectValues("aten.bernoulli.Tensor(%a, %b)", {I({3}, {7, 7, 7}), F({3}, certain)},
               {I({3}, certain)});
  ExpectValues("aten.bernoulli.p(%a, 1.0)", {F({3}, {0, 0, 0})}, {F({3}, {1, 1, 1})});
  const auto last = [](const char* call, DType dtype, double expected) {
    ExpectValues(call, {OfInt(dtype, {2}, {0, 0})}, {OfInt(dtype, {2}, {expected, expected})});
  };
  last("aten.random.from(%a, 1, none)", DType::kBool, 1);
  last("aten.random.from(%a, 255, none)", DType::kUint8, 255);
  last("aten.random.from(%a, 127, none)", DType::kInt8, 127);
  last("aten.random.from(%a, 32767, none)", DType::kInt16, 32767);
  last("aten.random.from(%a, 2147483647, none)", DType::kInt32, 2147483647);
  last("aten.random.from(%a, 2047, none)", DType::kFloat16, 2047);
  last("aten.random.from(%a, 255, none)", DType::kBFloat16, 255);
  last("aten.random.from(%a, 16777215, none)", DType::kFloat32, 16777215);
  last("aten.random.from(%a, 9007199254740991, none)", DType::kFloat64, 9007199254740991);
  last("aten.random.from(%a, 5, 6)", DType::kInt64, 5);
  last("aten.random.to(%a, 1)", DType::kInt64, 0);
}

TEST(ArgumentFormsTest, Im2ColOfPaddedImages) {
  const Values x = F({1, 1, 1, 1}, {5});
  ExpectValues("aten.im2col.default(%a, [2,1], [1,1], [1,0], [1,1])", {x},
               {F({1, 2, 2}, {0, 5, 5, 0})});
  ExpectValues("aten.im2col.default(%a, [1,2], [1,1], [0,1], [1,1])", {x},
               {F({1, 2, 2}, {0, 5, 5, 0})});
}

TEST(ArgumentFormsTest, Differences) {
  ExpectValues("aten.diff.default(%a, 1, -1, none, %b)", {I({3}, {1, 4, 9}), I({1}, {16})},
               {I({3}, {3, 5, 7})});
  ExpectValues("aten.diff.default(%a, 2, 0, %b, %c)", {I({2}, {1, 4}), I({1}, {0}), I({1}, {9})},
               {I({2}, {2, 2})});
  ExpectValues("aten.diff.default(%a)", {B({4}, {1, 0, 0, 1})}, {B({3}, {1, 0, 1})});
}

TEST(ArgumentFormsTest, SortsScalarTensors) {
  const Values five = F({}, {5});
  for (const char* keep : {"false", "true"}) {
    const std::string rest = std::string(", 0, ") + keep + ")";
    ExpectValues("aten.nanmedian.dim(%a" + rest, {five}, {five, I({}, {0})});
    ExpectValues("aten.mode.default(%a" + rest, {five}, {five, I({}, {0})});
    ExpectValues("aten.quantile.default(%a, %b" + rest, {five, F({2}, {0.25, 1})},
                 {F({2}, {5, 5})});
  }
  const Values x = F({2, 3}, {3, 1, 2, 6, kNan, 4});
  ExpectValues("aten.nanmedian.dim(%a, 1, true)", {x}, {F({2, 1}, {2, 4}), I({2, 1}, {2, 2})});
  ExpectValues("aten.nanmedian.dim(%a, -1)", {x}, {F({2}, {2, 4}), I({2}, {2, 2})});
  ExpectValues("aten.quantile.default(%a, %b, 1)", {D({1, 3}, {3, 1, 2}), D({2}, {0, 0.75})},
               {D({2, 1}, {1, 2.5})});
  ExpectValues("aten.all.dims(%a, [0,1])", {B({2, 2}, {1, 1, 1, 0})}, {B({}, {0})});
  ExpectValues("aten.logsumexp.default(%a, [0], true)", {five}, {five});
}

// The smallest of the most frequent elements, at its last position. NaN equals nothing.
TEST(ArgumentFormsTest, MostFrequentElements) {
  ExpectValues("aten.mode.default(%a)", {F({2, 6}, {3, 1, 3, 1, 2, 0, 7, 7, 5, 6, 5, 7})},
               {F({2}, {1, 7}), I({2}, {3, 5})});
  ExpectValues("aten.mode.default(%a, 0, true)", {I({4, 2}, {4, 9, 4, 8, 5, 8, 6, 9})},
               {I({1, 2}, {4, 8}), I({1, 2}, {1, 2})});
  ExpectValues("aten.mode.default(%a)", {F({4}, {kNan, kNan, 2, kNan})}, {F({}, {2}), I({}, {2})});
  ExpectValues("aten.mode.default(%a)", {F({3, 1}, {5, 6, 7})},
               {F({3}, {5, 6, 7}), I({3}, {0, 0, 0})});
}

TEST(ArgumentFormsTest, Images) {
  const Values threes = F({1, 1, 2, 2}, {3, 3, 3, 3});
  const Values many = F({1, 1, 4, 4}, std::vector<double>(16, 3));
  for (const char* factors : {"[2,2]", "[2.0,2.0]"}) {
    ExpectValues(std::string("aten.upsample_bicubic2d.vec(%a, none, false, ") + factors + ")",
                 {threes}, {many});
  }
  ExpectValues("aten.upsample_bicubic2d.default(%a, [1,1], true)", {F({1, 1, 2, 2}, {1, 2, 3, 4})},
               {F({1, 1, 1, 1}, {1})}, {.symbolic = false});
  ExpectValues("aten._upsample_nearest_exact2d.default(%a, [4,2])", {F({1, 1, 2, 2}, {1, 2, 3, 4})},
               {F({1, 1, 4, 2}, {1, 2, 1, 2, 3, 4, 3, 4})});
}

TEST(ArgumentFormsTest, Splits) {
  ExpectValues("aten.split.Tensor(%a, 0)", {F({0}, {})}, {F({0}, {})}, kList);
  ExpectValues("aten.split.Tensor(%a, 2)", {F({0}, {})}, {F({0}, {})}, kList);
  ExpectValues("aten.hsplit.int(%a, 1)", {F({2}, {1, 2})}, {F({2}, {1, 2})}, kList);
  ExpectValues("aten.narrow.default(%a, 0, 1, 1)", {F({2}, {1, 2})}, {F({1}, {2})});
  ExpectValues("aten.narrow.default(%a, 0, -1, 1)", {F({2}, {1, 2})}, {F({1}, {2})});
  ExpectValues("aten.mH.default(%a)", {F({1, 2}, {1, 2})}, {F({2, 1}, {1, 2})});
}

}  // namespace
}  // namespace belay::exir
