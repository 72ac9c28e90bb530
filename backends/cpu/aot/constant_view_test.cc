#include "backends/cpu/aot/constant_view.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

// Returns "root[sizes]{strides}" of %y, which `body` computes from the constants %w [8,4], %c
// [1,4,1], %v [4] and %z [0,5].
std::string ViewOf(std::string_view body) {
  const exir::ExportedProgram program = exir::ParseOrDie(absl::StrCat(R"(program edge {
    ranges { s0: [1,9] }
    constants { constant "w": f32[8,4] constant "c": f32[1,4,1] constant "v": f32[4]
                constant "z": f32[0,5] state "m": f32[8,4] }
    graph(%w: f32[8,4] tensor_constant "w", %c: f32[1,4,1] tensor_constant "c",
          %v: f32[4] tensor_constant "v", %z: f32[0,5] tensor_constant "z",
          %m: f32[8,4] buffer "m", %x: f32[8,4] user_input, %n: symint(s0) user_input) {
      )",
                                                                      body, R"(
      %new: f32[8,4] = edge.aten.abs.default(%x)
      return (%new buffer_mutation "m") } })"),
                                                         CpuPassTestOps());
  const ConstantViews views(program);
  const std::optional<ConstantView> view = views.Find(exir::FindValue(program.top(), "y"));
  if (!view.has_value()) return "none";
  std::string sizes;
  for (const exir::SymInt& size : view->sizes) absl::StrAppend(&sizes, size.ToString(), ",");
  return absl::StrCat(program.top().value(view->root).name, "[", sizes, "]{",
                      absl::StrJoin(view->strides, ","), "}",
                      view->ToTensor().has_value() ? "" : " symbolic");
}

TEST(ConstantViews, SeesThroughPermutations) {
  EXPECT_EQ(ViewOf("%y: f32[4,8] = edge.aten.permute_copy.default(%w, [1,0])"), "w[4,8,]{1,4}");
  EXPECT_EQ(ViewOf("%y: f32[4,8] = edge.aten.permute_copy.default(%w, [-1,-2])"), "w[4,8,]{1,4}");
  EXPECT_EQ(ViewOf("%y: f32[4,8] = edge.aten.t_copy.default(%w)"), "w[4,8,]{1,4}");
  EXPECT_EQ(ViewOf("%y: f32[4,8] = edge.aten.transpose_copy.int(%w, 0, -1)"), "w[4,8,]{1,4}");
}

TEST(ConstantViews, SeesThroughReshapes) {
  EXPECT_EQ(ViewOf("%y: f32[2,16] = edge.aten.view_copy.default(%w, [2,16])"), "w[2,16,]{16,1}");
  EXPECT_EQ(ViewOf("%y: f32[2,2,2,4] = edge.aten.view_copy.default(%w, [2,2,2,4])"),
            "w[2,2,2,4,]{16,8,4,1}");
  EXPECT_EQ(ViewOf("%y: f32[4] = edge.aten.squeeze_copy.default(%c)"), "c[4,]{1}");
  // Dimensions of size 1, also after a permutation.
  EXPECT_EQ(ViewOf("%t: f32[4,8] = edge.aten.permute_copy.default(%w, [1,0]) "
                   "%y: f32[1,4,1,8] = edge.aten.view_copy.default(%t, [1,4,1,8])"),
            "w[1,4,1,8,]{0,1,0,4}");
  // Other reshapes would require a copy.
  EXPECT_EQ(ViewOf("%t: f32[4,8] = edge.aten.permute_copy.default(%w, [1,0]) "
                   "%y: f32[32] = edge.aten.view_copy.default(%t, [32])"),
            "none");
}

TEST(ConstantViews, SeesThroughExpansions) {
  EXPECT_EQ(ViewOf("%y: f32[3,8,4] = edge.aten.expand_copy.default(%w, [3,8,4])"),
            "w[3,8,4,]{0,4,1}");
  EXPECT_EQ(ViewOf("%e: f32[s0,8,4] = edge.aten.expand_copy.default(%w, [%n,8,4]) "
                   "%y: f32[s0,8,4] = edge.aten.view_copy.default(%e, [%n,8,4])"),
            "w[s0,8,4,]{0,4,1} symbolic");
}

TEST(ConstantViews, SeesThroughCopies) {
  EXPECT_EQ(ViewOf("%y: f32[8,4] = edge.aten.alias_copy.default(%w)"), "w[8,4,]{4,1}");
  EXPECT_EQ(
      ViewOf("%y: f32[8,4] = edge.dim_order_ops._clone_dim_order.default(%w, dim_order=[1,0])"),
      "w[8,4,]{4,1}");
}

TEST(ConstantViews, TransposesUpToTwoDimensions) {
  EXPECT_EQ(ViewOf("%y: f32[4] = edge.aten.t_copy.default(%v)"), "v[4,]{1}");
  EXPECT_EQ(ViewOf("%y: f32[1,4,1] = edge.aten.t_copy.default(%c)"), "none");
}

// Sizes of 0 need no special case.
TEST(ConstantViews, ReshapesEmptyTensors) {
  EXPECT_EQ(ViewOf("%y: f32[0] = edge.aten.view_copy.default(%z, [0])"), "z[0,]{1}");
  EXPECT_EQ(ViewOf("%q: f32[0] = edge.aten.view_copy.default(%z, [0]) "
                   "%y: f32[0,7] = edge.aten.view_copy.default(%q, [0,7])"),
            "z[0,7,]{7,1}");
  EXPECT_EQ(ViewOf("%q: f32[0,1] = edge.aten.view_copy.default(%z, [0,1]) "
                   "%y: f32[1,0] = edge.aten.view_copy.default(%q, [1,0])"),
            "z[1,0,]{0,1}");
  EXPECT_EQ(ViewOf("%q: f32[0,1] = edge.aten.view_copy.default(%z, [0,1]) "
                   "%y: f32[0,5] = edge.aten.view_copy.default(%q, [0,5])"),
            "z[0,5,]{5,1}");
}

// Unverified programs may contain anything.
TEST(ConstantViews, RejectsNonViews) {
  for (std::string_view body : {
           "%y: f32[4,8] = edge.aten.permute_copy.default(%w, [1,0,2])",
           "%y: f32[4] = edge.aten.permute_copy.default(%w, [1])",
           "%y: symint(s0) = edge.aten.view_copy.default(%w, [8,4])",
           "%y: f32[8,4] = edge.aten.alias_copy.default(3)",
           "%y: f32[4,8] = edge.aten.permute_copy.default(%w, [1,2])",
           "%y: f32[4,8] = edge.aten.permute_copy.default(%w, [1,-3])",
           "%y: f32[4,8] = edge.aten.permute_copy.default(%w, [1,%n])",
           "%y: f32[4,8] = edge.aten.transpose_copy.int(%w, 0, 2)",
           "%y: f32[4,8] = edge.aten.transpose_copy.int(%w, -3, 1)",
           "%y: f32[4] = edge.aten.expand_copy.default(%w, [4])",
           "%y: f32[9,4] = edge.aten.expand_copy.default(%w, [9,4])",
           "%y: f32[s0,4] = edge.aten.view_copy.default(%w, [%n,4])",
           "%e1: f32[s0,8,4] = edge.aten.expand_copy.default(%w, [%n,8,4]) "
           "%y: f32[8*s0,4] = edge.aten.view_copy.default(%e1, [-1,4])",
       }) {
    EXPECT_EQ(ViewOf(body), "none") << body;
  }
}

TEST(ConstantViews, TooLargeViewsHaveNoTensor) {
  EXPECT_EQ(ViewOf("%y: f32[4611686018427387904,4] = "
                   "edge.aten.expand_copy.default(%v, [4611686018427387904,4])"),
            "v[4611686018427387904,4,]{0,1} symbolic");
}

TEST(ConstantViews, ReturnsElements) {
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    ranges { s0: [1,9] }
    constants { constant "f": f32[2] constant "l": i64[2] constant "i": i32[2] constant "b": i8[2]
                constant "h": f16[2] constant "r": bf16[2] constant "u": u8[2] }
    graph(%f: f32[2] tensor_constant "f", %l: i64[2] tensor_constant "l",
          %i: i32[2] tensor_constant "i", %b: i8[2] tensor_constant "b",
          %h: f16[2] tensor_constant "h", %r: bf16[2] tensor_constant "r",
          %u: u8[2] tensor_constant "u", %n: symint(s0) user_input) {
      %s: f32[s0,2] = edge.aten.expand_copy.default(%f, [%n,2])
      %m: f32[1099511627776,2] = edge.aten.expand_copy.default(%f, [1099511627776,2])
      %e: i8[2,2] = edge.aten.expand_copy.default(%b, [2,2])
      return () } })",
                                                         CpuPassTestOps());
  const ConstantViews views(program);
  const auto count = [&](std::string_view name) -> int {
    const auto elements = views.Find(exir::FindValue(program.top(), name))->Elements();
    return elements.has_value() ? static_cast<int>(elements->size()) : -1;
  };
  for (std::string_view name : {"f", "l", "i", "b", "h", "r"}) EXPECT_EQ(count(name), 2) << name;
  EXPECT_EQ(count("e"), 4);
  EXPECT_EQ(count("u"), -1);
  EXPECT_EQ(count("s"), -1);  // symbolic
  EXPECT_EQ(count("m"), -1);  // too large
}

TEST(ConstantViews, RejectsMutatedAndComputedValues) {
  EXPECT_EQ(ViewOf("%y: f32[4,8] = edge.aten.permute_copy.default(%x, [1,0])"), "none");
  EXPECT_EQ(ViewOf("%y: f32[4,8] = edge.aten.permute_copy.default(%m, [1,0])"), "none");
  EXPECT_EQ(ViewOf("%y: f32[8,4] = edge.aten.abs.default(%w)"), "none");
}

TEST(ConstantViews, ScalarsAreLiteralsAndOneElementConstants) {
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    constants { constant "n": i64[1,1] constant "w": f32[2] constant "h": f16[] constant "d": f64[1]
                constant "i": i32[] constant "b": b8[] constant "f": f32[1]
                constant "r": bf16[1] constant "u": u8[] }
    graph(%n: i64[1,1] tensor_constant "n", %w: f32[2] tensor_constant "w",
          %h: f16[] tensor_constant "h", %d: f64[1] tensor_constant "d",
          %i: i32[] tensor_constant "i", %b: b8[] tensor_constant "b",
          %f: f32[1] tensor_constant "f", %r: bf16[1] tensor_constant "r",
          %u: u8[] tensor_constant "u", %x: f32[] user_input) {
      return (%x user_output) } })",
                                                         CpuPassTestOps());
  const ConstantViews views(program);
  EXPECT_EQ(views.Number(exir::Argument(3)), 3.0);
  EXPECT_EQ(views.Number(exir::Argument(0.5)), 0.5);
  for (std::string_view name : {"n", "d", "i", "b", "f", "h", "r"}) {
    EXPECT_EQ(views.Number(exir::FindValue(program.top(), name)), 0.0) << name;
  }
  for (std::string_view name : {"w", "u", "x"}) {
    EXPECT_EQ(views.Number(exir::FindValue(program.top(), name)), std::nullopt) << name;
  }
  EXPECT_EQ(views.Number(exir::Argument()), std::nullopt);
}

TEST(ConstantViews, ConstantsMayBeAddedMeanwhile) {
  exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    constants { constant "m": f32[3,2] }
    graph(%m: f32[3,2] tensor_constant "m") { return (%m user_output) } })",
                                                   CpuPassTestOps());
  const ConstantViews views(program);
  for (int i = 0; i < 100; ++i) {
    program.constants.emplace(absl::StrCat(i % 2 == 0 ? "a" : "z", i),
                              exir::ConstantTensor::Scalar(DType::kFloat32, i));
  }
  const std::optional<ConstantView> view = views.Find(program.top().inputs()[0]);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->tensor->sizes(), Sizes({3, 2}));
}

}  // namespace
}  // namespace belay::cpu
