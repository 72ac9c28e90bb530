// Executes hand-written chain blobs, and rejects invalid blobs and calls.
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/demo/executorch_backends.h"
#include "backends/demo/executorch_runtimes.h"
#include "backends/demo/separate_memory_backend.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/test_named_data.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/test_outputs.h"

namespace belay::demo {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::string BytesOf(const std::vector<float>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
}

EValue Tensor(std::vector<int64_t> sizes, std::vector<float>* data = nullptr) {
  return TensorView::Contiguous(DType::kFloat32, sizes, data == nullptr ? nullptr : data->data());
}

struct Loading {
  std::vector<EValue> arguments = {Tensor({2})};
  std::vector<EValue> outputs = {Tensor({2})};
  TestNamedData data = {};
  std::vector<CompileSpecView> specs = {};
  uint64_t memory_bytes = 1 << 20;
};

absl::StatusOr<std::unique_ptr<DelegateHandle>> Load(const BackendRuntime& runtime,
                                                     std::string_view blob,
                                                     const Loading& loading = {}) {
  std::vector<const EValue*> arguments, outputs;
  for (const EValue& argument : loading.arguments) arguments.push_back(&argument);
  for (const EValue& output : loading.outputs) outputs.push_back(&output);
  MemoryBudget memory("delegate_bytes", loading.memory_bytes);
  const DelegateInitContext context{.method = "forward",
                                    .compile_specs = loading.specs,
                                    .named_data = &loading.data,
                                    .arguments = arguments,
                                    .outputs = outputs,
                                    .memory = &memory};
  return runtime.Init(context, {reinterpret_cast<const std::byte*>(blob.data()), blob.size()});
}

absl::StatusOr<std::vector<float>> Call(DelegateHandle& handle, std::vector<EValue> arguments) {
  std::vector<EValue*> pointers;
  for (EValue& argument : arguments) pointers.push_back(&argument);
  EValue output = Tensor({1});
  EValue* outputs[] = {&output};
  FreshOutputs allocator;
  KernelContext context(pointers, outputs, &allocator, {});
  ABSL_RETURN_IF_ERROR(handle.Execute(context));
  return ToVector<float>(*output.get_if<TensorView>());
}

const PreprocessAllDemoRuntime& First() {
  static const auto& runtime = *new PreprocessAllDemoRuntime("FirstBackendWithPreprocessAll");
  return runtime;
}
std::string Ops(std::string_view ops) {
  return "FirstBackendWithPreprocessAll#1#" + std::string(ops) + "#";
}

TEST(ChainBlobsTest, EvaluatesInstructionsInOrder) {
  std::vector<float> x = {1, 2}, y = {4, 8};
  const auto computed = [&](std::string_view ops, std::vector<EValue> arguments) {
    Loading loading;
    loading.data.entries["c"] = BytesOf({3, 5});
    loading.arguments = arguments;
    const auto handle = Load(First(), Ops(ops), loading);
    EXPECT_OK(handle.status());
    return handle.ok() ? Call(**handle, arguments).value() : std::vector<float>();
  };
  EXPECT_THAT(computed("aten.cos.default", {Tensor({2}, &x)}),
              ElementsAre(FloatEq(std::cos(1.0f)), FloatEq(std::cos(2.0f))));
  EXPECT_THAT(computed("CONSTc+aten.mul.Tensor", {Tensor({2}, &x)}), ElementsAre(3, 10));
  EXPECT_THAT(computed("CONSTc+aten.sub.Tensor", {Tensor({2}, &x)}), ElementsAre(-2, -3));
  EXPECT_THAT(computed("aten.div.Tensor", {Tensor({2}, &x), Tensor({2}, &y)}),
              ElementsAre(0.25, 0.25));
  // Constants before arguments.
  EXPECT_THAT(
      computed("CONSTc+aten.add.Tensor+aten.mul.Tensor", {Tensor({2}, &x), Tensor({2}, &y)}),
      ElementsAre(16, 56));
}

TEST(ChainBlobsTest, ChecksConstantSizes) {
  Loading loading;
  loading.data.entries["c"] = BytesOf({3});
  EXPECT_THAT(Load(First(), Ops("CONSTc+aten.add.Tensor"), loading),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("constant 0 of 4 bytes does not fit 2 elements")));
  loading.data.entries["c"] = BytesOf({3, 5});
  EXPECT_THAT(Load(First(), Ops("CONSTc+aten.mm.default"), loading),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("constant 0")));
  EXPECT_THAT(Load(First(), Ops("CONSTc+aten.sin.default"), loading),
              StatusIs(kInvalid, HasSubstr("0 second operands and 1 constants")));
  // Without elements.
  loading.data.entries["c"] = BytesOf({});
  loading.arguments = loading.outputs = {Tensor({0})};
  ASSERT_OK_AND_ASSIGN(const auto handle, Load(First(), Ops("CONSTc+aten.add.Tensor"), loading));
  EXPECT_TRUE(Call(*handle, {Tensor({0})}).value().empty());
}

TEST(ChainBlobsTest, RejectsMismatchedCalls) {
  const auto refused = [](const Loading& loading, const char* message) {
    EXPECT_THAT(Load(First(), Ops("aten.sin.default"), loading),
                StatusIs(kInvalid, HasSubstr(message)));
  };
  refused({.arguments = {}}, "the call's first argument is not a tensor");
  refused({.arguments = {EValue(int64_t{3})}}, "the call's first argument is not a tensor");
  refused({.arguments = {Tensor({2}), Tensor({2})}}, "the call has 2 arguments");
  refused({.outputs = {}}, "and 0 outputs");
  refused({.outputs = {Tensor({2}), Tensor({2})}}, "and 2 outputs");
  Loading none;
  none.arguments = {};
  none.data.entries["s"] = "op:aten.sin.default";
  EXPECT_THAT(Load(NamedDataDemoRuntime(), "s", none),
              StatusIs(kInvalid, HasSubstr("the call's first argument is not a tensor")));
}

TEST(ChainBlobsTest, ChargesMemoryToTheBudget) {
  Loading loading;
  loading.data.entries["c"] = BytesOf(std::vector<float>(256, 1));
  loading.arguments = loading.outputs = {Tensor({256})};
  uint64_t least = 0;
  for (;; least += 64) {
    loading.memory_bytes = least;
    const absl::Status status = Load(First(), Ops("CONSTc+aten.add.Tensor"), loading).status();
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  }
  // The constant, and two results.
  EXPECT_GE(least, 3 * 256 * sizeof(float));
  EXPECT_LE(least, 3 * 256 * sizeof(float) + 8192);
}

TEST(ChainBlobsTest, RejectsArgumentsOfOtherTypesOrSizes) {
  ASSERT_OK_AND_ASSIGN(const auto sum, Load(First(), Ops("aten.add.Tensor"),
                                            {.arguments = {Tensor({2}), Tensor({2})}}));
  std::vector<float> x = {1, 2, 3, 4};
  const auto refused = [&](std::vector<EValue> arguments, const char* message) {
    EXPECT_THAT(Call(*sum, arguments), StatusIs(kInvalid, HasSubstr(message)));
  };
  const EValue good = Tensor({2}, &x);
  refused({good}, "expected 2 arguments and 1 outputs");
  refused({EValue(int64_t{3}), good}, "argument 0");
  refused({good, EValue(int64_t{3})}, "argument 1");
  refused({TensorView::Contiguous(DType::kInt32, {2}, x.data()), good},
          "argument 0 is i32[2], expected a contiguous f32");
  TensorView gaps = TensorView::Contiguous(DType::kFloat32, {2}, x.data());
  gaps.strides[0] = 2;
  refused({good, EValue(gaps)}, "expected a contiguous f32");
  refused({good, Tensor({1, 2}, &x)}, "sizes [2] and [1,2] do not fit");
  refused({Tensor({3}, &x), Tensor({3}, &x)},
          "the result [3] has not the 2 elements that it was compiled for");
  EXPECT_THAT(Call(*sum, {good, good}).value(), ElementsAre(2, 4));
}

constexpr std::string_view kProduct =
    "1version:0#op:demo::aten.mm.default, numel:4, dtype:torch.float32<debug_handle>1#";

TEST(ChainBlobsTest, MatmulRequiresMatrices) {
  ASSERT_OK_AND_ASSIGN(const auto product, Load(CompilerDemoRuntime(), kProduct,
                                                {.arguments = {Tensor({2, 2}), Tensor({2, 2})},
                                                 .outputs = {Tensor({2, 2})}}));
  std::vector<float> x = {1, 2, 3, 4};
  EXPECT_THAT(Call(*product, {Tensor({2, 2}, &x), Tensor({2, 2}, &x)}).value(),
              ElementsAre(7, 10, 15, 22));
  for (const auto& [a, b] : {std::pair(Sizes({4}), Sizes({2, 2})),
                             {Sizes({2, 2}), Sizes({4})},
                             {Sizes({2, 2}), Sizes({1, 4})}}) {
    EXPECT_THAT(Call(*product, {TensorView::Contiguous(DType::kFloat32, a, x.data()),
                                TensorView::Contiguous(DType::kFloat32, b, x.data())}),
                StatusIs(kInvalid, HasSubstr("do not fit")));
  }
  // 2 · 2 · 2 multiply-adds.
  for (const uint64_t allowed : {7, 8}) {
    EValue a = Tensor({2, 2}, &x), output = Tensor({1});
    EValue *arguments[] = {&a, &a}, *outputs[] = {&output};
    FreshOutputs allocator;
    KernelContext context(arguments, outputs, &allocator, {});
    Budget budget;
    budget.work.allowed = allowed;
    EXPECT_EQ(product->ExecuteWithin(context, budget).code(),
              allowed < 8 ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk);
  }
}

TEST(ChainBlobsTest, IgnoresOtherCompileSpecs) {
  Loading loading{.arguments = {Tensor({2, 2}), Tensor({2, 2})}, .outputs = {Tensor({2, 2})}};
  const auto with = [&](std::string_view key, std::string_view value) {
    loading.specs = {CompileSpecView{.key = key, .value = value}};
    return Load(CompilerDemoRuntime(), kProduct, loading).status();
  };
  EXPECT_OK(with("max_value", "\x04"));
  EXPECT_THAT(with("max_value", "\x03"),
              StatusIs(kInvalid, HasSubstr("a result has 4 elements, max_value is 3")));
  EXPECT_OK(with("max_value", "\x03\x03"));
  EXPECT_OK(with("least_value", "\x03"));
}

TEST(ChainBlobsTest, RejectsMalformedNumbersAndNames) {
  EXPECT_THAT(Load(CompilerDemoRuntime(), "-1version:0#"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("malformed at byte 0")));
  Loading loading;
  loading.data.entries["tan"] = "op:aten.tan.default";
  EXPECT_THAT(Load(NamedDataDemoRuntime(), "tan", loading),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("an operator that this build does not know")));
}

// --- Compiling ---

exir::ExportedProgram Parse(std::string_view text) {
  static const exir::OpRegistry& ops = *exir::CreateStandardOps()->release();
  return exir::ParseOrDie(text, ops);
}

TEST(ChainProgramsTest, RejectsNonChains) {
  const auto refused = [](std::string_view parameters, std::string_view body,
                          std::string_view outputs, const char* message) {
    const std::string text =
        "program edge {\nranges { s0: [1, 4] }\nconstants { state \"c\": f32[2] state \"a+b\": "
        "f32[2] }\ngraph(" +
        std::string(parameters) + ") {\n" + std::string(body) + "\nreturn (" +
        std::string(outputs) + ") } }";
    EXPECT_THAT(NamedDataDemoBackend().Preprocess(Parse(text), {}),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(message)))
        << text;
  };
  const char* sin = "%a: f32[2] = edge.aten.sin.default(%x)";
  const char* not_dense = "input %x is not a static contiguous f32 tensor";
  refused("%c: f32[2] parameter \"c\"", "%a: f32[2] = edge.aten.sin.default(%c)", "%a user_output",
          "it has no user inputs");
  refused("%x: f32[s0] user_input", "%a: f32[s0] = edge.aten.sin.default(%x)", "%a user_output",
          not_dense);
  refused("%x: f32[2,2]{strides=[1,2]} user_input", sin, "%a user_output", not_dense);
  refused("%x: f32[2]{layout=sparse_coo} user_input", sin, "%a user_output", not_dense);
  refused("%x: symint(s0) user_input", sin, "%a user_output", not_dense);
  refused("%x: f32[2] user_input", "%a: i64[2] = edge.aten.sin.default(%x)", "%a user_output",
          "edge.aten.sin.default(%x)");
  // Operands that are not other values, or not the next one.
  refused("%x: f32[2] user_input", "%a: f32[2] = edge.aten.add.Tensor(%x, %x)", "%a user_output",
          "edge.aten.add.Tensor(%x, %x)");
  refused("%x: f32[2] user_input, %y: f32[2] user_input, %z: f32[2] user_input",
          "%a: f32[2] = edge.aten.add.Tensor(%x, %z)", "%a user_output",
          "edge.aten.add.Tensor(%x, %z)");
  refused("%x: f32[2] user_input", "%a: f32[2] = edge.aten.sin.default(3)", "%a user_output",
          "edge.aten.sin.default(3)");
  refused("%x: f32[2] user_input", sin, "%a user_output, %a user_output",
          "its output is not the last node's result");
  refused("%x: f32[2] user_input", sin, "3 user_output",
          "its output is not the last node's result");
  refused("%c: f32[2] parameter \"c\", %x: f32[2] user_input",
          "%a: f32[2] = edge.aten.add.Tensor(%x, %c)", "%a user_output",
          "takes no constants, and %c is one");
}

TEST(ChainProgramsTest, NodesWithoutHandlesAreNotMapped) {
  ASSERT_OK_AND_ASSIGN(const exir::PreprocessResult result,
                       CompilerDemoBackend().Preprocess(Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)
      return (%a user_output)
    }
  })"),
                                                        {}));
  EXPECT_TRUE(result.debug_handle_map.empty());
  const auto& bytes = result.processed.bytes;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
            "1version:0#op:demo::aten.sin.default, numel:2, "
            "dtype:torch.float32<debug_handle>0#");
}

TEST(ChainProgramsTest, RejectsSeparatorsInConstantNames) {
  const PreprocessAllDemoBackend backend("FirstBackendWithPreprocessAll");
  EXPECT_THAT(backend.Preprocess(Parse(R"(program edge {
    constants { state "a+b": f32[2] }
    graph(%c: f32[2] parameter "a+b", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %c)
      return (%a user_output)
    }
  })"),
                                 {}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("takes no constant a+b")));
  EXPECT_THAT(backend.Preprocess(Parse(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.tan.default(%x)
      return (%a user_output)
    }
  })"),
                                 {}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("edge.aten.tan.default(%x)")));
}

TEST(ChainProgramsTest, FusesReluOnlyIntoConvolutions) {
  const auto blob = [](std::string_view body) {
    const auto result = DelegateMappingDemoBackend().Preprocess(
        Parse("program edge { graph(%x: f32[2] user_input) {\n" + std::string(body) +
              "\nreturn (%y user_output) } }"),
        {});
    EXPECT_OK(result.status());
    const auto& bytes = result->processed.bytes;
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  EXPECT_EQ(blob("%y: f32[2] = edge.aten.relu.default(%x)"), "0#");
  EXPECT_EQ(blob("%y: f32[2] = edge.aten.relu.default(3)"), "0#");
  EXPECT_EQ(blob("%a: f32[2] = edge.aten.sin.default(%x)\n"
                 "%y: f32[2] = edge.aten.relu.default(%a)"),
            "0#");
}

TEST(ChainProgramsTest, DeviceIsRequiredAsCompileSpec) {
  const auto with = [](std::vector<exir::CompileSpec> specs) {
    return SeparateMemoryBackend().Preprocess(Parse(R"(program edge {
      graph(%x: f32[2] user_input) {
        %y: f32[2] = edge.aten.relu.default(%x)
        return (%y user_output)
      }
    })"),
                                              specs);
  };
  EXPECT_OK(with({{"target_device", "DEMO:1"}}).status());
  const auto refused =
      StatusIs(kInvalid, HasSubstr("expected one compile spec, the target_device"));
  EXPECT_THAT(with({}), refused);
  EXPECT_THAT(with({{"device", "DEMO:1"}}), refused);
  EXPECT_THAT(with({{"target_device", "DEMO:1"}, {"target_device", "DEMO:1"}}), refused);
}

}  // namespace
}  // namespace belay::demo
