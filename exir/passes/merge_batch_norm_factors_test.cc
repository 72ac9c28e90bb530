// Tests of products with constant factors, which merge like batch norms.
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/passes/merge_batch_norm.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

// Returns a program of `nodes`, which compute %y of `type`, with constants of positive numbers.
std::string Around(std::string_view nodes, std::string_view type) {
  return absl::StrCat(R"(program aten {
  constants { state "w": f32[4,3,2,2] state "b": f32[4] state "l": f32[4,3] state "g": f32[4]
              state "r": f32[1,4,1,1] state "one": f32[1] }
  graph(%w: f32[4,3,2,2] parameter "w", %b: f32[4] parameter "b", %l: f32[4,3] parameter "l",
        %g: f32[4] parameter "g", %r: f32[1,4,1,1] parameter "r", %one: f32[1] parameter "one",
        %x: f32[1,3,5,6] user_input, %z: f32[1,4,4,5] user_input, %t: f32[2,5,3] user_input) {
)",
                      nodes, " %y: ", type);
}
constexpr char kConvolution[] =
    "%c: f32[1,4,4,5] = aten.convolution.default(%x, %w, %b, [1,1], [0,0], [1,1], false, [0,0], 1)";
constexpr char kEnd[] = " return (%y user_output) } }";

ExportedProgram ProgramOf(const std::string& text, uint64_t seed) {
  ExportedProgram program = ParseOrDie(text, PassTestOps());
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> number(0.25, 2);
  for (auto& [name, tensor] : program.state_dict) {
    std::vector<std::byte> bytes(tensor.view().nbytes());
    for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
      const float value = number(random);
      std::memcpy(bytes.data() + i, &value, sizeof(value));
    }
    tensor =
        *ConstantTensor::Contiguous(tensor.dtype(), tensor.sizes(), Storage::Own(std::move(bytes)));
  }
  return program;
}

std::vector<float> ResultsOf(const ExportedProgram& program, uint64_t seed) {
  KernelRegistry kernels;
  EXPECT_OK(AddReferenceKernels(kernels));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<std::vector<float>> data;
  std::vector<EValue> inputs;
  for (const Sizes& sizes : {Sizes{1, 3, 5, 6}, Sizes{1, 4, 4, 5}, Sizes{2, 5, 3}}) {
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    std::vector<float>& floats = data.emplace_back(static_cast<size_t>(count));
    for (float& x : floats) x = number(random);
    inputs.emplace_back(TensorView::Contiguous(DType::kFloat32, sizes, floats.data()));
  }
  absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, kernels);
  EXPECT_OK(interpreter.status());
  if (!interpreter.ok()) return {};
  const auto results = interpreter->Run(inputs);
  EXPECT_OK(results.status());
  if (!results.ok()) return {};
  const TensorView& view = *results->at(0).tensor();
  return {view.as<const float>(), view.as<const float>() + view.numel()};
}

struct Row {
  std::string_view nodes, type, result;
  std::string_view left;  // an operator that must be gone
};
constexpr Row kMerged[] = {
    {kConvolution, "f32[1,4,4,5]", "aten.mul.Tensor(%c, %r)", "mul"},
    {kConvolution, "f32[1,4,4,5]", "aten.mul.Tensor(%one, %c)", "mul"},
    {kConvolution, "f32[1,4,4,5]", "aten.mul.Tensor(%c, 0.5)", "mul"},
    {R"(%c: f32[1,4,4,5] = aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)
        %v: f32[4,1,1] = aten.view_copy.default(%g, [4,1,1]))",
     "f32[1,4,4,5]", "aten.mul.Tensor(%c, %v)", "mul"},
    {R"(%c: f32[1,4,4,5] = aten.convolution.default(%x, %w, %b, [1,1], [0,0], [1,1], false, [0,0], 1)
        %a: f32[1,4,4,5] = aten.relu.default(%c))",
     "f32[1,4,4,5]", "aten.mul.Tensor(%a, %r)", "mul"},
    {R"(%c: f32[1,4,4,5] = aten.convolution.default(%x, %w, %b, [1,1], [0,0], [1,1], false, [0,0], 1)
        %a: f32[1,4,4,5] = aten.relu.default(%c)
        %m: f32[1,4,4,5] = aten.mul.Tensor(%one, %a))",
     "f32[1,4,4,5]", "aten.add.Tensor(%m, -0.75)", "relu"},
    {R"(%q: f32[10,3] = aten.view_copy.default(%t, [10,3])
        %u: f32[3,4] = aten.permute_copy.default(%l, [1,0])
        %c: f32[10,4] = aten.addmm.default(%b, %q, %u)
        %v: f32[2,5,4] = aten.view_copy.default(%c, [2,5,4]))",
     "f32[2,5,4]", "aten.mul.Tensor(%v, %g)", "mul"},
    {R"(%q: f32[10,3] = aten.view_copy.default(%t, [10,3])
        %u: f32[3,4] = aten.permute_copy.default(%l, [1,0])
        %c: f32[10,4] = aten.mm.default(%q, %u)
        %v: f32[2,5,4] = aten.view_copy.default(%c, [2,5,4])
        %p: f32[2,4,5] = aten.permute_copy.default(%v, [0,2,1])
        %f: f32[1,4,1] = aten.view_copy.default(%g, [1,4,1]))",
     "f32[2,4,5]", "aten.mul.Tensor(%p, %f)", "mul"},
};

TEST(MergeFactorsTest, ResultsAreEqual) {
  for (const Row& row : kMerged) {
    SCOPED_TRACE(absl::StrCat(row.nodes, " ", row.result));
    const std::string text = absl::StrCat(Around(row.nodes, row.type), " = ", row.result, kEnd);
    ExportedProgram program = ProgramOf(text, 1);
    const std::vector<float> want = ResultsOf(program, 2);
    ASSERT_OK_AND_ASSIGN(const bool changed, MergeBatchNorm().run(program));
    EXPECT_TRUE(changed);
    ASSERT_OK(Verify(program));
    EXPECT_THAT(PrintProgram(program),
                testing::Not(testing::HasSubstr(absl::StrCat("aten.", row.left, "."))));
    const std::vector<float> got = ResultsOf(program, 2);
    ASSERT_EQ(got.size(), want.size());
    ASSERT_FALSE(got.empty());
    // Sums of 13 terms of magnitude 2 by a factor of 2, each of them rounded once more.
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 64 * 0x1p-22) << i;
  }
}

TEST(MergeFactorsTest, ProducerWithoutBiasKeepsNone) {
  ExpectRewrite(R"(program edge {
  constants { state "w": f32[4,3,2] state "g": f32[4,1] }
  graph(%w: f32[4,3,2] parameter "w", %g: f32[4,1] parameter "g", %x: f32[1,3,6] user_input) {
    %c: f32[1,4,5] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], false, [0], 1)
    %y: f32[1,4,5] = edge.aten.mul.Tensor(%c, %g)
    return (%y user_output)
  }
})",
                MergeBatchNorm().run, R"(program edge {
  constants { constant "w_merged": f32[4,3,2] }
  graph(%w_merged: f32[4,3,2] tensor_constant "w_merged", %x: f32[1,3,6] user_input) {
    %c: f32[1,4,5] = edge.aten.convolution.default(%x, %w_merged, none, [1], [0], [1], false, [0], 1)
    return (%c user_output)
  }
})",
                PassTestOps());
}

TEST(MergeFactorsTest, LinearOfAnyRank) {
  ExpectRewrite(R"(program edge {
  constants { state "w": f32[4,3] state "g": f32[4] }
  graph(%w: f32[4,3] parameter "w", %g: f32[4] parameter "g", %x: f32[2,5,3] user_input) {
    %c: f32[2,5,4] = edge.aten.linear.default(%x, %w)
    %y: f32[2,5,4] = edge.aten.mul.Tensor(%g, %c)
    return (%y user_output)
  }
})",
                MergeBatchNorm().run, R"(program edge {
  constants { constant "w_merged": f32[4,3] }
  graph(%w_merged: f32[4,3] tensor_constant "w_merged", %x: f32[2,5,3] user_input) {
    %c: f32[2,5,4] = edge.aten.linear.default(%x, %w_merged)
    return (%c user_output)
  }
})",
                PassTestOps());
}

TEST(MergeFactorsTest, ShiftBehindReluBecomesTheLowerBound) {
  ExpectRewrite(R"(program edge {
  constants { state "w": f32[4,3,2] state "b": f32[4] }
  graph(%w: f32[4,3,2] parameter "w", %b: f32[4] parameter "b", %x: f32[1,3,6] user_input) {
    %c: f32[1,4,5] = edge.aten.convolution.default(%x, %w, %b, [1], [0], [1], false, [0], 1)
    %r: f32[1,4,5] = edge.aten.relu.default(%c)
    %y: f32[1,4,5] = edge.aten.add.Tensor(%r, 0.25)
    return (%y user_output)
  }
})",
                MergeBatchNorm().run, R"(program edge {
  constants { constant "w_merged": f32[4,3,2] constant "w_merged_bias": f32[4] }
  graph(%w_merged: f32[4,3,2] tensor_constant "w_merged",
        %w_merged_bias: f32[4] tensor_constant "w_merged_bias", %x: f32[1,3,6] user_input) {
    %c: f32[1,4,5] = edge.aten.convolution.default(%x, %w_merged, %w_merged_bias, [1], [0], [1], false, [0], 1)
    %r: f32[1,4,5] = edge.aten.clamp.default(%c, 0.25, none)
    return (%r user_output)
  }
})",
                PassTestOps());
}

TEST(MergeFactorsTest, KeepsOtherProducts) {
  constexpr char kRelu[] = "\n%a: f32[1,4,4,5] = aten.relu.default(%c)";
  const std::string conv(kConvolution), relu = absl::StrCat(kConvolution, kRelu);
  const struct {
    std::string nodes, result;
  } kRows[] = {
      {conv, "f32[1,4,4,5] = aten.mul.Tensor(%c, %z)"},    // not constant
      {conv, "f32[1,4,4,5] = aten.mul.Tensor(%c, %c)"},    // two uses
      {conv, "f32[1,4,4,5] = aten.add.Tensor(%c, %r)"},    // without relu
      {relu, "f32[1,4,4,5] = aten.mul.Tensor(%a, -0.5)"},  // changes the sign
      {relu, "f32[1,4,4,5] = aten.mul.Tensor(%a, 0)"},     // NaN would pass
      {relu, "f32[1,4,4,5] = aten.add.Tensor(%a, %r)"},    // bounds of channels
      {relu, "f32[1,4,4,5] = aten.add.Tensor(%a, 0.5, alpha=2)"},
      {"%c: f32[2,5,4] = aten.linear.default(%t, %l, %b) %v: f32[2,5,4] = aten.tanh.default(%c)",
       "f32[2,5,4] = aten.mul.Tensor(%v, %g)"},
      {absl::StrCat(conv, " %v: f32[1,16,5] = aten.view_copy.default(%c, [1,16,5])"),
       "f32[1,16,5] = aten.mul.Tensor(%v, 0.5)"},  // a reshape of a convolution
      {absl::StrCat(conv, " %v: f32[4,1] = aten.view_copy.default(%g, [4,1])"),
       "f32[1,4,4,5] = aten.mul.Tensor(%c, %v)"},  // rows, not channels
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.result);
    std::string text = Around(row.nodes, row.result);
    ExportedProgram program = ProgramOf(absl::StrCat(text, kEnd), 1);
    const std::string before = PrintProgram(program);
    ASSERT_OK_AND_ASSIGN(const bool changed, MergeBatchNorm().run(program));
    EXPECT_FALSE(changed);
    EXPECT_EQ(PrintProgram(program), before);
  }
}

}  // namespace
}  // namespace belay::exir
