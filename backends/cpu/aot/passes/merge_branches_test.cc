#include "backends/cpu/aot/passes/merge_branches.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/fused_handles.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

absl::StatusOr<bool> RunMerge(exir::ExportedProgram& program) {
  FusedHandles handles;
  return MergeBranches(handles).run(program);
}

// Two channels, with weights of groups of `in` channels each, and the operands of a batch norm.
std::string Program(std::string_view nodes, int in = 2) {
  return absl::StrCat(R"(program edge {
    constants { state "v": f32[2,)",
                      in, R"(,3,3] state "w": f32[2,)", in,
                      R"(,1,1] state "b": f32[2] state "s": f32[2]
                state "m": f32[2] state "r": f32[2] }
    graph(%v: f32[2,)",
                      in, R"(,3,3] parameter "v", %w: f32[2,)", in, R"(,1,1] parameter "w",
          %b: f32[2] parameter "b", %s: f32[2] parameter "s", %m: f32[2] buffer "m",
          %r: f32[2] buffer "r", %x: f32[1,2,5,5] user_input) {
)",
                      nodes, R"(
      return (%y user_output) } })");
}

// A 3x3 convolution %p and a 1x1 convolution %q of %x.
std::string Convolutions(int groups) {
  return absl::StrCat(R"(
      %p: f32[1,2,5,5] = edge.aten.convolution.default(%x, %v, none, [1,1], [1,1], [1,1], false, [0,0], )",
                      groups, R"()
      %q: f32[1,2,5,5] = edge.aten.convolution.default(%x, %w, %b, [1,1], [0,0], [1,1], false, [0,0], )",
                      groups, ")\n");
}

constexpr std::string_view kNorm = R"(
      %n: f32[1,2,5,5], %i: f32[0], %j: f32[0] =
          edge.aten._native_batch_norm_legit_no_training.default(%x, %s, %s, %m, %r, 0.1, 0.5)
)";

// The elements of a constant of the program after the pass.
std::vector<float> Floats(const exir::ExportedProgram& program, const std::string& name) {
  const auto found = program.constants.find(name);
  if (found == program.constants.end()) {
    ADD_FAILURE() << "no constant " << name;
    return {};
  }
  const auto dense = found->second.Dense();
  if (!dense.ok()) {
    ADD_FAILURE() << dense.status();
    return {};
  }
  std::vector<float> floats(dense->bytes.size() / sizeof(float));
  std::memcpy(floats.data(), dense->bytes.data(), dense->bytes.size());
  return floats;
}

// Runs the pass with 0.5 in all constants.
absl::StatusOr<exir::ExportedProgram> Merged(const std::string& text) {
  ABSL_ASSIGN_OR_RETURN(exir::ExportedProgram program, exir::ParseProgram(text, CpuPassTestOps()));
  Fill(program, {.f32 = 0.5});
  ABSL_ASSIGN_OR_RETURN(const bool changed, RunMerge(program));
  EXPECT_TRUE(changed);
  return program;
}

// Weights [2, in, 3, 3] whose taps are `edge`, with `center` in the middle of [c, c % in] and `rest` in
// that of the other channels.
std::vector<float> Filters(int64_t in, float edge, float center, float rest) {
  std::vector<float> weight(static_cast<size_t>(2 * in * 9), edge);
  for (int64_t o = 0; o < 2; ++o) {
    for (int64_t i = 0; i < in; ++i) {
      weight[static_cast<size_t>((o * in + i) * 9 + 4)] = i == o % in ? center : rest;
    }
  }
  return weight;
}

TEST(MergeBranches, SumOfConvolutionsBecomesOne) {
  exir::ExpectRewrite(Program(Convolutions(1) + "%y: f32[1,2,5,5] = edge.aten.add.Tensor(%q, %p)"),
                      RunMerge,
                      R"(program edge {
    constants { constant "v_branches": f32[2,2,3,3] constant "v_bias": f32[2] }
    graph(%v_bias: f32[2] tensor_constant "v_bias",
          %v_branches: f32[2,2,3,3] tensor_constant "v_branches", %x: f32[1,2,5,5] user_input) {
      %p: f32[1,2,5,5] = edge.aten.convolution.default(%x, %v_branches, %v_bias, [1,1], [1,1], [1,1], false, [0,0], 1)
      return (%p user_output) } })",
                      CpuPassTestOps());
}

TEST(MergeBranches, AddsTapsOfThePointConvolutionAtTheCenter) {
  for (const char* sum : {"add.Tensor(%p, %q)", "add.Tensor(%q, %p)"}) {
    ASSERT_OK_AND_ASSIGN(
        exir::ExportedProgram program,
        Merged(Program(Convolutions(1) + absl::StrCat("%y: f32[1,2,5,5] = edge.aten.", sum))));
    EXPECT_EQ(Floats(program, "v_branches"), Filters(2, 0.5, 1, 1)) << sum;
    EXPECT_EQ(Floats(program, "v_bias"), std::vector<float>({0.5, 0.5})) << sum;
  }
}

TEST(MergeBranches, SubtractsBranches) {
  ASSERT_OK_AND_ASSIGN(
      exir::ExportedProgram program,
      Merged(Program(Convolutions(1) + "%y: f32[1,2,5,5] = edge.aten.sub.Tensor(%p, %q)")));
  EXPECT_EQ(Floats(program, "v_branches"), Filters(2, 0.5, 0, 0));
  EXPECT_EQ(Floats(program, "v_bias"), std::vector<float>({-0.5, -0.5}));
  ASSERT_OK_AND_ASSIGN(program, Merged(Program(Convolutions(1) +
                                               "%y: f32[1,2,5,5] = edge.aten.sub.Tensor(%q, %p)")));
  EXPECT_EQ(Floats(program, "v_branches"), Filters(2, -0.5, 0, 0));
  EXPECT_EQ(Floats(program, "v_bias"), std::vector<float>({0.5, 0.5}));
}

// factor = 0.5 / sqrt(0.5 + 0.5), shift = 0.5 - 0.5 * 0.5
TEST(MergeBranches, BatchNormOfTheInputBecomesADiagonal) {
  const std::string sum = "%y: f32[1,2,5,5] = edge.aten.add.Tensor(%n, %p)";
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram program,
                       Merged(Program(absl::StrCat(kNorm, Convolutions(1), sum))));
  EXPECT_EQ(Floats(program, "v_branches"), Filters(2, 0.5, 1, 0.5));
  EXPECT_EQ(Floats(program, "v_bias"), std::vector<float>({0.25, 0.25}));
  ASSERT_OK_AND_ASSIGN(program,
                       Merged(Program(absl::StrCat(kNorm, Convolutions(2), sum), /*in=*/1)));
  EXPECT_EQ(Floats(program, "v_branches"), Filters(1, 0.5, 1, 0));
}

TEST(MergeBranches, InputOfADepthwiseConvolutionIsATap) {
  ASSERT_OK_AND_ASSIGN(
      exir::ExportedProgram program,
      Merged(
          Program(Convolutions(2) + "%y: f32[1,2,5,5] = edge.aten.add.Tensor(%x, %p)", /*in=*/1)));
  EXPECT_EQ(Floats(program, "v_branches"), Filters(1, 0.5, 1.5, 0));
  EXPECT_EQ(program.constants.count("v_bias"), 0u);
}

TEST(MergeBranches, MergesMoreThanTwoBranches) {
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram program,
                       Merged(Program(absl::StrCat(kNorm, Convolutions(1), R"(
      %a: f32[1,2,5,5] = edge.aten.add.Tensor(%q, %n)
      %y: f32[1,2,5,5] = edge.aten.add.Tensor(%a, %p))"))));
  EXPECT_EQ(Floats(program, "v_branches"), Filters(2, 0.5, 1.5, 1));
  EXPECT_EQ(Floats(program, "v_bias"), std::vector<float>({0.75, 0.75}));
  EXPECT_EQ(program.constants.size(), 2u);
}

TEST(MergeBranches, KeepsTheInputOfOtherConvolutions) {
  ExpectLeftAsItIs(Program(Convolutions(1) + "%y: f32[1,2,5,5] = edge.aten.add.Tensor(%x, %p)"),
                   RunMerge);
}

TEST(MergeBranches, KeepsFactorsAndOtherInputs) {
  const std::string both = Convolutions(1);
  ExpectLeftAsItIs(Program(both + "%y: f32[1,2,5,5] = edge.aten.add.Tensor(%p, %q, alpha=2)"),
                   RunMerge);
  ExpectLeftAsItIs(Program(R"(
      %z: f32[1,2,5,5] = edge.aten.relu.default(%x)
      %p: f32[1,2,5,5] = edge.aten.convolution.default(%x, %v, none, [1,1], [1,1], [1,1], false, [0,0], 1)
      %q: f32[1,2,5,5] = edge.aten.convolution.default(%z, %w, %b, [1,1], [0,0], [1,1], false, [0,0], 1)
      %y: f32[1,2,5,5] = edge.aten.add.Tensor(%p, %q))"),
                   RunMerge);
}

// Another user of a branch, and of a weight.
TEST(MergeBranches, KeepsBranchesWithOtherUsers) {
  ExpectLeftAsItIs(Program(Convolutions(1) + R"(
      %a: f32[1,2,5,5] = edge.aten.add.Tensor(%p, %q)
      %y: f32[1,2,5,5] = edge.aten.mul.Tensor(%a, %q))"),
                   RunMerge);
  ExpectLeftAsItIs(Program(R"(
      %p: f32[1,2,5,5] = edge.aten.convolution.default(%x, %v, none, [1,1], [1,1], [1,1], false, [0,0], 1)
      %q: f32[1,2,5,5] = edge.aten.convolution.default(%x, %v, %b, [1,1], [1,1], [1,1], false, [0,0], 1)
      %y: f32[1,2,5,5] = edge.aten.add.Tensor(%p, %q))"),
                   RunMerge);
}

// The taps of a window with dilation 2 are not those of one with dilation 1, nor those of one without
// padding.
TEST(MergeBranches, KeepsWindowsWithOtherTaps) {
  ExpectLeftAsItIs(Program(R"(
      %p: f32[1,2,5,5] = edge.aten.convolution.default(%x, %v, none, [1,1], [1,1], [1,1], false, [0,0], 1)
      %q: f32[1,2,5,5] = edge.aten.convolution.default(%x, %w, %b, [1,1], [2,2], [1,1], false, [0,0], 1)
      %y: f32[1,2,5,5] = edge.aten.add.Tensor(%p, %q))"),
                   RunMerge);
}

TEST(MergeBranches, KeepsStridesThatDiffer) {
  ExpectLeftAsItIs(Program(R"(
      %p: f32[1,2,5,5] = edge.aten.convolution.default(%x, %v, none, [1,1], [1,1], [1,1], false, [0,0], 1)
      %q: f32[1,2,5,5] = edge.aten.convolution.default(%x, %w, %b, [2,2], [0,0], [1,1], false, [0,0], 1)
      %y: f32[1,2,5,5] = edge.aten.add.Tensor(%p, %q))"),
                   RunMerge);
}

TEST(MergeBranches, KeepsBatchNormsFarFromTheirMean) {
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram program,
                       exir::ParseProgram(Program(absl::StrCat(kNorm, Convolutions(1), R"(
      %y: f32[1,2,5,5] = edge.aten.add.Tensor(%n, %p))")),
                                          CpuPassTestOps()));
  Fill(program, {.f32 = 1e9});  // 3e4 deviations
  ASSERT_OK_AND_ASSIGN(const bool changed, RunMerge(program));
  EXPECT_FALSE(changed);
}

}  // namespace
}  // namespace belay::cpu
