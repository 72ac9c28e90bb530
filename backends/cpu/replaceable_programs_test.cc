// Programs with replaceable parameters: opened with those of another program, they compute its
// results.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_testing.h"
#include "exir/constant_rules.h"
#include "exir/emit/emitter.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/name_pattern.h"
#include "exir/pipeline.h"
#include "exir/serialize/serializer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/parameters/parameters.h"

namespace belay::cpu {
namespace {

using ::testing::HasSubstr;

class ReplaceableProgramsTest : public CpuTest {
 protected:
  absl::StatusOr<exir::ProgramImage> LowerAll(const exir::ExportedProgram& program,
                                              exir::ConstantRules rules) {
    const auto partitioner = Aot().create_partitioner(compile_specs_);
    exir::PipelineOptions options;
    options.backends = &set_;
    options.partitioners.all = {partitioner.get()};
    options.constants = std::move(rules);
    options.after_to_backend = [&](const exir::MethodPrograms& methods) {
      info_.clear();
      for (const auto& module : methods[0].second.lowered_modules) info_ += module->delegate_info;
    };
    exir::MethodPrograms methods;
    methods.emplace_back("forward", program.Clone());
    return exir::LowerPrograms(std::move(methods), options);
  }

  // The parameters of `program` in a file, and that file as an owner of its bytes.
  absl::StatusOr<std::shared_ptr<Parameters>> ParametersOf(const exir::ExportedProgram& program,
                                                           const std::string& pattern) {
    exir::MethodPrograms methods;
    methods.emplace_back("forward", program.Clone());
    ABSL_RETURN_IF_ERROR(
        exir::ApplyConstantRules({.files = {}, .replaceable = {pattern}}, methods));
    ABSL_ASSIGN_OR_RETURN(const exir::NamedDataOutput data, exir::ReplaceableTensors(methods));
    exir::EmitOptions emit;
    emit.named_data = &data;
    ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram({}, emit));
    ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, exir::SerializeProgram(image));
    const exir::Storage bytes = file.ToStorage();
    auto parameters = std::make_shared<Parameters>();
    ABSL_RETURN_IF_ERROR(parameters->AddFileBytes(bytes.owner, bytes.bytes, {}, "adapter"));
    return parameters;
  }

  // Lowers the program once, with parameters like `pattern` replaceable. Expects the results of
  // other parameters after replacing, and its own before.
  void ExpectReplaced(std::string_view text, const std::string& pattern,
                      const exir::CallSequence& calls) {
    const exir::ExportedProgram first = ParseWithNumbers(text, *ops_);
    exir::ExportedProgram second = ParseWithNumbers(text, *ops_);
    // Other numbers for the replaceable tensors.
    for (auto& [name, tensor] : second.state_dict) {
      if (!exir::MatchesPattern(pattern, name)) continue;
      const TensorView view = tensor.view();
      std::vector<std::byte> bytes(view.nbytes());
      for (int64_t i = 0; i < view.numel(); ++i) {
        const float drawn = Draw(random_);
        if (view.dtype == DType::kFloat32) {
          reinterpret_cast<float*>(bytes.data())[i] = drawn;
        } else {
          ASSERT_EQ(view.dtype, DType::kBFloat16);
          reinterpret_cast<BFloat16*>(bytes.data())[i] = BFloat16(drawn);
        }
      }
      ASSERT_OK_AND_ASSIGN(tensor,
                           exir::ConstantTensor::Contiguous(view.dtype, tensor.sizes(),
                                                            exir::Storage::Own(std::move(bytes))));
    }
    auto image = LowerAll(first, {.files = {}, .replaceable = {pattern}});
    ASSERT_OK(image.status());
    auto serialized = exir::SerializeProgram(*image);
    ASSERT_OK(serialized.status());
    const exir::Storage file = serialized->ToStorage();
    const auto expect = [&](const exir::ExportedProgram& want, absl::StatusOr<Program> program) {
      ASSERT_OK(program.status());
      auto edge = exir::ToEdge(want.Clone());
      ASSERT_OK(edge.status());
      auto interpreter = exir::Interpreter::Create(*edge, kernels_);
      ASSERT_OK(interpreter.status());
      auto method = Method::Load(*program, "forward", kernels_, registry_);
      ASSERT_OK(method.status());
      const auto expected = exir::RunCalls(*interpreter, calls);
      ASSERT_OK(expected.back().status);
      const auto got = exir::RunCalls(*method, calls);
      ASSERT_OK(got.back().status);
      EXPECT_EQ(
          exir::FirstDifference(expected, got,
                                exir::Closeness{.atol = 1e-5, .rtol = 1e-5, .by_precision = true}),
          "");
    };
    {
      SCOPED_TRACE("own parameters");
      expect(first, Program::OpenBytes(file.owner, file.bytes, {}));
    }
    SCOPED_TRACE("other parameters");
    auto parameters = ParametersOf(second, pattern);
    ASSERT_OK(parameters.status());
    expect(second, (*parameters)->OpenBytes(file.owner, file.bytes, {}));
  }

  std::string info_;  // diagnostics of the backend
};

TEST_F(ReplaceableProgramsTest, HeadsArePackedAtLoad) {
  ExpectReplaced(R"(program aten {
    constants { state "body.w": f32[16,8] state "head.w": f32[40,16] state "head.b": f32[40] }
    graph(%w: f32[16,8] parameter "body.w", %h: f32[40,16] parameter "head.w",
          %b: f32[40] parameter "head.b", %x: f32[3,8] user_input) {
      %y: f32[3,16] = aten.linear.default(%x, %w)
      %r: f32[3,16] = aten.relu.default(%y)
      %z: f32[3,40] = aten.linear.default(%r, %h, %b)
      return (%z user_output) } })",
                 "head.*", {{RandomTensor({3, 8}, random_)}});
  EXPECT_THAT(info_, HasSubstr("weight of 16 x 40 packed as float32 when the program is loaded"));
}

// y = x W + (x A) B: a low-rank adapter, whose B is zero before training.
TEST_F(ReplaceableProgramsTest, AdaptersOfLowRank) {
  ExpectReplaced(R"(program aten {
    constants { state "w": f32[32,32] state "lora.a": f32[32,4] state "lora.b": f32[4,32] }
    graph(%w: f32[32,32] parameter "w", %a: f32[32,4] parameter "lora.a",
          %b: f32[4,32] parameter "lora.b", %x: f32[5,32] user_input) {
      %y: f32[5,32] = aten.mm.default(%x, %w)
      %l: f32[5,4] = aten.mm.default(%x, %a)
      %m: f32[5,32] = aten.mm.default(%l, %b)
      %z: f32[5,32] = aten.add.Tensor(%y, %m)
      return (%z user_output) } })",
                 "lora.*", {{RandomTensor({5, 32}, random_)}, {RandomTensor({5, 32}, random_)}});
}

TEST_F(ReplaceableProgramsTest, BFloat16Weights) {
  ExpectReplaced(R"(program aten {
    constants { state "w": bf16[32,16] }
    graph(%w: bf16[32,16] parameter "w", %x: bf16[3,16] user_input) {
      %y: bf16[3,32] = aten.linear.default(%x, %w)
      return (%y user_output) } })",
                 "w", {{RandomTensor<BFloat16>({3, 16}, random_)}});
  EXPECT_THAT(info_, HasSubstr("bfloat16_linear"));
}

// Parameters that no kernel packs: scales of a norm, a filter, a table, a term.
TEST_F(ReplaceableProgramsTest, OtherParametersAreUsedAsTheyAre) {
  ExpectReplaced(R"(program aten {
    constants { state "c": f32[8,3,3,3] state "b": f32[8] state "s": f32[8,1,1] }
    graph(%c: f32[8,3,3,3] parameter "c", %b: f32[8] parameter "b", %s: f32[8,1,1] parameter "s",
          %x: f32[1,3,6,6] user_input) {
      %y: f32[1,8,4,4] = aten.conv2d.default(%x, %c, %b)
      %z: f32[1,8,4,4] = aten.mul.Tensor(%y, %s)
      return (%z user_output) } })",
                 "*", {{RandomTensor({1, 3, 6, 6}, random_)}});
  ExpectReplaced(R"(program aten {
    constants { state "n": f32[16] state "w": f32[16,16] state "q": f32[2,16,16] }
    graph(%n: f32[16] parameter "n", %w: f32[16,16] parameter "w", %q: f32[2,16,16] parameter "q",
          %x: f32[2,4,16] user_input) {
      %p: f32[2,4,16] = aten.pow.Tensor_Scalar(%x, 2)
      %m: f32[2,4,1] = aten.mean.dim(%p, [-1], true)
      %r: f32[2,4,1] = aten.rsqrt.default(%m)
      %s: f32[2,4,16] = aten.mul.Tensor(%x, %r)
      %t: f32[2,4,16] = aten.mul.Tensor(%s, %n)
      %u: f32[2,4,16] = aten.bmm.default(%t, %q)
      %v: f32[2,4,16] = aten.linear.default(%u, %w)
      return (%v user_output) } })",
                 "*", {{RandomTensor({2, 4, 16}, random_)}});
}

TEST_F(ReplaceableProgramsTest, BatchNormsAreNotMerged) {
  ExpectReplaced(R"(program aten {
    constants { state "c": f32[4,2,1,1] state "g": f32[4] state "h": f32[4] state "m": f32[4]
                state "v": f32[4] }
    graph(%c: f32[4,2,1,1] parameter "c", %g: f32[4] parameter "g", %h: f32[4] parameter "h",
          %m: f32[4] buffer "m", %v: f32[4] buffer "v", %x: f32[1,2,3,3] user_input) {
      %y: f32[1,4,3,3] = aten.conv2d.default(%x, %c)
      %z: f32[1,4,3,3], %i: f32[0], %j: f32[0] = aten._native_batch_norm_legit_no_training.default(%y, %g, %h, %m, %v, 0.1, 0.00001)
      return (%z user_output) } })",
                 "g", {{RandomTensor({1, 2, 3, 3}, random_)}});
}

// Two methods use one parameter.
TEST_F(ReplaceableProgramsTest, MethodsShareParameters) {
  const exir::ExportedProgram program = ParseWithNumbers(R"(program aten {
    constants { state "w": f32[8,8] }
    graph(%w: f32[8,8] parameter "w", %x: f32[2,8] user_input) {
      %y: f32[2,8] = aten.mm.default(%x, %w)
      return (%y user_output) } })",
                                                         *ops_);
  const auto partitioner = Aot().create_partitioner({});
  exir::PipelineOptions options;
  options.backends = &set_;
  options.partitioners.all = {partitioner.get()};
  options.constants.replaceable = {"w"};
  exir::MethodPrograms methods;
  methods.emplace_back("decode", program.Clone());
  methods.emplace_back("prefill", program.Clone());
  ASSERT_OK_AND_ASSIGN(const exir::ProgramImage image,
                       exir::LowerPrograms(std::move(methods), options));
  EXPECT_EQ(image.metadata.named_data_size(), 1);
  EXPECT_EQ(image.metadata.named_data(0).key(), "w");
}

TEST_F(ReplaceableProgramsTest, PackedWeightsAreStoredInTheFileOfTheirRule) {
  const exir::ExportedProgram program = ParseWithNumbers(R"(program aten {
    constants { state "a": f32[32,32] state "b": f32[32,32] }
    graph(%a: f32[32,32] parameter "a", %b: f32[32,32] parameter "b", %x: f32[2,32] user_input) {
      %y: f32[2,32] = aten.mm.default(%x, %a)
      %z: f32[2,32] = aten.mm.default(%y, %b)
      return (%z user_output) } })",
                                                         *ops_);
  ASSERT_OK_AND_ASSIGN(
      const exir::ProgramImage image,
      LowerAll(program, {.files = {{"a", "one"}, {"b", "two"}}, .replaceable = {}}));
  std::map<std::string, size_t> files;
  for (const auto& segment : image.segments) ++files[segment.companion];
  EXPECT_EQ(files["one"], 1u);
  EXPECT_EQ(files["two"], 1u);
}

}  // namespace
}  // namespace belay::cpu
