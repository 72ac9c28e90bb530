// From edge programs to results: lowered with the CPU partitioner, executed, and compared with the
// interpreter of the program as it was.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "backends/aot_backend.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/engine/call.h"
#include "exir/engine/compare.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/module_data.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/budget.h"
#include "runtime/core/element.h"
#include "runtime/core/random.h"
#include "runtime/core/testing.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/digest.h"
#include "runtime/program/program.h"

namespace belay::cpu {

AotBackend Aot();
std::vector<const BackendRuntime*> Runtimes();

namespace {

using exir::OwnedValue;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr exir::Closeness kClose = {.atol = 1e-5, .rtol = 1e-5};

// Few binary digits, so that sums of a few are exact.
float Draw(Random& random) { return static_cast<float>(random.Next() % 257) / 128 - 1; }

// Of zeros.
OwnedValue Tensor(DType dtype, std::vector<int64_t> sizes) {
  absl::StatusOr<OwnedValue> made = OwnedValue::Allocate(
      dtype, Sizes(sizes), ContiguousStrides(absl::MakeConstSpan(sizes)), uint64_t{1} << 20);
  EXPECT_OK(made.status());
  return *std::move(made);
}

template <class T = float>
OwnedValue RandomTensor(std::vector<int64_t> sizes, Random& random) {
  OwnedValue made = Tensor(DTypeOf<T>, std::move(sizes));
  const TensorView& tensor = *made.tensor();
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.as<T>()[i] = T(Draw(random));
  return made;
}

template <class T, class Element>
exir::ConstantTensor Filled(const exir::ConstantTensor& like, const Element& element) {
  std::vector<std::byte> bytes(like.view().nbytes());
  auto* elements = reinterpret_cast<T*>(bytes.data());
  for (int64_t i = 0; i < like.view().numel(); ++i) elements[i] = element();
  auto made = exir::ConstantTensor::Contiguous(like.dtype(), like.sizes(),
                                               exir::Storage::Own(std::move(bytes)));
  EXPECT_OK(made.status());
  return *std::move(made);
}

// Constants of float32, bfloat16, float16 and int8 have random elements instead of the text's zeros, but for
// scalars, which are `scalar`, and those called "scale…", which are powers of two; those called
// "four…" have four bits.
exir::ExportedProgram Parse(std::string_view text, const exir::OpRegistry& ops, float scalar = 3) {
  exir::ExportedProgram program = exir::ParseOrDie(text, ops);
  Random random(TestSeed());
  for (exir::ConstantMap* map : {&program.state_dict, &program.constants}) {
    for (auto& [name, tensor] : *map) {
      const bool scales = absl::StartsWith(name, "scale");
      if (tensor.dtype() == DType::kInt8) {
        const int64_t most = absl::StartsWith(name, "four") ? 7 : 127;
        tensor = Filled<int8_t>(tensor, [&] {
          return static_cast<int8_t>(int64_t(random.Next() % (2 * most + 1)) - most);
        });
      } else if (tensor.dtype() == DType::kBFloat16) {
        tensor = Filled<BFloat16>(tensor, [&] { return BFloat16(Draw(random)); });
      } else if (tensor.dtype() == DType::kFloat16) {
        tensor = Filled<Half>(tensor, [&] { return Half(Draw(random)); });
      } else if (tensor.dtype() == DType::kFloat32) {
        tensor = Filled<float>(tensor, [&] {
          if (scales) return std::ldexp(1.0f, -6 - static_cast<int>(random.Next() % 3));
          const float drawn = Draw(random);
          return tensor.sizes().empty() ? scalar : drawn;
        });
      }
    }
  }
  return program;
}

class CpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK(AddStandardKernels(kernels_));
    for (const exir::Backend* backend : Aot().backends) ASSERT_OK(set_.Add(backend));
    for (const BackendRuntime* runtime : Runtimes()) ASSERT_OK(registry_.Add(runtime));
  }

  absl::StatusOr<exir::ExportedProgram> Lower(const exir::ExportedProgram& program) {
    return exir::ToBackend(program, *Aot().create_partitioner({}), set_);
  }

  // The file of one method, "forward", opened.
  static absl::StatusOr<Program> Emit(exir::ExportedProgram lowered) {
    exir::MethodPrograms methods;
    methods.emplace_back("forward", std::move(lowered));
    ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods));
    return exir::OpenImage(image);
  }

  // Lowers the program and calls it with each of the inputs; all of it must be in one delegate.
  // Writes the delegate's operators to `operators`.
  void ExpectSame(std::string_view text, const exir::CallSequence& calls, float scalar = 3,
                  const exir::Closeness& closeness = kClose,
                  std::vector<std::string>* operators = nullptr) {
    const exir::ExportedProgram program = Parse(text, *ops_, scalar);
    auto interpreter = exir::Interpreter::Create(program, kernels_);
    ASSERT_OK(interpreter.status());
    auto lowered = Lower(program);
    ASSERT_OK(lowered.status());
    EXPECT_EQ(lowered->top().num_nodes(), 1u) << exir::PrintProgram(*lowered);
    if (operators != nullptr) *operators = OperatorsOf(*lowered);
    auto file = Emit(*std::move(lowered));
    ASSERT_OK(file.status());
    auto method = Method::Load(*file, "forward", kernels_, registry_);
    ASSERT_OK(method.status());
    const auto want = exir::RunCalls(*interpreter, calls);
    ASSERT_OK(want.back().status);
    const auto got = exir::RunCalls(*method, calls);
    ASSERT_OK(got.back().status);
    EXPECT_EQ(exir::FirstDifference(want, got, closeness), "");
  }

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

  // Of the first delegate, ascending.
  static std::vector<std::string> OperatorsOf(const exir::ExportedProgram& lowered) {
    const exir::LoweredBackendModule& module = *lowered.lowered_modules[exir::ModuleId(0)];
    const exir::ModuleData named_data(module.named_data);
    Program::Options options;
    options.named_data = &named_data;
    auto program = Program::OpenBytes(module.processed.owner, module.processed.bytes, options);
    EXPECT_OK(program.status());
    std::vector<std::string> operators = program->methods()[0].operators;
    std::sort(operators.begin(), operators.end());
    return operators;
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry kernels_;
  exir::BackendSet set_;
  BackendRegistry registry_;
  Random random_{TestSeed(), 1};
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

// Rows, columns and heads of every kernel that divides its work, each enough for several threads.
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

TEST_F(CpuTest, ThreadsChangeNoBit) {
  auto lowered = Lower(Parse(kDivisible, *ops_));
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
    EXPECT_EQ(exir::FirstDifference(want, got, {.atol = 0, .rtol = 0}), "") << threads;
  }
}

TEST_F(CpuTest, PerceptronOfAnySize) {
  ExpectSame(kPerceptron, {{RandomTensor({2, 3, 24}, random_)},
                           {RandomTensor({9, 3, 24}, random_)},
                           {RandomTensor({1, 3, 24}, random_)}});
}

TEST_F(CpuTest, ConvolutionsWithResidualGateAndHardswish) {
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

// Large enough for a chain. What the product gives is exact and at most a half, so that a sum of the
// window is within 13 * 2^-24 * 9 / 2 of the true one.
TEST_F(CpuTest, LargeImagesGoThroughChains) {
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

// As PT2E makes them: everything between two operators is quantized. Scales are powers of two, so
// that float32 computes the same sums exactly.
TEST_F(CpuTest, QuantizedConvolutionsComputeOnBytes) {
  const std::string text = absl::StrReplaceAll(
      R"(program edge {
    constants { state "stem": i8[24,3,3,3] state "dw": i8[24,1,3,3] state "pw": i8[24,24,1,1]
                state "fc": i8[7,24] state "b": f32[24] state "c": f32[7]
                state "scale": f32[24] state "scale_fc": f32[7] state "zero": i64[24] }
    graph(%stem: i8[24,3,3,3] buffer "stem", %dw: i8[24,1,3,3] buffer "dw",
          %pw: i8[24,24,1,1] buffer "pw", %fc: i8[7,24] buffer "fc", %b: f32[24] parameter "b",
          %c: f32[7] parameter "c", %s: f32[24] buffer "scale", %sf: f32[7] buffer "scale_fc",
          %z: i64[24] buffer "zero", %x: f32[2,3,17,16] user_input) {
      %q0: i8[2,3,17,16] = Q(%x, 0.0078125, 3, -128, 127, dtype:i8)
      %d0: f32[2,3,17,16] = D(%q0, 0.0078125, 3, -128, 127, dtype:i8)
      %w0: f32[24,3,3,3] = C(%stem, %s, %z, 0, -127, 127, dtype:i8)
      %y0: f32[2,24,9,8] = edge.aten.convolution.default(%d0, %w0, %b, [2,2], [1,1], [1,1], false, [0,0], 1)
      %r0: f32[2,24,9,8] = edge.aten.relu.default(%y0)
      %q1: i8[2,24,9,8] = Q(%r0, 0.0625, -128, -128, 127, dtype:i8)
      %d1: f32[2,24,9,8] = D(%q1, 0.0625, -128, -128, 127, dtype:i8)
      %m: f32[2,24,5,4], %i: i64[2,24,5,4] = edge.aten.max_pool2d_with_indices.default(%d1, [3,3], [2,2], [1,1])
      %q2: i8[2,24,5,4] = Q(%m, 0.0625, -128, -128, 127, dtype:i8)
      %d2: f32[2,24,5,4] = D(%q2, 0.0625, -128, -128, 127, dtype:i8)
      %d2b: f32[2,24,5,4] = D(%q2, 0.0625, -128, -128, 127, dtype:i8)
      %p: f32[2,24,7,6] = edge.aten.constant_pad_nd.default(%d2, [1,1,1,1], 0.0)
      %q3: i8[2,24,7,6] = Q(%p, 0.03125, -128, -128, 127, dtype:i8)
      %d3: f32[2,24,7,6] = D(%q3, 0.03125, -128, -128, 127, dtype:i8)
      %w1: f32[24,1,3,3] = C(%dw, %s, %z, 0, -127, 127, dtype:i8)
      %y1: f32[2,24,5,4] = edge.aten.convolution.default(%d3, %w1, none, [1,1], [0,0], [1,1], false, [0,0], 24)
      %q4: i8[2,24,5,4] = Q(%y1, 0.125, -5, -128, 127, dtype:i8)
      %d4: f32[2,24,5,4] = D(%q4, 0.125, -5, -128, 127, dtype:i8)
      %h: f32[2,24,5,4] = edge.aten.hardtanh.default(%d4, 0.0, 6.0)
      %q5: i8[2,24,5,4] = Q(%h, 0.125, -5, -128, 127, dtype:i8)
      %d5: f32[2,24,5,4] = D(%q5, 0.125, -5, -128, 127, dtype:i8)
      %q6: i8[2,24,5,4] = Q(%d5, 0.0234375, -128, -128, 127, dtype:i8)
      %d6: f32[2,24,5,4] = D(%q6, 0.0234375, -128, -128, 127, dtype:i8)
      %w2: f32[24,24,1,1] = C(%pw, %s, %z, 0, -127, 127, dtype:i8)
      %y2: f32[2,24,5,4] = edge.aten.convolution.default(%d6, %w2, %b, [1,1], [0,0], [1,1], false, [0,0], 1)
      %q7: i8[2,24,5,4] = Q(%y2, 0.25, 7, -128, 127, dtype:i8)
      %d7: f32[2,24,5,4] = D(%q7, 0.25, 7, -128, 127, dtype:i8)
      %a: f32[2,24,5,4] = edge.aten.add.Tensor(%d7, %d2b)
      %r: f32[2,24,5,4] = edge.aten.relu.default(%a)
      %q8: i8[2,24,5,4] = Q(%r, 0.125, -128, -128, 127, dtype:i8)
      %d8: f32[2,24,5,4] = D(%q8, 0.125, -128, -128, 127, dtype:i8)
      %v: f32[2,24,1,1] = edge.aten.amax.default(%d8, [2,3], true)
      %q8b: i8[2,24,1,1] = Q(%v, 0.125, -128, -128, 127, dtype:i8)
      %d8b: f32[2,24,1,1] = D(%q8b, 0.125, -128, -128, 127, dtype:i8)
      %n: f32[2,24,1,1] = edge.aten.neg.default(%d8b)
      %o: f32[2,24,1,1] = edge.aten.add.Scalar(%n, 1)
      %q9: i8[2,24,1,1] = Q(%o, 0.125, 120, -128, 127, dtype:i8)
      %d9: f32[2,24,1,1] = D(%q9, 0.125, 120, -128, 127, dtype:i8)
      %f: f32[2,24] = edge.aten.view_copy.default(%d9, [2,24])
      %q10: i8[2,24] = Q(%f, 0.125, 120, -128, 127, dtype:i8)
      %d10: f32[2,24] = D(%q10, 0.125, 120, -128, 127, dtype:i8)
      %w3: f32[7,24] = C(%fc, %sf, none, 0, -127, 127, dtype:i8)
      %t: f32[24,7] = edge.aten.permute_copy.default(%w3, [1,0])
      %y3: f32[2,7] = edge.aten.addmm.default(%c, %d10, %t)
      %q11: i8[2,7] = Q(%y3, 1.5, 7, -128, 127, dtype:i8)
      %d11: f32[2,7] = D(%q11, 1.5, 7, -128, 127, dtype:i8)
      return (%d11 user_output, %d8 user_output) } })",
      {{"Q(", "edge.quantized_decomposed.quantize_per_tensor.default("},
       {"D(", "edge.quantized_decomposed.dequantize_per_tensor.default("},
       {"C(", "edge.quantized_decomposed.dequantize_per_channel.default("}});
  std::vector<std::string> operators;
  ExpectSame(text,
             {{RandomTensor({2, 3, 17, 16}, random_)}, {RandomTensor({2, 3, 17, 16}, random_)}}, 3,
             exir::kSameBits, &operators);
  EXPECT_THAT(
      operators,
      ElementsAre("aten.amax.default", "belay_cpu.lookup.default", "belay_cpu.max_pool2d.default",
                  "belay_cpu.quantized_add.default", "belay_cpu.quantized_conv2d.default",
                  "belay_cpu.quantized_depthwise_conv2d.default",
                  "belay_cpu.quantized_linear.default", "dim_order_ops._to_dim_order_copy.default",
                  "quantized_decomposed.dequantize_per_tensor.default",
                  "quantized_decomposed.quantize_per_tensor.default"));
}

// Two layers, per channel and in groups, of 1, 3 and 27 rows, and one of bfloat16.
TEST_F(CpuTest, WeightsOfFewBitsStayOfFewBits) {
  std::vector<std::string> operators;
  ExpectSame(R"(program edge {
    ranges { s0: [1,9] }
    constants { state "eight": i8[32,24] state "b": f32[32] state "scale": f32[32]
                state "zero": i64[32] state "four": i8[30,32] state "scale_four": f32[30,2]
                state "half": bf16[8,30] }
    graph(%w: i8[32,24] buffer "eight", %b: f32[32] parameter "b", %s: f32[32] buffer "scale",
          %z: i64[32] buffer "zero", %v: i8[30,32] buffer "four", %t: f32[30,2] buffer "scale_four",
          %h: bf16[8,30] parameter "half", %x: f32[s0,3,24] user_input, %one: f32[1,24] user_input,
          %u: f32[1,8] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %m: symint(3*s0) = _operator.mul(%n, 3)
      %rows: f32[3*s0,24] = edge.aten.view_copy.default(%x, [%m,24])
      %wd: f32[32,24] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, %z, 0, -127, 127, dtype:i8)
      %wt: f32[24,32] = edge.aten.permute_copy.default(%wd, [1,0])
      %a: f32[3*s0,32] = edge.aten.addmm.default(%b, %rows, %wt)
      %av: f32[s0,3,32] = edge.aten.view_copy.default(%a, [%n,3,32])
      %g: f32[s0,3,32] = edge.aten.gelu.default(%av)
      %gr: f32[3*s0,32] = edge.aten.view_copy.default(%g, [%m,32])
      %vd: f32[30,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%v, %t, none, -8, 7, dtype:i8, 16, dtype:f32)
      %vt: f32[32,30] = edge.aten.permute_copy.default(%vd, [1,0])
      %o: f32[3*s0,30] = edge.aten.mm.default(%gr, %vt)
      %r: f32[3*s0,30] = edge.aten.relu.default(%o)
      %hd: f32[8,30] = edge.dim_order_ops._to_dim_order_copy.default(%h, dtype=dtype:f32)
      %p: f32[1,30] = edge.aten.mm.default(%u, %hd)
      %sum: f32[3*s0,30] = edge.aten.add.Tensor(%p, %r)
      %q: f32[1,32] = edge.aten.mm.default(%one, %wt)
      return (%sum user_output, %q user_output) } })",
             {{RandomTensor({1, 3, 24}, random_), RandomTensor({1, 24}, random_),
               RandomTensor({1, 8}, random_)},
              {RandomTensor({9, 3, 24}, random_), RandomTensor({1, 24}, random_),
               RandomTensor({1, 8}, random_)}},
             3, kClose, &operators);
  EXPECT_THAT(operators, Contains("belay_cpu.weight_only_linear.default"));
  EXPECT_THAT(operators, Not(Contains(HasSubstr("dequantize"))));
  EXPECT_THAT(operators, Not(Contains(HasSubstr("gelu"))));
}

// Two layers: rows of any number with weights in groups behind reshapes and with a gate, and one scale
// for a whole input with weights by channels and a bias.
TEST_F(CpuTest, InputsThatAreQuantizedAtRunTimeMeetBytes) {
  std::vector<std::string> operators;
  ExpectSame(R"(program edge {
    ranges { s0: [1,9] }
    constants { state "four": i8[30,32] state "scale_four": f32[30,2] state "eight": i8[20,30]
                state "scale": f32[20] state "b": f32[20] }
    graph(%v: i8[30,32] buffer "four", %t: f32[30,2] buffer "scale_four",
          %w: i8[20,30] buffer "eight", %s: f32[20] buffer "scale", %b: f32[20] parameter "b",
          %x: f32[s0,3,32] user_input, %gate: f32[s0,3,30] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %m: symint(3*s0) = _operator.mul(%n, 3)
      %xs: f64[s0,3,1], %xz: i64[s0,3,1] = edge.quantized_decomposed.choose_qparams_per_token_asymmetric.default(%x, dtype:i8)
      %q: i8[s0,3,32] = edge.quantized_decomposed.quantize_per_token.default(%x, %xs, %xz, -128, 127, dtype:i8)
      %d: f32[s0,3,32] = edge.quantized_decomposed.dequantize_per_token.default(%q, %xs, %xz, -128, 127, dtype:i8, dtype:f32)
      %rows: f32[3*s0,32] = edge.aten.view_copy.default(%d, [%m,32])
      %vd: f32[30,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%v, %t, none, -8, 7, dtype:i8, 16, dtype:f32)
      %vt: f32[32,30] = edge.aten.permute_copy.default(%vd, [1,0])
      %o: f32[3*s0,30] = edge.aten.mm.default(%rows, %vt)
      %ov: f32[s0,3,30] = edge.aten.view_copy.default(%o, [%n,3,30])
      %sig: f32[s0,3,30] = edge.aten.sigmoid.default(%ov)
      %gated: f32[s0,3,30] = edge.aten.mul.Tensor(%sig, %gate)
      %g: f32[3*s0,30] = edge.aten.view_copy.default(%gated, [%m,30])
      %gs: f64[1], %gz: i64[1] = edge.quantized_decomposed.choose_qparams.tensor(%g, 0, 255, 1e-07, dtype:u8)
      %gq: u8[3*s0,30] = edge.quantized_decomposed.quantize_per_tensor.tensor(%g, %gs, %gz, 0, 255, dtype:u8)
      %gd: f32[3*s0,30] = edge.quantized_decomposed.dequantize_per_tensor.tensor(%gq, %gs, %gz, 0, 255, dtype:u8)
      %wd: f32[20,30] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, none, 0, -127, 127, dtype:i8)
      %wt: f32[30,20] = edge.aten.permute_copy.default(%wd, [1,0])
      %y: f32[3*s0,20] = edge.aten.addmm.default(%b, %gd, %wt)
      %r: f32[3*s0,20] = edge.aten.relu.default(%y)
      return (%gated user_output, %r user_output) } })",
             {{RandomTensor({1, 3, 32}, random_), RandomTensor({1, 3, 30}, random_)},
              {RandomTensor({9, 3, 32}, random_), RandomTensor({9, 3, 30}, random_)}},
             3, kClose, &operators);
  EXPECT_THAT(operators, Contains("belay_cpu.dynamic_quantized_linear.default"));
  EXPECT_THAT(operators, Not(Contains(HasSubstr("dequantize"))));
  EXPECT_THAT(operators, Not(Contains(HasSubstr("sigmoid"))));
  EXPECT_THAT(operators, Not(Contains("aten.mm.default")));
}

TEST_F(CpuTest, AZeroPointThatNoByteIsNamed) {
  const exir::ExportedProgram program = Parse(R"(program edge {
    constants { state "eight": i8[4,8] state "scale": f32[4] }
    graph(%w: i8[4,8] buffer "eight", %s: f32[4] buffer "scale", %q: i8[2,8] user_input,
          %xs: f32[2,1] user_input, %xz: i64[2,1] user_input) {
      %d: f32[2,8] = edge.quantized_decomposed.dequantize_per_token.default(%q, %xs, %xz, -128, 127, dtype:i8, dtype:f32)
      %wd: f32[4,8] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, none, 0, -127, 127, dtype:i8)
      %wt: f32[8,4] = edge.aten.permute_copy.default(%wd, [1,0])
      %y: f32[2,4] = edge.aten.mm.default(%d, %wt)
      return (%y user_output) } })",
                                              *ops_);
  auto lowered = Lower(program);
  ASSERT_OK(lowered.status());
  auto file = Emit(*std::move(lowered));
  ASSERT_OK(file.status());
  auto method = Method::Load(*file, "forward", kernels_, registry_);
  ASSERT_OK(method.status());
  OwnedValue zeros = Tensor(DType::kInt64, {2, 1});
  zeros.tensor()->as<int64_t>()[1] = 128;
  const auto results = exir::RunCalls(
      *method, {{Tensor(DType::kInt8, {2, 8}), RandomTensor({2, 1}, random_), std::move(zeros)}});
  EXPECT_THAT(results.back().status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("input_zeros: expected numbers from -128 to 127, got 128")));
}

TEST_F(CpuTest, ProgramsOfBFloat16AndFloat16SumInFloat32) {
  for (const auto& [dtype, linear] : {std::pair("bf16", "belay_cpu.weight_only_linear.default"),
                                      std::pair("f16", "belay_cpu.linear.default")}) {
    const std::string text = absl::StrReplaceAll(
        R"(program edge {
    constants { state "w": T[16,3,3,3] state "b": T[16] state "v": T[20,16] state "c": T[20] }
    graph(%w: T[16,3,3,3] parameter "w", %b: T[16] parameter "b", %v: T[20,16] parameter "v",
          %c: T[20] parameter "c", %x: T[1,3,9,8] user_input, %k: T[1,20,4] user_input) {
      %f: T[1,16,9,8] = edge.aten.convolution.default(%x, %w, %b, [1,1], [1,1], [1,1], false, [0,0], 1)
      %r: T[1,16,9,8] = edge.aten.relu.default(%f)
      %p: T[1,9,8,16] = edge.aten.permute_copy.default(%r, [0,2,3,1])
      %rows: T[72,16] = edge.aten.view_copy.default(%p, [72,16])
      %t: T[16,20] = edge.aten.permute_copy.default(%v, [1,0])
      %y: T[72,20] = edge.aten.addmm.default(%c, %rows, %t)
      %q: T[1,72,20] = edge.aten.view_copy.default(%y, [1,72,20])
      %z: T[1,72,4] = edge.aten.bmm.default(%q, %k)
      return (%z user_output) } })",
        {{"T[", absl::StrCat(dtype, "[")}});
    exir::CallSequence calls(1);
    if (std::string_view(dtype) == "bf16") {
      calls[0].push_back(RandomTensor<BFloat16>({1, 3, 9, 8}, random_));
      calls[0].push_back(RandomTensor<BFloat16>({1, 20, 4}, random_));
    } else {
      calls[0].push_back(RandomTensor<Half>({1, 3, 9, 8}, random_));
      calls[0].push_back(RandomTensor<Half>({1, 20, 4}, random_));
    }
    std::vector<std::string> operators;
    // A sum that lies in the middle of two numbers is rounded to either.
    ExpectSame(text, calls, 3, {.atol = 0.05, .rtol = 0.02}, &operators);
    EXPECT_THAT(operators, Contains(linear));
    EXPECT_THAT(operators, Contains("belay_cpu.conv2d.default"));
    EXPECT_THAT(operators, Not(Contains("aten.convolution.default")));
  }
}

TEST_F(CpuTest, AttentionWithAMaskThatHidesARow) {
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

TEST_F(CpuTest, NotANumberGoesThroughBounds) {
  exir::CallSequence calls = {{RandomTensor({1, 3, 24}, random_)}};
  calls[0][0].tensor()->as<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  ExpectSame(kPerceptron, calls);
}

TEST_F(CpuTest, FusedInstructionsHaveTheHandlesOfAllTheirNodes) {
  exir::ExportedProgram program = Parse(kPerceptron, *ops_);
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

TEST_F(CpuTest, TheSameProgramGivesTheSameBlob) {
  const exir::ExportedProgram program = Parse(kPerceptron, *ops_);
  auto a = Lower(program), b = Lower(program);
  ASSERT_OK(a.status());
  ASSERT_OK(b.status());
  const absl::Span<const std::byte> blob = a->lowered_modules[exir::ModuleId(0)]->processed.bytes;
  EXPECT_EQ(blob, b->lowered_modules[exir::ModuleId(0)]->processed.bytes);
}

// Two methods of one Linear: x W, and tanh(x W).
exir::MethodPrograms TwoMethods(const exir::OpRegistry& ops) {
  exir::MethodPrograms methods;
  for (const auto& [name, op] : {std::pair("a", "relu"), {"b", "tanh"}}) {
    methods.emplace_back(name, Parse(absl::StrCat(R"(program edge {
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

TEST_F(CpuTest, MethodsShareConstantsInTheFile) {
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
  EXPECT_OK(VerifyDigests(*file));  // the key's digest is the segment's
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

TEST_F(CpuTest, AMissingConstantIsNamed) {
  auto lowered = Lower(TwoMethods(*ops_)[0].second);
  ASSERT_OK(lowered.status());
  const exir::LoweredBackendModule& module = *lowered->lowered_modules[exir::ModuleId(0)];
  const std::string key = module.named_data.program_data.begin()->first;
  EXPECT_THAT(LoadWithDelegate(*lowered, module.processed, {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(key)));
}

TEST_F(CpuTest, ThereAreNoCompileSpecs) {
  const exir::ExportedProgram program = Parse(kPerceptron, *ops_);
  const std::vector<exir::CompileSpec> specs = {{"speed", "yes"}};
  EXPECT_THAT(exir::ToBackend("cpu", program, specs, set_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("compile spec 'speed'")));
}

TEST_F(CpuTest, ADamagedBlobIsRefused) {
  auto lowered = Lower(Parse(kPerceptron, *ops_));
  ASSERT_OK(lowered.status());
  const exir::LoweredBackendModule& module = *lowered->lowered_modules[exir::ModuleId(0)];
  const absl::Span<const std::byte> blob = module.processed.bytes;
  const exir::Storage damaged = exir::Storage::Own({blob.begin(), blob.end() - 64});
  EXPECT_THAT(LoadWithDelegate(*lowered, damaged, module.named_data),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cpu")));
}

// One weight, packed as a product's columns and by channels: both take as many floats.
TEST_F(CpuTest, AWeightThatAConvolutionAndADepthwiseOneShare) {
  ExpectSame(R"(program edge {
    constants { state "w": f32[24,1,3,3] }
    graph(%w: f32[24,1,3,3] parameter "w", %x: f32[1,1,9,9] user_input) {
      %a: f32[1,24,9,9] = edge.aten.convolution.default(%x, %w, none, [1], [1], [1], false, [0], 1)
      %b: f32[1,24,9,9] = edge.aten.convolution.default(%a, %w, none, [1], [1], [1], false, [0], 24)
      return (%b user_output) } })",
             {{RandomTensor({1, 1, 9, 9}, random_)}});
}

TEST_F(CpuTest, CompilingHasLimits) {
  const exir::ExportedProgram program = Parse(kPerceptron, *ops_);
  {
    Budget budget;
    budget.bytes.allowed = 100;
    const Budget::Scope scope(&budget);
    EXPECT_THAT(exir::ToBackend("cpu", program, {}, set_).status(),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'memory'")));
  }
  // Memory is planned: each size has a bound.
  exir::ExportedProgram unbounded = program.Clone();
  unbounded.ranges.clear();
  EXPECT_FALSE(exir::ToBackend("cpu", unbounded, {}, set_).ok());
}

}  // namespace
}  // namespace belay::cpu
