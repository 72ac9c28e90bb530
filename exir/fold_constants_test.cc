// Tests constant folding of undelegated nodes, and in backends that request it.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/backend/testing/recording_backend.h"
#include "exir/compare/call.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "exir/pass_manager/pass_manager.h"
#include "exir/passes/merge_batch_norm.h"
#include "exir/passes/propagate_constants.h"
#include "exir/pipeline.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class FoldConstantsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(kernels_));
  }

  absl::StatusOr<ProgramImage> Lower(std::vector<std::pair<std::string, std::string_view>> strings,
                                     const PipelineOptions& options = {}) {
    MethodPrograms methods;
    for (const auto& [name, text] : strings) methods.emplace_back(name, ParseOrDie(text, *ops_));
    return LowerPrograms(std::move(methods), options);
  }

  static std::vector<std::string> Operators(const schema::Method& method) {
    return {method.operators().begin(), method.operators().end()};
  }

  std::unique_ptr<OpRegistry> ops_;
  KernelRegistry kernels_;
};

// A linear layer with a batch norm and an activation.
constexpr std::string_view kLinear = R"(program edge {
  constants { state "w": f32[4,3] state "b": f32[4] state "m": f32[4] state "v": f32[4] }
  graph(%w: f32[4,3] parameter "w", %b: f32[4] parameter "b", %m: f32[4] buffer "m",
        %v: f32[4] buffer "v", %x: f32[2,3] user_input) {
    %t: f32[3,4] = edge.aten.permute_copy.default(%w, [1,0])  tag="t"
    %c: f32[2,4] = edge.aten.addmm.default(%b, %x, %t)  tag="t"
    %y: f32[2,4], %s: f32[0], %u: f32[0] =
        edge.aten._native_batch_norm_legit_no_training.default(%c, none, none, %m, %v, 0.1, 1e-5)  tag="t"
    %z: f32[2,4] = edge.aten.relu.default(%y)
    return (%z user_output)
  }
})";

TEST_F(FoldConstantsTest, IsOnByDefault) {
  ASSERT_OK_AND_ASSIGN(const ProgramImage folded, Lower({{"forward", kLinear}}));
  EXPECT_THAT(Operators(folded.metadata.methods(0)),
              UnorderedElementsAre("aten.addmm.default", "aten.relu.default"));
  PipelineOptions options;
  options.fold_constants = false;
  ASSERT_OK_AND_ASSIGN(const ProgramImage plain, Lower({{"forward", kLinear}}, options));
  EXPECT_THAT(
      Operators(plain.metadata.methods(0)),
      UnorderedElementsAre("aten.addmm.default", "aten.relu.default", "aten.permute_copy.default",
                           "aten._native_batch_norm_legit_no_training.default"));
  // Operators on quantized numbers use folded constants; batch norms are kept.
  options.quant_fusion_and_const_prop = true;
  ASSERT_OK_AND_ASSIGN(const ProgramImage propagated, Lower({{"forward", kLinear}}, options));
  EXPECT_THAT(Operators(propagated.metadata.methods(0)),
              UnorderedElementsAre("aten.addmm.default", "aten.relu.default",
                                   "aten._native_batch_norm_legit_no_training.default"));
}

TEST_F(FoldConstantsTest, GrowsTheProgramWithinTheBudget) {
  constexpr std::string_view kRepeated = R"(program edge {
  constants { state "w": f32[16] }
  graph(%w: f32[16] parameter "w", %x: f32[8,16] user_input) {
    %r: f32[8,16] = edge.aten.repeat.default(%w, [8,1])
    %y: f32[8,16] = edge.aten.mul.Tensor(%x, %r)
    return (%y user_output)
  }
})";
  PipelineOptions options;
  for (const uint64_t budget : {7 * 64, 7 * 64 - 1}) {
    options.fold_budget = budget;
    ASSERT_OK_AND_ASSIGN(const ProgramImage image, Lower({{"forward", kRepeated}}, options));
    EXPECT_EQ(image.metadata.methods(0).instructions_size(), budget == 7 * 64 ? 1 : 2);
  }
}

// State is shared by all methods: one method reads what another writes.
TEST_F(FoldConstantsTest, KeepsTensorsWrittenByAnotherMethod) {
  constexpr std::string_view kWrite = R"(program edge {
  constants { state "b": f32[2] }
  graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
    %s: f32[2] = edge.aten.add.Tensor(%b, %x)
    return (%s buffer_mutation "b", %s user_output)
  }
})";
  constexpr std::string_view kRead = R"(program edge {
  constants { state "b": f32[2] }
  graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
    %n: f32[2] = edge.aten.neg.default(%b)
    %y: f32[2] = edge.aten.mul.Tensor(%n, %x)
    return (%y user_output)
  }
})";
  ASSERT_OK_AND_ASSIGN(const ProgramImage both, Lower({{"read", kRead}, {"write", kWrite}}));
  EXPECT_THAT(Operators(both.metadata.methods(0)),
              UnorderedElementsAre("aten.neg.default", "aten.mul.Tensor"));
  ASSERT_OK_AND_ASSIGN(const ProgramImage alone, Lower({{"read", kRead}}));
  EXPECT_THAT(Operators(alone.metadata.methods(0)), ElementsAre("aten.mul.Tensor"));
}

// A weight that an embedding also uses is in the file once, and the matmul uses it as stored.
TEST_F(FoldConstantsTest, TiedWeightsAreStoredOnceAndNotTransposed) {
  constexpr std::string_view kTied = R"(program edge {
  constants { state "w": f32[512,256] }
  graph(%w: f32[512,256] parameter "w", %i: i64[2] user_input) {
    %e: f32[2,256] = edge.aten.embedding.default(%w, %i)
    %t: f32[256,512] = edge.aten.permute_copy.default(%w, [1,0])
    %y: f32[2,512] = edge.aten.mm.default(%e, %t)
    return (%y user_output)
  }
})";
  MethodPrograms methods;
  methods.emplace_back("forward", ParseOrDie(kTied, *ops_));
  ExportedProgram& program = methods[0].second;
  std::vector<std::byte> bytes(512 * 256 * sizeof(float));
  for (size_t i = 0; i < 512 * 256; ++i) reinterpret_cast<float*>(bytes.data())[i] = i % 1009;
  program.state_dict.insert_or_assign(
      "w", *ConstantTensor::Contiguous(DType::kFloat32, {512, 256}, Storage::Own(bytes)));
  const ExportedProgram original = program.Clone();
  PipelineOptions options;
  options.fold_budget = 0;
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, LowerPrograms(std::move(methods), options));
  EXPECT_THAT(Operators(image.metadata.methods(0)),
              UnorderedElementsAre("aten.embedding.default", "aten.mm.default"));
  EXPECT_EQ(image.metadata.constants_size(), 1);

  ASSERT_OK_AND_ASSIGN(const Program file, OpenImage(image));
  const BackendRegistry none;
  ASSERT_OK_AND_ASSIGN(Method method, Method::Load(file, "forward", kernels_, none));
  ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Interpreter::Create(original, kernels_));
  const TestTensor indices = TestTensor::Of<int64_t>({2}, {3, 511});
  const std::vector<EValue> inputs = {EValue(indices.view())};
  EXPECT_EQ(FirstDifference({RunCall(interpreter, inputs)}, {RunCall(method, inputs)}, kIdentical),
            "");
}

// A delegate owns its constants: its backend folds them.
TEST_F(FoldConstantsTest, BackendsFoldTheirPrograms) {
  std::vector<std::string> names, operators;
  const FunctionBackend backend(
      "recorder",
      [&](ExportedProgram program,
          absl::Span<const CompileSpec>) -> absl::StatusOr<PreprocessResult> {
        const std::vector<Pass> passes = {MergeBatchNorm(), PropagateConstants()};
        ABSL_ASSIGN_OR_RETURN(program, RunPasses(std::move(program), passes));
        for (const auto& [name, tensor] : program.constants) names.push_back(name);
        EXPECT_THAT(program.state_dict, IsEmpty());
        for (NodeId node : program.top().nodes()) {
          operators.push_back(program.top().node(node).target->name());
        }
        return PreprocessResult();
      });
  BackendSet backends;
  ASSERT_OK(backends.Add(&backend));
  TextPartitioner partitioner;
  partitioner.tag_constants = true;
  partitioner.delegation = {{"t", {"recorder", {}}}};
  PipelineOptions options;
  options.partitioners.all = {&partitioner};
  options.backends = &backends;
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Lower({{"forward", kLinear}}, options));
  EXPECT_THAT(names, ElementsAre("_prop_tensor_constant0", "w_merged_bias"));
  EXPECT_THAT(operators, ElementsAre("aten.addmm.default"));
  EXPECT_THAT(Operators(image.metadata.methods(0)), ElementsAre("aten.relu.default"));
}

}  // namespace
}  // namespace belay::exir
