#include "executorch/writer/portable_decompositions.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "executorch/writer/portable_passes.h"
#include "executorch/writer/program_serializer.h"
#include "exir/backend/transforms/edge_to_backend_ops.h"
#include "exir/decompositions/expect_values.h"
#include "exir/emit/emitter.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using exir::D;
using exir::H;
using exir::I;
using exir::kInf;
using exir::kNan;
using exir::Random;
using exir::U8;
using exir::Values;

struct PortableOptions {
  double tolerance = 0;  // relative to max(1, |element|)
  bool symbolic = true;
  bool values = true;
};

// Applies the passes for ExecuTorch. Expects that all tensors are row-major and that the program
// can be written as a .pte file.
absl::Status MakePortable(exir::ExportedProgram& program) {
  for (const exir::Pass& pass : PortablePasses()) {
    ABSL_RETURN_IF_ERROR(pass.run(program).status());
  }
  if (absl::StrContains(exir::PrintProgram(program), "strides=")) {
    return absl::InternalError("expected operands of one memory order, as ExecuTorch's kernels do");
  }
  exir::MethodPrograms programs;
  programs.emplace_back("forward", program.Clone());
  ABSL_RETURN_IF_ERROR(exir::EdgeToBackendOps().run(programs.back().second).status());
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(programs));
  return SerializeProgram(image, exir::StandardOpsOfTests()).status();
}

// Expects that MakePortable keeps the results of a call: "aten.sort.default(%a, 0)".
void ExpectPortable(std::string_view call, const std::vector<Values>& inputs, size_t results,
                    const PortableOptions& options = {}) {
  exir::ExpectSameValues(absl::StrCat("edge.", call), inputs, results, &MakePortable,
                         {.rtol = options.tolerance / 2,
                          .atol = options.tolerance / 2,
                          .symbolic = options.symbolic,
                          .values = options.values});
}

// Elements that repeat, of both signs.
Values Repeating(const std::vector<int64_t>& sizes) {
  Values values = Random(sizes);
  for (double& element : values.elements) element = std::round(element * 2) / 2;
  return values;
}
Values F(const std::vector<int64_t>& sizes, const std::vector<double>& elements) {
  return exir::F(sizes, elements);
}
Values F(const std::vector<int64_t>& sizes) { return Repeating(sizes); }

TEST(OrderDecompositionsTest, SortIsStable) {
  for (const std::string_view arguments :
       {"%a", "%a, 0", "%a, 1, true", "%a, -2, true", "%a, descending=true"}) {
    ExpectPortable(absl::StrCat("aten.sort.default(", arguments, ")"), {F({5, 12})}, 2);
  }
  ExpectPortable("aten.sort.stable(%a, stable=true, dim=1, descending=true)", {F({3, 9, 2})}, 2);
  ExpectPortable("aten.sort.default(%a)", {I({8}, {3, -1, 3, 2, 2, -1, 0, 3})}, 2);
}

TEST(OrderDecompositionsTest, SortPutsNaNLastAndKeepsSignsOfZero) {
  const Values x = F({8}, {1, kNan, -0.0, 0.0, -kInf, kNan, kInf, -0.0});
  ExpectPortable("aten.sort.default(%a)", {x}, 2);
  ExpectPortable("aten.sort.default(%a, 0, true)", {x}, 2);
}

TEST(OrderDecompositionsTest, SortOtherDtypesAndShapes) {
  ExpectPortable("aten.sort.default(%a)", {exir::B({2, 3}, {1, 0, 1, 0, 1, 0})}, 2);
  ExpectPortable("aten.sort.default(%a)", {H({4}, {2, -1, 2, kNan})}, 2);
  ExpectPortable("aten.sort.default(%a)", {exir::F({}, {3})}, 2);
  ExpectPortable("aten.sort.default(%a)", {F({3, 1})}, 2);
  ExpectPortable("aten.sort.default(%a, 0)", {exir::F({0, 2}, {})}, 2, {.symbolic = false});
}

TEST(OrderDecompositionsTest, MedianAndKthValue) {
  ExpectPortable("aten.kthvalue.default(%a, 2, 1)", {Random({4, 6})}, 2);
  ExpectPortable("aten.kthvalue.default(%a, 3, 0, true)", {Random({4, 6})}, 2);
  ExpectPortable("aten.median.dim(%a, 1)", {Random({4, 6})}, 2);
  ExpectPortable("aten.median.dim(%a, 0, true)", {Random({5, 3})}, 2);
  ExpectPortable("aten.median.dim(%a, 1)", {F({2, 4}, {3, kNan, 1, kNan, 4, 2, 1, 3})}, 2);
  ExpectPortable("aten.median.dim(%a, 0)", {I({4}, {9, 2, 5, 7})}, 2);
  ExpectPortable("aten.median.dim(%a, 0)", {exir::F({}, {3})}, 2);
  ExpectPortable("aten.median.dim(%a, 0)", {F({3}, {kNan, kNan, kNan})}, 2);
  ExpectPortable("aten.kthvalue.default(%a, 1)", {exir::F({}, {3})}, 2);
}

TEST(OrderDecompositionsTest, CumulativeOperators) {
  ExpectPortable("aten.cumprod.default(%a, 1)", {F({2, 11})}, 1, {.tolerance = 1e-6});
  ExpectPortable("aten.cumprod.default(%a, 0)", {I({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})}, 1);
  ExpectPortable("aten.cumprod.default(%a, 0, dtype=dtype:f64)", {F({9})}, 1, {.tolerance = 1e-12});
  ExpectPortable("aten.cumprod.default(%a, 0)", {H({3}, {2, 0.5, 3})}, 1);
  ExpectPortable("aten.cumprod.default(%a, 0)", {exir::B({3}, {1, 1, 0})}, 1);
  ExpectPortable("aten.cumprod.default(%a, 0)", {exir::F({0, 2}, {})}, 1, {.symbolic = false});
  ExpectPortable("aten.cumprod.default(%a, 0)", {exir::F({}, {3})}, 1);
  for (const std::string_view op : {"cummax", "cummin"}) {
    ExpectPortable(absl::StrCat("aten.", op, ".default(%a, 1)"), {F({3, 13})}, 2);
    ExpectPortable(absl::StrCat("aten.", op, ".default(%a, 0)"),
                   {F({6}, {1, -kInf, kNan, 3, kNan, kInf})}, 2);
    ExpectPortable(absl::StrCat("aten.", op, ".default(%a, 0)"), {I({4}, {2, 2, -1, 3})}, 2);
    ExpectPortable(absl::StrCat("aten.", op, ".default(%a, 0)"), {exir::F({}, {3})}, 2);
  }
}

TEST(OrderDecompositionsTest, SearchSortedAndBucketize) {
  const Values line = F({4}, {-1, 0, 0, 2});
  const Values values = F({2, 3}, {-2, -1, 0, 1, 2, 3});
  for (const std::string_view options :
       {"", ", right=true", ", side=\"right\"", ", side=\"left\"", ", out_int32=true"}) {
    ExpectPortable(absl::StrCat("aten.searchsorted.Tensor(%a, %b", options, ")"), {line, values},
                   1);
  }
  ExpectPortable("aten.searchsorted.Tensor(%a, %b)", {F({2, 4}, {-1, 0, 0, 2, 0, 1, 2, 3}), values},
                 1);
  ExpectPortable("aten.searchsorted.Tensor(%a, %b, sorter=%c)",
                 {F({4}, {2, 0, -1, 0}), values, I({4}, {2, 1, 3, 0})}, 1);
  ExpectPortable("aten.bucketize.Tensor(%a, %b)", {values, line}, 1);
  ExpectPortable("aten.bucketize.Tensor(%a, %b)", {exir::F({}, {1}), line}, 1);
  ExpectPortable("aten.bucketize.Tensor(%a, %b)", {values, exir::F({0}, {})}, 1,
                 {.symbolic = false});
  ExpectPortable("aten.bucketize.Tensor(%a, %b, right=true, out_int32=true)", {values, line}, 1);
}

TEST(ScatterDecompositionsTest, ScatterReduce) {
  const Values self = F({3, 5});
  const Values index = I({2, 4}, {0, 2, 2, 4, 4, 4, 0, 4});
  const Values src = Repeating({2, 6});
  for (const std::string_view reduce : {"sum", "mean", "prod", "amax", "amin"}) {
    for (const std::string_view self_too : {"true", "false"}) {
      const std::string options = absl::StrCat("\"", reduce, "\", include_self=", self_too, ")");
      ExpectPortable(absl::StrCat("aten.scatter_reduce.two(%a, 1, %b, %c, ", options),
                     {self, index, src}, 1, {.tolerance = 1e-6});
      ExpectPortable(absl::StrCat("aten.scatter_reduce.two(%a, 0, %b, %c, ", options),
                     {self, I({2, 4}, {0, 2, 2, 1, 2, 2, 0, 0}), src}, 1, {.tolerance = 1e-6});
      ExpectPortable(absl::StrCat("aten.scatter_reduce.two(%a, 0, %b, %c, ", options),
                     {I({3}, {7, -2, 5}), I({4}, {0, 0, 2, 2}), I({4}, {4, -9, 1, 1})}, 1);
    }
  }
  ExpectPortable("aten.scatter_reduce.two(%a, 0, %b, %c, \"amax\")",
                 {F({3}, {1, 2, kNan}), I({2}, {0, 0}), F({2}, {kNan, 5})}, 1);
  ExpectPortable("aten.scatter_reduce.two(%a, 0, %b, %c, \"amin\")",
                 {U8({2}, {7, 255}), I({2}, {0, 0}), U8({2}, {200, 9})}, 1);
  ExpectPortable("aten.scatter_reduce.two(%a, 0, %b, %c, \"prod\")",
                 {exir::F({}, {3}), I({}, {0}), exir::F({}, {2})}, 1);
}

// The identity is smaller than all elements, or larger.
TEST(ScatterDecompositionsTest, ScatterExtremesOfAllDtypes) {
  for (const std::string_view reduce : {"amax", "amin", "prod", "sum"}) {
    for (const std::string_view self_too : {"true", "false"}) {
      const std::string call = absl::StrCat("aten.scatter_reduce.two(%a, 0, %b, %c, \"", reduce,
                                            "\", include_self=", self_too, ")");
      ExpectPortable(call, {exir::B({4}, {1, 0, 1, 0}), I({3}, {0, 0, 1}), exir::B({3}, {0, 1, 0})},
                     1);
      ExpectPortable(call, {U8({2}, {7, 255}), I({2}, {0, 0}), U8({2}, {3, 9})}, 1);
      for (const DType dtype : {DType::kInt8, DType::kInt16, DType::kInt32}) {
        ExpectPortable(
            call, {Values{dtype, {2}, {7, 100}}, I({2}, {0, 0}), Values{dtype, {2}, {-3, -9}}}, 1);
      }
    }
  }
  ExpectPortable("aten.scatter_reduce.two(%a, 0, %b, %c, \"amax\")",
                 {F({3, 2}), exir::I({0, 2}, {}), F({2, 2})}, 1, {.symbolic = false});
}

TEST(ScatterDecompositionsTest, ScatterWithReduceArgument) {
  const Values self = F({3, 2}), index = I({2, 2}, {0, 2, 0, 1});
  for (const std::string_view reduce : {"add", "multiply"}) {
    ExpectPortable(absl::StrCat("aten.scatter.reduce(%a, 0, %b, %c, reduce=\"", reduce, "\")"),
                   {self, index, F({2, 2}, {2, 3, 4, 5})}, 1, {.tolerance = 1e-6});
    ExpectPortable(absl::StrCat("aten.scatter.value_reduce(%a, 0, %b, 3, reduce=\"", reduce, "\")"),
                   {self, index}, 1, {.tolerance = 1e-6});
  }
}

TEST(ScatterDecompositionsTest, IndexSelectOfEmptyDimensions) {
  ExpectPortable("aten.index_select.default(%a, 0, %b)", {F({5, 3}), I({2}, {4, 0})}, 1);
  ExpectPortable("aten.index_select.default(%a, -2, %b)", {F({2, 0, 3}), I({0}, {})}, 1);
}

TEST(ScatterDecompositionsTest, EmbeddingBag) {
  const Values weight = Random({6, 3});
  const Values indices = I({7}, {1, 5, 2, 2, 0, 1, 4}), offsets = I({4}, {0, 2, 2, 5});
  // mode, sparse, per_sample_weights, include_last_offset, padding_idx
  for (const std::string_view mode : {"0", "1", "2"}) {
    for (const std::string_view rest :
         {"false, none, false", "false, none, true", "false, none, false, 2"}) {
      ExpectPortable(
          absl::StrCat("aten._embedding_bag.default(%a, %b, %c, false, ", mode, ", ", rest, ")"),
          {weight, indices, offsets}, 4, {.tolerance = 1e-6});
    }
  }
  ExpectPortable("aten._embedding_bag.default(%a, %b, %c, false, 0, false, %d)",
                 {weight, indices, offsets, F({7})}, 4, {.tolerance = 1e-6});
  ExpectPortable("aten._embedding_bag.default(%a, %b, %c, false, 2)",
                 {weight, Values{DType::kInt32, {2}, {3, 3}}, Values{DType::kInt32, {1}, {0}}}, 4);
}

TEST(WindowDecompositionsTest, AvgPool3d) {
  for (const std::string_view options :
       {"[2,3,2]", "[3], [2], [1]", "[3,2,2], [2,1,2], [1,1,0], false, false",
        "[2,2,3], [2,2,2], [0,1,1], true, true", "[2,2,3], [2,2,2], [0,1,1], true, false",
        "[2,2,2], [1,2,2], [1,0,1], true, true, 5"}) {
    ExpectPortable(absl::StrCat("aten.avg_pool3d.default(%a, ", options, ")"),
                   {Random({2, 3, 5, 6, 7})}, 1, {.tolerance = 1e-6, .symbolic = false});
  }
  ExpectPortable("aten.avg_pool3d.default(%a, [2,2,2])", {Random({3, 4, 5, 6})}, 1,
                 {.tolerance = 1e-6});
  ExpectPortable("aten.avg_pool1d.default(%a, [3], [2], [1], true, false)", {Random({2, 3, 8})}, 1,
                 {.tolerance = 1e-6});
}

TEST(WindowDecompositionsTest, AdaptiveMaxPool) {
  const PortableOptions fixed = {.symbolic = false};
  ExpectPortable("aten.adaptive_max_pool2d.default(%a, [3,5])", {F({2, 3, 7, 8})}, 2, fixed);
  ExpectPortable("aten.adaptive_max_pool2d.default(%a, [2,4])", {F({3, 4, 4})}, 2, fixed);
  ExpectPortable("aten.adaptive_max_pool3d.default(%a, [2,3,1])", {F({2, 3, 4, 5})}, 2, fixed);
  ExpectPortable("aten.adaptive_max_pool2d.default(%a, [9,2])", {F({1, 1, 4, 6})}, 2, fixed);
}

// PyTorch returns the index of the last NaN, and of the first of equal numbers.
TEST(WindowDecompositionsTest, MaxPoolIndicesOfEqualElements) {
  const PortableOptions fixed = {.symbolic = false};
  ExpectPortable("aten.adaptive_max_pool2d.default(%a, [1,2])",
                 {F({1, 2, 4}, {1, kNan, 3, 4, kNan, 6, kNan, kNan})}, 2, fixed);
  ExpectPortable("aten.adaptive_max_pool2d.default(%a, [2,2])",
                 {F({1, 3, 3}, {kNan, 2, 3, 4, kNan, kNan, 7, 8, 8})}, 2, fixed);
  ExpectPortable("aten.adaptive_max_pool2d.default(%a, [1,2])",
                 {F({1, 2, 4}, std::vector<double>(8, -kInf))}, 2, fixed);
}

TEST(WindowDecompositionsTest, EmptyWindowsAndImages) {
  const PortableOptions fixed = {.symbolic = false};
  ExpectPortable("aten.adaptive_max_pool2d.default(%a, [0,2])", {F({1, 2, 4})}, 2, fixed);
  ExpectPortable("aten.adaptive_max_pool2d.default(%a, [1,2])", {exir::F({0, 3, 2, 4}, {})}, 2,
                 fixed);
  ExpectPortable("aten.avg_pool3d.default(%a, [2,2,2])", {exir::F({0, 2, 4, 4, 4}, {})}, 1, fixed);
  ExpectPortable("aten.avg_pool3d.default(%a, [2], [1], [1], true, true, -2)", {F({1, 3, 3, 3})}, 1,
                 {.tolerance = 1e-6, .symbolic = false});
  ExpectPortable("aten.avg_pool1d.default(%a, [2])", {F({3, 8})}, 1, {.tolerance = 1e-6});
}

TEST(ArithmeticDecompositionsTest, Trilinear) {
  ExpectPortable("aten._trilinear.default(%a, %b, %c, [1,3], [0], [1,2], [2,3], 1)",
                 {F({3, 4}), F({2, 4, 5}), F({3, 5})}, 1, {.tolerance = 1e-6});
  ExpectPortable("aten._trilinear.default(%a, %b, %c, [1], [0], [], [], 1)",
                 {F({3}), F({4}), F({3, 4})}, 1, {.tolerance = 1e-6});
}

TEST(ArithmeticDecompositionsTest, GroupedMm) {
  const Values rows = F({6, 4}), matrices = F({3, 4, 5});
  for (const std::vector<double>& ends : {std::vector<double>{2, 3, 6}, {0, 6, 6}, {1, 1, 4}}) {
    const Values offsets = {DType::kInt32, {3}, ends};
    ExpectPortable("aten._grouped_mm.default(%a, %b, %c)", {rows, matrices, offsets}, 1,
                   {.tolerance = 1e-6});
  }
}

TEST(ArithmeticDecompositionsTest, IntegerRemainderHasSignOfDivisor) {
  const auto int32 = [](std::vector<double> v) {
    return Values{DType::kInt32, {static_cast<int64_t>(v.size())}, std::move(v)};
  };
  ExpectPortable("aten.remainder.Tensor(%a, %b)",
                 {I({6}, {7, -7, 7, -7, 0, 6}), I({6}, {3, 3, -3, -3, 5, -3})}, 1);
  ExpectPortable("aten.remainder.Tensor(%a, %b)", {U8({3}, {7, 255, 8}), U8({3}, {3, 16, 8})}, 1);
  ExpectPortable("aten.remainder.Tensor(%a, %b)", {int32({-2147483648.0, 5}), int32({7, -3})}, 1);
  ExpectPortable("aten.remainder.Tensor(%a, %b)", {I({2}, {5, -5}), int32({3, 3})}, 1);
  // Integers that float64 cannot represent.
  ExpectPortable("aten.remainder.Tensor(%a, %b)",
                 {I({2}, {9007199254740991.0, -9007199254740991.0}), I({2}, {10, 10})}, 1);
  ExpectPortable("aten.remainder.Scalar(%a, -3)", {I({4}, {7, -7, 6, 0})}, 1);
  ExpectPortable("aten.remainder.Scalar(%a, 2.5)", {I({4}, {7, -7, 6, 0})}, 1);
}

TEST(ArithmeticDecompositionsTest, CopySign) {
  const Values signs = F({6}, {-0.0, 0.0, -1, -kInf, kInf, 2});
  ExpectPortable("aten.copysign.Tensor(%a, %b)", {F({6}, {1, -2, kNan, 0, -kInf, -0.0}), signs}, 1);
  ExpectPortable("aten.copysign.Tensor(%a, %b)", {I({2}, {1, -2}), I({2}, {-1, 3})}, 1);
  ExpectPortable("aten.copysign.Tensor(%a, %b)", {H({2}, {1, -2}), D({2}, {-1, 3})}, 1);
  ExpectPortable("aten.copysign.Tensor(%a, %b)", {F({2}, {1, -2}), I({2}, {0, -3})}, 1);
}

TEST(ArithmeticDecompositionsTest, HypotOfLargeAndSmallNumbers) {
  ExpectPortable("aten.hypot.default(%a, %b)",
                 {F({8}, {3, 1e30, 1e-30, 0, kInf, kNan, -kInf, kNan}),
                  F({8}, {4, 1e30, -1e-30, 0, kNan, -kInf, 2, 1})},
                 1, {.tolerance = 1e-7});
  ExpectPortable("aten.hypot.default(%a, %b)",
                 {D({8}, {3, 1e300, 3e-300, 0, kInf, kNan, -kInf, kNan}),
                  D({8}, {4, 1e300, -4e-300, 0, kNan, -kInf, 2, 1})},
                 1, {.tolerance = 1e-15});
  ExpectPortable("aten.hypot.default(%a, %b)", {D({2}, {1e300, 0}), D({2}, {1e-300, -5})}, 1,
                 {.tolerance = 1e-15});
  ExpectPortable("aten.hypot.default(%a, %b)", {H({2}, {300, 1}), F({2}, {400, 1})}, 1,
                 {.tolerance = 1e-7});
}

TEST(ArithmeticDecompositionsTest, Norms) {
  for (const std::string_view order : {"0", "1", "2", "3", "inf", "-inf", "0.5", "-1"}) {
    ExpectPortable(absl::StrCat("aten.linalg_vector_norm.default(%a, ", order, ", [1])"),
                   {Random({3, 4})}, 1, {.tolerance = 1e-5});
  }
  ExpectPortable("aten.linalg_vector_norm.default(%a, 2)", {exir::F({}, {-3})}, 1);
  ExpectPortable("aten.linalg_vector_norm.default(%a, 2, [0])", {exir::F({0, 2}, {})}, 1,
                 {.symbolic = false});
}

TEST(ArithmeticDecompositionsTest, ElementwiseFunctions) {
  const Values x = F({8}, {1, -1, 0, -0.0, kNan, kInf, -kInf, 2});
  const Values y = F({8}, {kNan, 3, 0, 0, kNan, kNan, 1, -2});
  ExpectPortable("aten.angle.default(%a)", {x}, 1, {.tolerance = 1e-7});
  ExpectPortable("aten.angle.default(%a)", {I({3}, {-2, 0, 5})}, 1, {.tolerance = 1e-7});
  ExpectPortable("aten.fmax.default(%a, %b)", {x, y}, 1);
  ExpectPortable("aten.fmin.default(%a, %b)", {x, y}, 1);
  ExpectPortable("aten.fmin.default(%a, %b)", {I({2}, {3, -4}), I({2}, {2, 7})}, 1);
}

// ExecuTorch multiplies by the reciprocal of one element.
TEST(ArithmeticDecompositionsTest, DivisionByOneElementIsExact) {
  const auto divided = [](std::string_view dtype, std::string_view x, std::string_view y) {
    static const exir::OpRegistry& ops = *exir::CreateStandardOps()->release();
    exir::ExportedProgram program = exir::ParseOrDie(
        absl::StrCat("program edge { graph(%x: ", dtype, x, " user_input, %y: ", dtype, y,
                     " user_input) { %r: ", dtype, x,
                     " = edge.aten.div.Tensor(%x, %y) return (%r user_output) } }"),
        ops);
    for (const exir::Pass& pass : PortablePasses()) EXPECT_TRUE(pass.run(program).ok());
    return exir::PrintProgram(program);
  };
  const auto divides = ::testing::HasSubstr("div.Tensor_mode(%x, %y");
  EXPECT_THAT(divided("f32", "[2,3]", "[]"), divides);
  EXPECT_THAT(divided("f64", "[2,3]", "[1,1]"), divides);
  EXPECT_THAT(divided("f16", "[2,3]", "[]"), ::testing::Not(divides));
  EXPECT_THAT(divided("f32", "[2,3]", "[3]"), ::testing::Not(divides));
  EXPECT_THAT(divided("f32", "[1]", "[]"), ::testing::Not(divides));
  ExpectPortable("aten.div.Tensor(%a, %b)", {Random({2, 3}), F({}, {3})}, 1);
}

TEST(BesselDecompositionsTest, ModifiedBesselFunctions) {
  const std::vector<double> places = {0,   1e-8, 0.25, 1,  1.75, 2,    2.25, 3.5,
                                      7.5, 8,    8.5,  15, 29,   31.5, 60,   400};
  std::vector<double> both = places;
  for (double place : places) both.push_back(-place);
  both.push_back(kNan);
  const auto d = [](const std::vector<double>& x) {
    return D({static_cast<int64_t>(x.size())}, x);
  };
  const PortableOptions close = {.tolerance = 1e-13};
  for (const std::string_view op :
       {"aten.i0", "aten.special_i0e", "aten.special_i1", "aten.special_i1e",
        "aten.special_modified_bessel_i0", "aten.special_modified_bessel_i1",
        "aten.special_modified_bessel_k0", "aten.special_modified_bessel_k1",
        "special.scaled_modified_bessel_k0", "special.scaled_modified_bessel_k1"}) {
    ExpectPortable(absl::StrCat(op, ".default(%a)"), {d(both)}, 1, close);
  }
  ExpectPortable("special.spherical_bessel_j0.default(%a)",
                 {d({0, 1e-5, 0.49, 0.5, 0.75, 3, -0.3, -4, 100, kInf, -kInf, kNan})}, 1, close);
  ExpectPortable("aten.special_modified_bessel_k1.default(%a)", {F({3}, {0.5, 3, 0})}, 1,
                 {.tolerance = 1e-6});
  ExpectPortable("aten.i0.default(%a)", {I({3}, {-2, 0, 5})}, 1, {.tolerance = 1e-6});
}

TEST(ArithmeticDecompositionsTest, RandomTensorsOfSameSizes) {
  ExpectPortable("aten.rand_like.default(%a)", {F({2, 3})}, 1, {.values = false});
  ExpectPortable("aten.randn_like.default(%a, dtype=dtype:f64)", {F({2, 3})}, 1, {.values = false});
}

// An edge program of one call after the passes; it need not verify before.
std::string Decomposed(std::string_view inputs, std::string_view result, std::string_view call,
                       absl::Status* failure = nullptr) {
  static const exir::OpRegistry& ops = *exir::CreateStandardOps()->release();
  exir::ExportedProgram program =
      exir::ParseOrDie(absl::StrCat("program edge { ranges { s0: [2, 6] } graph(", inputs, ") { ",
                                    result, " = edge.aten.", call, " return (%r user_output) } }"),
                       ops);
  for (const exir::Pass& pass : PortablePasses()) {
    const absl::Status status = pass.run(program).status();
    if (failure != nullptr) failure->Update(status);
    if (failure == nullptr) EXPECT_OK(status);
    if (!status.ok()) return "";
  }
  return exir::PrintProgram(program);
}

TEST(PortableDecompositionsTest, KeepsCallsOfCorrectKernels) {
  struct Case {
    std::string_view inputs, result, call;
    std::string_view kept;  // operator after the passes
  };
  const Case cases[] = {
      {"%x: f32[2,3] user_input, %y: f16[] user_input", "%r: f32[2,3]", "div.Tensor(%x, %y)",
       "aten.div.Tensor("},
      {"%x: f32[2,3] user_input", "%r: f32[2,3]", "div.Tensor(%x, 2.0)", "aten.div.Tensor("},
      {"%x: f32[2,3] user_input", "%r: f32[2,3]", "div.Tensor(2.0, %x)", "aten.div.Tensor("},
      {"%x: f32[2,3] user_input", "%r: symint(s0)", "remainder.Scalar(%x, 2)", "remainder.Scalar("},
      {"%x: f64[3] user_input, %y: f64[2,3] user_input, %z: f64[3,3] user_input", "%r: f64[2,3]",
       "addmm.default(%x, %y, %z)", "aten.mm.default("},
      {"%x: f32[3] user_input, %y: f32[2,3] user_input, %z: f32[3,3] user_input", "%r: f32[2,3]",
       "addmm.default(%x, %y, %z, beta=1.0, alpha=1.0)", "aten.mm.default("},
      {"%x: f32[3] user_input, %y: f32[2,3] user_input, %z: f32[3,3] user_input", "%r: f32[2,3]",
       "addmm.default(%x, %y, %z, beta=1.0, alpha=0.5)", "aten.addmm.default("},
      {"%x: f32[3] user_input, %y: f32[2,3] user_input, %z: f32[3,3] user_input", "%r: symint(s0)",
       "addmm.default(%x, %y, %z)", "aten.addmm.default("},
      {"%x: f32[2,3] user_input, %i: i64[4] user_input", "%r: f32[4,3]",
       "index_select.default(%x, 0, %i)", "aten.index_select.default("},
      {"%x: f32[2,3] user_input, %i: i64[4] user_input", "%r: f32[4,3]",
       "index_select.default(%x, 2, %i)", "aten.index_select.default("},
      {"%x: f32[2,0] user_input, %i: i64[0] user_input", "%r: f32[2,0]",
       "index_select.default(%x, -1, %i)", "aten.index.Tensor("},
      {"%x: f32[3] user_input", "%r: f32[3], %i: i64[3]", "adaptive_max_pool2d.default(%x, [1,1])",
       "adaptive_max_pool2d"},
      {"%x: f32[3,4] user_input", "%r: f32[3], %i: i64[3]",
       "adaptive_max_pool3d.default(%x, [1,1,1])", "adaptive_max_pool3d"},
      {"%x: f32[3] user_input", "%r: f32[3], %i: i64[3]", "adaptive_max_pool2d.default(2, [1,1])",
       "adaptive_max_pool2d"},
      {"%x: f32[2,3,4] user_input, %y: f32[2,4,5] user_input", "%r: f32[2,3,5]",
       "_grouped_mm.default(%x, %y)", "aten.bmm.default("},
      {"%x: f32[2,3,4] user_input, %y: f32[2,4,5] user_input, %o: i32[2] user_input",
       "%r: f32[2,3,5]", "_grouped_mm.default(%x, %y, %o)", "_grouped_mm"},
      {"%x: f32[3,4] user_input, %y: f32[2,4,5] user_input", "%r: f32[3,5]",
       "_grouped_mm.default(%x, %y)", "_grouped_mm"},
      {"%x: f32[3,4] user_input, %y: f32[4,5] user_input, %o: i32[2] user_input", "%r: f32[2,3,5]",
       "_grouped_mm.default(%x, %y, %o)", "_grouped_mm"},
      {"%x: f32[2,3,4] user_input, %y: f32[2,4,5] user_input, %b: f32[5] user_input",
       "%r: f32[2,3,5]", "_grouped_mm.default(%x, %y, none, %b)", "_grouped_mm"},
      {"%x: f32[2,3,4] user_input", "%r: f32[2,3,5]", "_grouped_mm.default(%x, 1)", "_grouped_mm"},
      {"%x: f32[2,3,4] user_input", "%r: f32[2,3,5]", "_grouped_mm.default(1, %x)", "_grouped_mm"},
      {"%x: c64[3] user_input", "%r: f32[3]", "angle.default(%x)", "aten.view_as_real"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(Decomposed(c.inputs, c.result, c.call), ::testing::HasSubstr(c.kept)) << c.call;
  }
}

// Programs from files are untrusted: decompositions check what they rely on.
TEST(PortableDecompositionsTest, RejectsInvalidCalls) {
  struct Case {
    std::string_view inputs, result, call;
  };
  const std::string_view plane = "%x: f32[2,3] user_input, %i: i64[2,3] user_input";
  const std::string_view sized = "%x: f32[1,2,4,4,4] user_input, %n: symint(s0) user_input";
  const Case cases[] = {
      {plane, "%r: f32[2,3], %j: i64[2,3]", "sort.default(%x, 2)"},
      {plane, "%r: f32[2], %j: i64[2]", "kthvalue.default(%x, 1, -3)"},
      {plane, "%r: f32[2], %j: i64[2]", "median.dim(%x, 2)"},
      {plane, "%r: f32[2,3]", "cumprod.default(%x, 2)"},
      {plane, "%r: f32[2,3], %j: i64[2,3]", "cummax.default(%x, 2)"},
      {plane, "%r: f32[2,3], %j: i64[2,3]", "cummin.default(%x, -3)"},
      {plane, "%r: f32[2,3]", "scatter_reduce.two(%x, 2, %i, %x, \"amax\")"},
      {plane, "%r: f32[2,3]", "avg_pool3d.default(%x, [2,2,2])"},
      {sized, "%r: f32[1,2,2,2,2]", "avg_pool3d.default(%x, [%n,2,2])"},
      {sized, "%r: f32[1,2,2,2,2]", "avg_pool1d.default(%x, [%n])"},
      {sized, "%r: f32[1,2,4,2,2], %j: i64[1,2,4,2,2]", "adaptive_max_pool2d.default(%x, [%n,2])"},
  };
  for (const Case& c : cases) {
    absl::Status failure;
    Decomposed(c.inputs, c.result, c.call, &failure);
    EXPECT_FALSE(failure.ok()) << c.call;
  }
}

// Calls without a decomposition stay, and the writer refuses them by name.
TEST(PortableDecompositionsTest, KeepsCallsWithoutDecomposition) {
  static const exir::OpRegistry& ops = *exir::CreateStandardOps()->release();
  exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    ranges { s0: [2, 6] }
    graph(%x: f32[1,2,s0,4] user_input) {
      %y: f32[1,2,3,2], %i: i64[1,2,3,2] = edge.aten.adaptive_max_pool2d.default(%x, [3,2])
      return (%y user_output, %i user_output)
    } })",
                                                   ops);
  for (const exir::Pass& pass : PortablePasses()) {
    const absl::StatusOr<bool> changed = pass.run(program);
    ASSERT_TRUE(changed.ok()) << pass.name << ": " << changed.status();
  }
  EXPECT_THAT(exir::PrintProgram(program), ::testing::HasSubstr("adaptive_max_pool2d"));
}

// --- Resizing ---

TEST(ResizeDecompositionsTest, BySize) {
  ExpectPortable("aten.upsample_bilinear2d.default(%a, [5,7], false)", {F({1, 2, 3, 4})}, 1);
  ExpectPortable("aten.upsample_bilinear2d.default(%a, [5,1], true)", {F({1, 2, 3, 4})}, 1);
  ExpectPortable("aten.upsample_nearest2d.default(%a, [5,7])", {F({1, 2, 3, 4})}, 1);
}

TEST(ResizeDecompositionsTest, ByFactor) {
  const PortableOptions fixed{.tolerance = 1e-6, .symbolic = false};
  ExpectPortable("aten.upsample_bilinear2d.default(%a, [7,3], false, 2.4, 0.75)", {F({1, 2, 3, 4})},
                 1, fixed);
  // One row, as for a resized sequence.
  ExpectPortable("aten.upsample_bilinear2d.default(%a, [1,9], false, none, 1.8)", {F({1, 2, 1, 5})},
                 1, fixed);
  ExpectPortable("aten.upsample_nearest2d.default(%a, [7,4], 2.4, none)", {F({1, 2, 3, 4})}, 1,
                 fixed);
}

// A dimension that stays has the factor 1, as in resized sequences and volumes.
TEST(ResizeDecompositionsTest, OneDimensionStays) {
  const PortableOptions fixed{.tolerance = 1e-6, .symbolic = false};
  ExpectPortable("aten.upsample_bilinear2d.default(%a, [1,9], false, 1.0, none)", {F({1, 2, 1, 5})},
                 1, fixed);
  ExpectPortable("aten.upsample_bilinear2d.default(%a, [1,9], false, 1.0, 1.8)", {F({1, 2, 1, 5})},
                 1, fixed);
  ExpectPortable("aten.upsample_bilinear2d.default(%a, [5,12], true, none, 1.0)",
                 {F({1, 2, 3, 12})}, 1, fixed);
}

}  // namespace
}  // namespace belay::pte
