// End-to-end tests: programs are lowered with the CPU partitioner, executed, and compared with the
// interpreted original program.
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/cpu_testing.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/method.h"
#include "runtime/program/digest.h"

namespace belay::cpu {
namespace {

using exir::OwnedValue;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ProgramsTest : public CpuTest {
 protected:
  // Loads the lowered program with another blob and other named data in its first delegate.
  absl::Status LoadWithDelegate(const exir::ExportedProgram& lowered, exir::Storage blob,
                                exir::NamedDataOutput named_data) {
    exir::ExportedProgram program = lowered.Clone();
    auto module = std::make_shared<exir::LoweredBackendModule>(
        "cpu", lowered.lowered_modules[exir::ModuleId(0)]->original.Clone());
    module->processed = std::move(blob);
    module->named_data = std::move(named_data);
    program.lowered_modules[exir::ModuleId(0)] = std::move(module);
    ABSL_ASSIGN_OR_RETURN(const Program file, Emit(std::move(program)));
    return Method::Load(file, "forward", kernels_, registry_).status();
  }
};

constexpr std::string_view kPerceptron = R"(program edge {
    ranges { s0: [1,9] }
    constants { state "w": f32[40,24] state "b": f32[40] state "v": f32[24,40] }
    graph(%w: f32[40,24] parameter "w", %b: f32[40] parameter "b", %v: f32[24,40] parameter "v",
          %x: f32[s0,3,24] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %m: symint(3*s0) = _operator.mul(%n, 3)
      %rows: f32[3*s0,24] = edge.aten.view_copy.default(%x, [%m,24])
      %wt: f32[24,40] = edge.aten.permute_copy.default(%w, [1,0])
      %h: f32[3*s0,40] = edge.aten.addmm.default(%b, %rows, %wt)
      %hv: f32[s0,3,40] = edge.aten.view_copy.default(%h, [%n,3,40])
      %g: f32[s0,3,40] = edge.aten.gelu.default(%hv)
      %gr: f32[3*s0,40] = edge.aten.view_copy.default(%g, [%m,40])
      %vt: f32[40,24] = edge.aten.permute_copy.default(%v, [1,0])
      %o: f32[3*s0,24] = edge.aten.mm.default(%gr, %vt)
      %back: f32[s0,3,24] = edge.aten.view_copy.default(%o, [%n,3,24])
      %sum: f32[s0,3,24] = edge.aten.add.Tensor(%x, %back)
      %y: f32[s0,3,24] = edge.aten.relu.default(%sum)
      return (%y user_output) } })";

// Every kernel that divides its work, with enough rows, columns and heads for several threads.
constexpr std::string_view kDivisible = R"(program edge {
    constants { state "w": f32[64,16,3,3] state "d": f32[64,1,3,3] state "p": f32[48,64,1,1]
                state "v": f32[1024,2048] state "eight": i8[1024,2048] state "four": i8[520,512]
                state "scale": f32[520,16] state "half": bf16[512,520] }
    graph(%w: f32[64,16,3,3] parameter "w", %d: f32[64,1,3,3] parameter "d",
          %p: f32[48,64,1,1] parameter "p", %v: f32[1024,2048] parameter "v",
          %w8: i8[1024,2048] buffer "eight", %w4: i8[520,512] buffer "four",
          %s4: f32[520,16] buffer "scale", %w16: bf16[512,520] parameter "half",
          %m: f32[90,512] user_input, %x: f32[1,16,40,40] user_input, %row: f32[1,1024] user_input,
          %q: f32[12,50,64] user_input, %k: f32[12,64,70] user_input, %u: f32[12,70,64] user_input) {
      %c: f32[1,64,40,40] = edge.aten.convolution.default(%x, %w, none, [1,1], [1,1], [1,1], false, [0,0], 1)
      %e: f32[1,64,40,40] = edge.aten.convolution.default(%c, %d, none, [1,1], [1,1], [1,1], false, [0,0], 64)
      %o: f32[1,48,40,40] = edge.aten.convolution.default(%e, %p, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      %l: f32[1,2048] = edge.aten.mm.default(%row, %v)
      %d8: f32[1024,2048] = edge.quantized_decomposed.dequantize_per_tensor.default(%w8, 0.5, 3, -128, 127, dtype:i8)
      %l8: f32[1,2048] = edge.aten.mm.default(%row, %d8)
      %d4: f32[520,512] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w4, %s4, none, -8, 7, dtype:i8, 32, dtype:f32)
      %t4: f32[512,520] = edge.aten.permute_copy.default(%d4, [1,0])
      %l4: f32[90,520] = edge.aten.mm.default(%m, %t4)
      %qs: f64[90,1], %qz: i64[90,1] = edge.quantized_decomposed.choose_qparams_per_token_asymmetric.default(%m, dtype:i8)
      %q4: i8[90,512] = edge.quantized_decomposed.quantize_per_token.default(%m, %qs, %qz, -128, 127, dtype:i8)
      %r4: f32[90,512] = edge.quantized_decomposed.dequantize_per_token.default(%q4, %qs, %qz, -128, 127, dtype:i8, dtype:f32)
      %d4q: f32[90,520] = edge.aten.mm.default(%r4, %t4)
      %d16: f32[512,520] = edge.dim_order_ops._to_dim_order_copy.default(%w16, dtype=dtype:f32)
      %l16: f32[90,520] = edge.aten.mm.default(%m, %d16)
      %s: f32[12,50,70] = edge.aten.bmm.default(%q, %k)
      %t: f32[12,50,70] = edge.aten._softmax.default(%s, -1, false)
      %a: f32[12,50,64] = edge.aten.bmm.default(%t, %u)
      return (%o user_output, %l user_output, %l8 user_output, %l4 user_output, %l16 user_output,
              %a user_output, %d4q user_output) } })";

TEST_F(ProgramsTest, ResultsDoNotDependOnThreads) {
  auto lowered = Lower(ParseWithNumbers(kDivisible, *ops_));
  ASSERT_OK(lowered.status());
  auto file = Emit(*std::move(lowered));
  ASSERT_OK(file.status());
  const exir::CallSequence calls = {
      {RandomTensor({90, 512}, random_), RandomTensor({1, 16, 40, 40}, random_),
       RandomTensor({1, 1024}, random_), RandomTensor({12, 50, 64}, random_),
       RandomTensor({12, 64, 70}, random_), RandomTensor({12, 70, 64}, random_)}};
  auto alone = Method::Load(*file, "forward", kernels_, registry_);
  ASSERT_OK(alone.status());
  const auto want = exir::RunCalls(*alone, calls);
  ASSERT_OK(want.back().status);
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    auto method = Method::Load(*file, "forward", kernels_, registry_, {.threads = &pool});
    ASSERT_OK(method.status());
    const auto got = exir::RunCalls(*method, calls);
    ASSERT_OK(got.back().status);
    EXPECT_EQ(exir::FirstDifference(want, got, exir::Closeness{.atol = 0, .rtol = 0}), "")
        << threads;
  }
}

TEST_F(ProgramsTest, PerceptronWithDynamicSizes) {
  ExpectSame(kPerceptron, {{RandomTensor({2, 3, 24}, random_)},
                           {RandomTensor({9, 3, 24}, random_)},
                           {RandomTensor({1, 3, 24}, random_)}});
}

TEST_F(ProgramsTest, ConvolutionsWithResidualGateAndHardswish) {
  ExpectSame(R"(program edge {
    constants { state "stem": f32[20,3,3,3] state "dw": f32[20,1,3,3] state "pw": f32[20,20,1,1]
                state "b": f32[20] state "fc": f32[7,20] constant "three": f32[] }
    graph(%stem: f32[20,3,3,3] parameter "stem", %dw: f32[20,1,3,3] parameter "dw",
          %pw: f32[20,20,1,1] parameter "pw", %b: f32[20] parameter "b",
          %fc: f32[7,20] parameter "fc", %three: f32[] tensor_constant "three",
          %x: f32[2,3,9,8] user_input) {
      %a: f32[2,20,5,4] = edge.aten.convolution.default(%x, %stem, %b, [2,2], [1,1], [1,1], false, [0,0], 1)
      %a3: f32[2,20,5,4] = edge.aten.add.Tensor(%a, %three)
      %al: f32[2,20,5,4] = edge.aten.clamp.default(%a3, 0)
      %ah: f32[2,20,5,4] = edge.aten.clamp.default(%al, max=6)
      %am: f32[2,20,5,4] = edge.aten.mul.Tensor(%a, %ah)
      %as: f32[2,20,5,4] = edge.aten.div.Scalar(%am, 6)
      %d: f32[2,20,5,4] = edge.aten.convolution.default(%as, %dw, none, [1,1], [1,1], [1,1], false, [0,0], 20)
      %r: f32[2,20,5,4] = edge.aten.relu.default(%d)
      %mean: f32[2,20,1,1] = edge.aten.mean.dim(%r, [2,3], true)
      %gate: f32[2,20,1,1] = edge.aten.convolution.default(%mean, %pw, %b, [1,1], [0,0], [1,1], false, [0,0], 1)
      %sig: f32[2,20,1,1] = edge.aten.sigmoid.default(%gate)
      %gated: f32[2,20,5,4] = edge.aten.mul.Tensor(%r, %sig)
      %p: f32[2,20,5,4] = edge.aten.convolution.default(%gated, %pw, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      %res: f32[2,20,5,4] = edge.aten.add.Tensor(%p, %as)
      %flat: f32[2,20] = edge.aten.mean.dim(%res, [2,3])
      %fct: f32[20,7] = edge.aten.permute_copy.default(%fc, [1,0])
      %y: f32[2,7] = edge.aten.mm.default(%flat, %fct)
      return (%y user_output, %res user_output) } })",
             {{RandomTensor({2, 3, 9, 8}, random_)}});
}

// Large enough for a chain. Results of the 1x1 convolution are exact and at most 1/2, so a window's
// sum is within 13 * 2^-24 * 9 / 2 of the exact one.
TEST_F(ProgramsTest, LargeImagesUseChains) {
  constexpr std::string_view kText = R"(program edge {
    constants { state "w": f32[40,40,1,1] state "d": f32[40,1,3,3] state "b": f32[40] }
    graph(%w: f32[40,40,1,1] parameter "w", %d: f32[40,1,3,3] parameter "d",
          %b: f32[40] parameter "b", %x: f32[1,40,64,64] user_input) {
      %p: f32[1,40,64,64] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      %c: f32[1,40,64,64] = edge.aten.clamp.default(%p, 0, 0.5)
      %y: f32[1,40,64,64] = edge.aten.convolution.default(%c, %d, %b, [1,1], [1,1], [1,1], false, [0,0], 40)
      %r: f32[1,40,64,64] = edge.aten.add.Tensor(%y, %x)
      return (%r user_output) } })";
  std::vector<std::string> operators;
  ExpectSame(kText, {{RandomTensor({1, 40, 64, 64}, random_)}}, 3, kClose, &operators);
  EXPECT_THAT(operators, Contains("belay_cpu.conv2d_chain.default"));
}

// Few filters: the phases are channels of one convolution (shuffle_transposed_conv2d).
TEST_F(ProgramsTest, TransposedConvolutionsWithFewFilters) {
  struct Case {
    int kernel, stride, padding, output_padding;
    bool shuffled;
  };
  for (const Case& c : {Case{4, 2, 1, 0, true}, Case{2, 2, 0, 0, true}, Case{3, 3, 0, 0, true},
                        Case{9, 3, 3, 0, true}, Case{5, 3, 1, 0, true}, Case{3, 2, 1, 1, false},
                        Case{5, 2, 2, 1, true}, Case{7, 2, 3, 1, false}, Case{4, 2, 0, 0, true}}) {
    const int height = (5 - 1) * c.stride - 2 * c.padding + c.kernel + c.output_padding;
    const int width = height - c.stride;
    const std::string result = absl::StrCat("f32[2,3,", height, ",", width, "]");
    const std::string weight = absl::StrCat("f32[7,3,", c.kernel, ",", c.kernel, "]");
    SCOPED_TRACE(absl::StrCat(c.kernel, " ", c.stride, " ", c.padding));
    std::vector<std::string> operators;
    ExpectSame(
        absl::StrCat("program edge { constants { state \"w\": ", weight,
                     " state \"b\": f32[3] } graph(%w: ", weight,
                     " parameter \"w\", %b: f32[3] parameter \"b\", %x: f32[2,7,5,4] user_input) {"
                     " %y: ",
                     result, " = edge.aten.convolution.default(%x, %w, %b, [", c.stride, ",",
                     c.stride, "], [", c.padding, ",", c.padding, "], [1,1], true, [",
                     c.output_padding, ",", c.output_padding, "], 1) %r: ", result,
                     " = edge.aten.relu.default(%y) return (%r user_output) } }"),
        {{RandomTensor({2, 7, 5, 4}, random_)}}, 3, kClose, &operators);
    EXPECT_EQ(absl::c_linear_search(operators, "aten.pixel_shuffle.default"), c.shuffled);
  }
}

TEST_F(ProgramsTest, AttentionWithAFullyMaskedRow) {
  ExpectSame(R"(program edge {
    ranges { s0: [1,9] }
    constants { state "w": f32[24,24] state "o": f32[24,24] }
    graph(%w: f32[24,24] parameter "w", %ow: f32[24,24] parameter "o",
          %x: f32[s0,5,24] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %b: symint(3*s0) = _operator.mul(%n, 3)
      %r: symint(5*s0) = _operator.mul(%n, 5)
      %rows: f32[5*s0,24] = edge.aten.view_copy.default(%x, [%r,24])
      %q: f32[5*s0,24] = edge.aten.mm.default(%rows, %w)
      %q4: f32[s0,5,3,8] = edge.aten.view_copy.default(%q, [%n,5,3,8])
      %qh: f32[s0,3,5,8] = edge.aten.permute_copy.default(%q4, [0,2,1,3])
      %x4: f32[s0,5,3,8] = edge.aten.view_copy.default(%x, [%n,5,3,8])
      %kh: f32[s0,3,5,8] = edge.aten.permute_copy.default(%x4, [0,2,1,3])
      %i: i64[5] = edge.aten.arange.start_step(0, 5)
      %row: i64[5,1] = edge.aten.unsqueeze_copy.default(%i, 1)
      %hidden: b8[5,5] = edge.aten.lt.Tensor(%row, %i)
      %first: b8[5,1] = edge.aten.eq.Scalar(%row, 0)
      %unseen: b8[5,5] = edge.aten.logical_or.default(%hidden, %first)
      %low: f32[] = edge.aten.full.default([], -inf)
      %zero: f32[] = edge.aten.full.default([], 0.0)
      %mask: f32[5,5] = edge.aten.where.self(%unseen, %low, %zero)
      %qs: f32[s0,3,5,8] = edge.aten.mul.Scalar(%qh, 0.5)
      %qv: f32[3*s0,5,8] = edge.aten.view_copy.default(%qs, [%b,5,8])
      %kt: f32[s0,3,8,5] = edge.aten.permute_copy.default(%kh, [0,1,3,2])
      %kv: f32[3*s0,8,5] = edge.aten.view_copy.default(%kt, [%b,8,5])
      %p: f32[3*s0,5,5] = edge.aten.bmm.default(%qv, %kv)
      %s: f32[s0,3,5,5] = edge.aten.view_copy.default(%p, [%n,3,5,5])
      %t: f32[s0,3,5,5] = edge.aten.add.Tensor(%s, %mask)
      %soft: f32[s0,3,5,5] = edge.aten._softmax.default(%t, -1, false)
      %eq: b8[s0,3,5,5] = edge.aten.eq.Scalar(%t, -inf)
      %ne: b8[s0,3,5,5] = edge.aten.logical_not.default(%eq)
      %any: b8[s0,3,5,1] = edge.aten.any.dim(%ne, -1, true)
      %none: b8[s0,3,5,1] = edge.aten.logical_not.default(%any)
      %zeros: f32[s0,3,5,5] = edge.aten.full_like.default(%soft, 0)
      %weights: f32[s0,3,5,5] = edge.aten.where.self(%none, %zeros, %soft)
      %wv: f32[3*s0,5,5] = edge.aten.view_copy.default(%weights, [%b,5,5])
      %vv: f32[3*s0,5,8] = edge.aten.view_copy.default(%kh, [%b,5,8])
      %o: f32[3*s0,5,8] = edge.aten.bmm.default(%wv, %vv)
      %o4: f32[s0,3,5,8] = edge.aten.view_copy.default(%o, [%n,3,5,8])
      %oh: f32[s0,5,3,8] = edge.aten.permute_copy.default(%o4, [0,2,1,3])
      %flat: f32[5*s0,24] = edge.aten.view_copy.default(%oh, [%r,24])
      %y: f32[5*s0,24] = edge.aten.mm.default(%flat, %ow)
      %back: f32[s0,5,24] = edge.aten.view_copy.default(%y, [%n,5,24])
      return (%back user_output) } })",
             {{RandomTensor({2, 5, 24}, random_)}, {RandomTensor({7, 5, 24}, random_)}});
}

TEST_F(ProgramsTest, NanPassesThroughBounds) {
  exir::CallSequence calls = {{RandomTensor({1, 3, 24}, random_)}};
  calls[0][0].tensor()->as<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  ExpectSame(kPerceptron, calls);
}

TEST_F(ProgramsTest, FusedInstructionsMapToAllHandles) {
  exir::ExportedProgram program = ParseWithNumbers(kPerceptron, *ops_);
  {
    exir::GraphEditor editor(program.top());
    int64_t handle = 1;
    for (exir::NodeId id : program.top().NodeList()) editor.SetDebugHandle(id, handle++);
  }
  auto lowered = Lower(program);
  ASSERT_OK(lowered.status());
  const exir::DebugHandleMap& map = lowered->lowered_modules[exir::ModuleId(0)]->debug_handle_map;
  // addmm, view and gelu; mm, view, add and relu.
  EXPECT_THAT(map, Contains(Pair(exir::DelegateId(int64_t{5}), ElementsAre(5, 6, 7))));
  EXPECT_THAT(map, Contains(Pair(exir::DelegateId(int64_t{10}), ElementsAre(10, 11, 12, 13))));
}

TEST_F(ProgramsTest, CompilationIsDeterministic) {
  const exir::ExportedProgram program = ParseWithNumbers(kPerceptron, *ops_);
  auto a = Lower(program), b = Lower(program);
  ASSERT_OK(a.status());
  ASSERT_OK(b.status());
  const absl::Span<const std::byte> blob = a->lowered_modules[exir::ModuleId(0)]->processed.bytes;
  EXPECT_EQ(blob, b->lowered_modules[exir::ModuleId(0)]->processed.bytes);
}

// Two methods with the same Linear: x W, and tanh(x W).
exir::MethodPrograms TwoMethods(const exir::OpRegistry& ops) {
  exir::MethodPrograms methods;
  for (const auto& [name, op] : {std::pair("a", "relu"), {"b", "tanh"}}) {
    methods.emplace_back(name, ParseWithNumbers(absl::StrCat(R"(program edge {
    constants { state "w": f32[128,64] }
    graph(%w: f32[128,64] parameter "w", %x: f32[2,128] user_input) {
      %m: f32[2,64] = edge.aten.mm.default(%x, %w)
      %y: f32[2,64] = edge.aten.)",
                                                             op, R"(.default(%m)
      return (%y user_output) } })"),
                                                ops));
  }
  return methods;
}

TEST_F(ProgramsTest, MethodsShareConstantsInTheFile) {
  const exir::MethodPrograms programs = TwoMethods(*ops_);
  const auto partitioner = Aot().create_partitioner({});
  auto lowered = exir::ToBackend(programs, {{"a", partitioner.get()}, {"b", partitioner.get()}},
                                 set_, {.threads = 2});
  ASSERT_OK(lowered.status());
  for (const auto& [name, program] : *lowered) {
    EXPECT_EQ(program.lowered_modules.size(), 1u);
    EXPECT_LT(program.lowered_modules[exir::ModuleId(0)]->processed.bytes.size(), 4096u) << name;
  }
  auto image = exir::EmitProgram(*lowered);
  ASSERT_OK(image.status());
  auto file = exir::OpenImage(*image);
  ASSERT_OK(file.status());
  ASSERT_EQ(file->named_data().size(), 1u);
  EXPECT_EQ(file->named_data()[0].bytes.size(), 128u * 64 * 4);
  EXPECT_OK(VerifyDigests(*file));  // the key is the digest of the segment
  EXPECT_LT(file->bytes().size(), 128u * 64 * 4 + 8192);
  const exir::CallSequence calls = {{RandomTensor({2, 128}, random_)}};
  for (const auto& [name, program] : programs) {
    auto interpreter = exir::Interpreter::Create(program, kernels_);
    ASSERT_OK(interpreter.status());
    auto method = Method::Load(*file, name, kernels_, registry_);
    ASSERT_OK(method.status());
    EXPECT_EQ(exir::FirstDifference(exir::RunCalls(*interpreter, calls),
                                    exir::RunCalls(*method, calls), kClose),
              "");
  }
}

TEST_F(ProgramsTest, NamesAMissingConstant) {
  auto lowered = Lower(TwoMethods(*ops_)[0].second);
  ASSERT_OK(lowered.status());
  const exir::LoweredBackendModule& module = *lowered->lowered_modules[exir::ModuleId(0)];
  const std::string key = module.named_data.program_data.begin()->first;
  EXPECT_THAT(LoadWithDelegate(*lowered, module.processed, {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(key)));
}

TEST_F(ProgramsTest, RejectsOtherCompileSpecs) {
  const exir::ExportedProgram program = ParseWithNumbers(kPerceptron, *ops_);
  const auto lowered = [&](std::vector<exir::CompileSpec> specs) {
    return exir::ToBackend("cpu", program, specs, set_).status();
  };
  EXPECT_OK(lowered({{"precision", "program"}}));
  EXPECT_OK(lowered({{"precision", "bfloat16"}}));
  EXPECT_OK(lowered({{"precision", "winograd"}}));
  EXPECT_OK(lowered({{"precision", "direct"}}));
  const auto is_refused = [](std::string_view why) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why));
  };
  EXPECT_THAT(lowered({{"speed", "yes"}}),
              is_refused("unknown compile spec 'speed'; there is 'precision', once"));
  EXPECT_THAT(lowered({{"precision", "bfloat16"}, {"precision", "program"}}),
              is_refused("unknown compile spec 'precision'; there is 'precision', once"));
  EXPECT_THAT(lowered({{"precision", "float8"}}),
              is_refused("compile spec precision=float8, expected auto or program or bfloat16 or "
                         "winograd or direct or int8"));
}

TEST_F(ProgramsTest, RejectsADamagedBlob) {
  auto lowered = Lower(ParseWithNumbers(kPerceptron, *ops_));
  ASSERT_OK(lowered.status());
  const exir::LoweredBackendModule& module = *lowered->lowered_modules[exir::ModuleId(0)];
  const absl::Span<const std::byte> blob = module.processed.bytes;
  const exir::Storage damaged = exir::Storage::Own({blob.begin(), blob.end() - 64});
  EXPECT_THAT(LoadWithDelegate(*lowered, damaged, module.named_data),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cpu")));
}

// One weight in two packed layouts of equal size.
TEST_F(ProgramsTest, ConvolutionAndDepthwiseShareAWeight) {
  ExpectSame(R"(program edge {
    constants { state "w": f32[24,1,3,3] }
    graph(%w: f32[24,1,3,3] parameter "w", %x: f32[1,1,9,9] user_input) {
      %a: f32[1,24,9,9] = edge.aten.convolution.default(%x, %w, none, [1], [1], [1], false, [0], 1)
      %b: f32[1,24,9,9] = edge.aten.convolution.default(%a, %w, none, [1], [1], [1], false, [0], 24)
      return (%b user_output) } })",
             {{RandomTensor({1, 1, 9, 9}, random_)}});
}

// Working memory is planned for the largest image. Narrower ones have more rows per strip.
TEST_F(ProgramsTest, DepthwiseConvolutionsOfAnyWidth) {
  const auto image = [&](int64_t height, int64_t width) {
    return std::vector<exir::OwnedValue>{RandomTensor({1, 48, height, width}, random_)};
  };
  ExpectSame(
      R"(program edge {
    ranges { s0: [1,50] s1: [1,96] }
    constants { state "w": f32[48,1,3,3] }
    graph(%w: f32[48,1,3,3] parameter "w", %x: f32[1,48,s0,s1] user_input) {
      %y: f32[1,48,s0,s1] = edge.aten.convolution.default(%x, %w, none, [1], [1], [1], false, [0], 48)
      return (%y user_output) } })",
      {image(50, 96), image(50, 64), image(12, 10), image(5, 60), image(50, 2), image(1, 1)});
}

TEST_F(ProgramsTest, CompilationHasLimits) {
  const exir::ExportedProgram program = ParseWithNumbers(kPerceptron, *ops_);
  {
    Budget budget;
    budget.bytes.allowed = 100;
    const Budget::Scope scope(&budget);
    EXPECT_THAT(exir::ToBackend("cpu", program, {}, set_).status(),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'memory'")));
  }
  // Memory planning requires an upper bound of each size.
  exir::ExportedProgram unbounded = program.Clone();
  unbounded.ranges.clear();
  EXPECT_FALSE(exir::ToBackend("cpu", unbounded, {}, set_).ok());
}

}  // namespace
}  // namespace belay::cpu
