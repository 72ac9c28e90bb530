#include "tools/belay/reduce_failure.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/saved_programs.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/npy.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/belay/first_difference.h"
#include "tools/profile/testing/unary_call.h"

namespace belay::tools {
namespace {

using ::testing::HasSubstr;

// A relu that is wrong for numbers above 2.
absl::Status WrongRelu(KernelContext& context, const UnaryCall& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, call.self->sizes));
  for (int64_t i = 0; i < out->numel(); ++i) {
    const float x = call.self->as<float>()[i];
    out->as<float>()[i] = x > 2 ? -1.0f : std::max(x, 0.0f);
  }
  return absl::OkStatus();
}
constexpr Kernel kWrong[] = {
    KernelRow<&WrongRelu>("aten.relu.default", "self", "WrongRelu", KernelEngine::kHighway),
};

class ReduceFailureTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(reference_));
    ASSERT_OK(AddStandardKernels(kernels_));
    ASSERT_OK(kernels_.Add(kWrong));
    setup_ = {.partitioners = {},
              .aot = &AotBackends(),
              .runtime = &RuntimeBackends(),
              .kernels = &kernels_,
              .reference = &reference_};
  }

  absl::StatusOr<ReducedFailure> Reduce(const exir::ExportedProgram& program,
                                        std::string_view node) {
    return ReduceFailure(program, {EValue(x_.view())}, exir::FindNode(program.top(), node), setup_,
                         closeness_);
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry reference_, kernels_;
  LoweringSetup setup_;
  const exir::Closeness closeness_ = {.atol = 1e-5, .rtol = 1e-4};
  const TestTensor x_ = TestTensor::Of<float>({3}, {-1, 0.5, 1});
};

// 300 nodes, one of them wrong for inputs above 2: three times exp(cos(x)) exceeds 2.
std::string LongProgram() {
  std::string text = R"(program edge {
    constants { state "w": f32[3] state "bias": f32[3] }
    graph(%w: f32[3] parameter "w", %bias: f32[3] parameter "bias", %x: f32[3] user_input) {
      %v0: f32[3] = edge.aten.sin.default(%x)
)";
  for (int i = 1; i < 297; ++i) {
    absl::StrAppend(&text, "      %v", i, ": f32[3] = ");
    if (i == 200) {
      absl::StrAppend(&text, "edge.aten.relu.default(%big) @\"m.py\":12\n");
    } else if (i == 199) {
      absl::StrAppend(&text, "edge.aten.exp.default(%v198)\n",
                      R"(      %e: f32[3] = edge.aten.exp.default(%v199)
      %big: f32[3] = edge.aten.exp.default(%e)
)");
    } else {
      absl::StrAppend(&text, i % 2 == 0 ? "edge.aten.sin.default" : "edge.aten.cos.default", "(%v",
                      i - 1, ")\n");
    }
  }
  return text + R"(      %sum: f32[3] = edge.aten.add.Tensor(%v296, %bias)
      return (%sum user_output)
    } })";
}

TEST_F(ReduceFailureTest, ReducesThreeHundredNodesToOne) {
  const exir::ExportedProgram program = exir::ParseOrDie(LongProgram(), *ops_);
  ASSERT_EQ(program.top().num_nodes(), 300u);
  ASSERT_OK_AND_ASSIGN(const auto found,
                       FindFirstDifference(program, {EValue(x_.view())}, setup_, closeness_));
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->node, HasSubstr("m.py:12"));
  ASSERT_OK_AND_ASSIGN(const ReducedFailure failure,
                       ReduceFailure(program, {EValue(x_.view())}, found->id, setup_, closeness_));
  EXPECT_EQ(failure.program.top().num_nodes(), 1u) << exir::PrintProgram(failure.program);
  EXPECT_TRUE(failure.program.state_dict.empty());
  EXPECT_EQ(failure.inputs.size(), 1u);
  EXPECT_THAT(failure.difference, HasSubstr("output 0: 3 of 3 elements differ"));
  // Its inputs have the values of the whole program.
  const TensorView& input = *failure.inputs[0].tensor();
  for (int i = 0; i < 3; ++i) EXPECT_GT(input.as<float>()[i], 2);
  EXPECT_EQ(ToVector<float>(*failure.outputs[0].tensor()), ToVector<float>(input));
}

TEST_F(ReduceFailureTest, KeepsNeededParameters) {
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    constants { state "w": f32[3] }
    graph(%w: f32[3] parameter "w", %x: f32[3] user_input) {
      %c: f32[3] = edge.aten.cos.default(%x)
      %e: f32[3] = edge.aten.exp.default(%c)
      %f: f32[3] = edge.aten.exp.default(%e)
      %g: f32[3] = edge.aten.exp.default(%f)
      %r: f32[3] = edge.aten.relu.default(%g)
      %a: f32[3] = edge.aten.add.Tensor(%r, %w)
      return (%a user_output)
    } })",
                                                         *ops_);
  ASSERT_OK_AND_ASSIGN(const ReducedFailure failure, Reduce(program, "a"));
  // The sum is correct when lowered separately: the preceding node is wrong.
  EXPECT_EQ(failure.program.top().num_nodes(), 2u) << exir::PrintProgram(failure.program);
  EXPECT_EQ(failure.program.state_dict.size(), 1u);
  EXPECT_EQ(failure.inputs.size(), 1u);
}

TEST_F(ReduceFailureTest, RemovesUnneededNodes) {
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    graph(%x: f32[3] user_input) {
      %e: f32[3] = edge.aten.exp.default(%x)
      %g: f32[3] = edge.aten.exp.default(%e)
      %r: f32[3] = edge.aten.relu.default(%g)
      %p: f32[3] = edge.aten.neg.default(%r)
      %q: f32[3] = edge.aten.sin.default(%x)
      %u: f32[3] = edge.aten.cos.default(%x)
      %c: f32[9] = edge.aten.cat.default([%p,%q,%u])
      return (%c user_output)
    } })",
                                                         *ops_);
  // The four nearest are %p, %q, %u and %r; %q and %u are removed one by one.
  ASSERT_OK_AND_ASSIGN(const ReducedFailure failure, Reduce(program, "c"));
  EXPECT_EQ(failure.program.top().num_nodes(), 3u) << exir::PrintProgram(failure.program);
}

TEST_F(ReduceFailureTest, CorrectProgramIsNotFound) {
  const exir::ExportedProgram program = exir::ParseOrDie(LongProgram(), *ops_);
  EXPECT_THAT(Reduce(program, "v198"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'v198'")));
}

// Removes values computed in subgraphs, and unneeded scalars.
TEST_F(ReduceFailureTest, RemovesSubgraphsAndScalars) {
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    ranges { s0: [1,9] }
    graph(%n: symint(s0) user_input, %k: const(3) constant_input, %x: f32[s0] user_input) {
      %s: f32[] = edge.aten.sum.default(%x)
      %p: b8[] = edge.aten.gt.Scalar(%s, 0)
      %y: f32[s0] = higher_order.cond(%p, graph#1, graph#2, [%x])
      %d: f32[s0] = edge.aten.add.Tensor(%y, %y)
      %r: f32[s0] = edge.aten.relu.default(%d)
      return (%r user_output)
    }
    graph yes(%a: f32[s0]) { %b: f32[s0] = edge.aten.mul.Scalar(%a, 4) return (%b) }
    graph no(%a: f32[s0]) { %b: f32[s0] = edge.aten.neg.default(%a) return (%b) }
  })",
                                                         *ops_);
  ASSERT_OK_AND_ASSIGN(
      const ReducedFailure failure,
      ReduceFailure(program, {EValue(int64_t{3}), EValue(int64_t{3}), EValue(x_.view())},
                    exir::FindNode(program.top(), "r"), setup_, closeness_));
  EXPECT_EQ(failure.program.top().num_nodes(), 1u) << exir::PrintProgram(failure.program);
  EXPECT_EQ(failure.program.graphs.size(), 1u);
  ASSERT_EQ(failure.inputs.size(), 1u);
  EXPECT_EQ(ToVector<float>(*failure.inputs[0].tensor()), (std::vector<float>{-8, 4, 8}));
}

TEST_F(ReduceFailureTest, ReportsInterpreterErrors) {
  const exir::ExportedProgram program = exir::ParseOrDie(LongProgram(), *ops_);
  const KernelRegistry none;
  setup_.reference = &none;
  EXPECT_THAT(Reduce(program, "v200"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("sin")));
}

TEST_F(ReduceFailureTest, NamesUnwritableFiles) {
  const exir::ExportedProgram program = exir::ParseOrDie(LongProgram(), *ops_);
  ASSERT_OK_AND_ASSIGN(ReducedFailure failure, Reduce(program, "v200"));
  for (const std::string name : {"program.bir", "input_0.npy", "output_0.npy"}) {
    const std::string directory = Path(absl::StrCat("without_", name));
    // The path is a nonempty folder.
    std::filesystem::create_directories(absl::StrCat(directory, "/", name, "/x"));
    EXPECT_THAT(
        WriteFailure(failure, directory),
        StatusIs(absl::StatusCode::kUnavailable, HasSubstr(absl::StrCat(directory, "/", name))));
  }
}

TEST_F(ReduceFailureTest, SkipsNonArrayValues) {
  const exir::ExportedProgram program = exir::ParseOrDie(LongProgram(), *ops_);
  ASSERT_OK_AND_ASSIGN(ReducedFailure failure, Reduce(program, "v200"));
  failure.inputs.push_back(exir::OwnedValue::Scalar(EValue(DType::kFloat32)));
  EXPECT_THAT(WriteFailure(failure, Path("other")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no .npy file can hold ")));
}

TEST_F(ReduceFailureTest, WritesProgramAndCall) {
  const exir::ExportedProgram program = exir::ParseOrDie(LongProgram(), *ops_);
  ASSERT_OK_AND_ASSIGN(ReducedFailure failure, Reduce(program, "v200"));
  const std::string directory = Path("reduced/failure");
  // Values of types that .npy lacks have no file.
  failure.inputs.push_back(exir::OwnedValue::Scalar(EValue()));
  failure.inputs.push_back(exir::OwnedValue::Scalar(EValue(std::string_view("text"))));
  ASSERT_OK(WriteFailure(failure, directory));
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(directory, "/input_0.npy")));
  for (const int i : {1, 2}) {
    EXPECT_FALSE(std::filesystem::exists(absl::StrCat(directory, "/input_", i, ".npy"))) << i;
  }
  ASSERT_OK_AND_ASSIGN(const exir::MethodPrograms read,
                       exir::ReadSavedPrograms(absl::StrCat(directory, "/program.bir"), *ops_));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(exir::PrintProgram(read[0].second), exir::PrintProgram(failure.program));
  ASSERT_OK_AND_ASSIGN(const NpyArray input, ReadNpyFile(absl::StrCat(directory, "/input_0.npy")));
  EXPECT_EQ(ToVector<float>(input.view()), ToVector<float>(*failure.inputs[0].tensor()));
  ASSERT_OK_AND_ASSIGN(const NpyArray output,
                       ReadNpyFile(absl::StrCat(directory, "/output_0.npy")));
  EXPECT_EQ(ToVector<float>(output.view()), ToVector<float>(*failure.outputs[0].tensor()));
}

}  // namespace
}  // namespace belay::tools
