// End-to-end tests of ExecuTorch's backend demos, named after the scenarios of docs/lowering.md §6.
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "backends/aot_backend.h"
#include "backends/demo/executor_backend.h"
#include "backends/demo/executor_runtime.h"
#include "backends/demo/executorch_backends.h"
#include "backends/demo/executorch_runtimes.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/to_backend.h"
#include "exir/emit/emitter.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/serializer.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/test_named_data.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"

namespace belay::demo {

AotBackend Aot();
std::vector<const BackendRuntime*> Runtimes();

namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pair;

MATCHER_P(IsOkAndHolds, matcher, "is OK and its value matches") {
  if (!arg.ok()) {
    *result_listener << arg.status();
    return false;
  }
  return testing::ExplainMatchResult(matcher, *arg, result_listener);
}

const exir::OpRegistry& Ops() {
  static const exir::OpRegistry& ops = *exir::CreateStandardOps()->release();
  return ops;
}

exir::ExportedProgram Parse(std::string_view text) { return exir::ParseOrDie(text, Ops()); }

const exir::BackendSet& Backends() {
  static const exir::BackendSet& backends = *[] {
    auto* set = new exir::BackendSet;
    for (const exir::Backend* backend : Aot().backends) EXPECT_TRUE(set->Add(backend).ok());
    return set;
  }();
  return backends;
}

// Delegates all nodes of `ops` to `backend_id`, one delegate per run of them, with their constants.
absl::StatusOr<exir::ExportedProgram> Lower(const exir::ExportedProgram& program,
                                            std::string backend_id, std::vector<std::string> ops) {
  const exir::CapabilityPartitioner partitioner({std::move(backend_id), {}},
                                                exir::SupportOps(std::move(ops)));
  return exir::ToBackend(program, partitioner, Backends());
}

std::string Blob(const exir::ExportedProgram& program, size_t module) {
  const exir::Storage& blob = program.lowered_modules[exir::ModuleId(module)]->processed;
  return std::string(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size());
}

struct Input {
  std::vector<int64_t> sizes;
  std::vector<float> values;
};

// A program file in memory and its methods, loaded.
class Loaded {
 public:
  static absl::StatusOr<std::unique_ptr<Loaded>> Create(const exir::MethodPrograms& methods) {
    ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods));
    ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, exir::SerializeProgram(image));
    return FromBytes(file.ToString());
  }
  static absl::StatusOr<std::unique_ptr<Loaded>> Create(exir::ExportedProgram program) {
    exir::MethodPrograms methods;
    methods.emplace_back("forward", std::move(program));
    return Create(methods);
  }
  static absl::StatusOr<std::unique_ptr<Loaded>> FromBytes(std::string file) {
    auto loaded = std::make_unique<Loaded>();
    loaded->file_ = std::move(file);
    const auto* bytes = reinterpret_cast<const std::byte*>(loaded->file_.data());
    ABSL_ASSIGN_OR_RETURN(Program program,
                          Program::OpenBytes(nullptr, {bytes, loaded->file_.size()}, {}));
    loaded->program_.emplace(std::move(program));
    ABSL_RETURN_IF_ERROR(AddStandardKernels(loaded->kernels_));
    for (const BackendRuntime* runtime : Runtimes()) {
      ABSL_RETURN_IF_ERROR(loaded->backends_.Add(runtime));
    }
    for (const MethodPlan& plan : loaded->program_->methods()) {
      ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(*loaded->program_, plan.name,
                                                        loaded->kernels_, loaded->backends_));
      loaded->methods_.push_back(std::move(method));
    }
    return loaded;
  }

  Method& method(size_t i = 0) { return methods_[i]; }
  const Program& program() const { return *program_; }

  // The first output.
  absl::StatusOr<std::vector<float>> Run(const std::vector<Input>& inputs, size_t method = 0) {
    std::vector<TestTensor> tensors;
    for (const Input& input : inputs) {
      tensors.push_back(TestTensor::Of<float>(Sizes(input.sizes), input.values));
      ABSL_RETURN_IF_ERROR(methods_[method].SetInput(tensors.size() - 1, tensors.back().view()));
    }
    ABSL_RETURN_IF_ERROR(methods_[method].Execute());
    return ToVector<float>(*methods_[method].GetOutput(0).get_if<TensorView>());
  }

 private:
  std::string file_;
  std::optional<Program> program_;
  KernelRegistry kernels_;
  BackendRegistry backends_;
  std::vector<Method> methods_;
};

Input Vector(std::vector<float> values) {
  const auto size = static_cast<int64_t>(values.size());
  return {{size}, std::move(values)};
}
Input Matrix(std::vector<float> values) { return {{2, 2}, std::move(values)}; }

constexpr std::string_view kSin = R"(program edge {
  graph(%x: f32[1] user_input) {
    %s: f32[1] = edge.aten.sin.default(%x)  handle=1
    return (%s user_output)
  }
})";

constexpr std::string_view kAddMm = R"(program edge {
  graph(%a: f32[2,2] user_input, %x: f32[2,2] user_input, %b: f32[2,2] user_input) {
    %y: f32[2,2] = edge.aten.mm.default(%a, %x)  handle=1
    %y1: f32[2,2] = edge.aten.add.Tensor(%y, %b)  handle=2
    %y2: f32[2,2] = edge.aten.sub.Tensor(%y1, %a)  handle=3
    %y3: f32[2,2] = edge.aten.mm.default(%y2, %x)  handle=4
    %y4: f32[2,2] = edge.aten.add.Tensor(%y3, %b)  handle=5
    return (%y4 user_output)
  }
})";

// --- The compiler demo ---

TEST(CompilerDemoTest, with_compiler) {
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered,
                       Lower(Parse(kSin), "BackendWithCompilerDemo", {"aten.sin.default"}));
  EXPECT_EQ(Blob(lowered, 0),
            "1version:0#op:demo::aten.sin.default, numel:1, dtype:torch.float32<debug_handle>1#");
  ASSERT_OK_AND_ASSIGN(const auto loaded, Loaded::Create(std::move(lowered)));
  ASSERT_EQ(loaded->program().methods()[0].instructions.size(), 1);
  EXPECT_THAT(loaded->Run({Vector({1})}), IsOkAndHolds(ElementsAre(FloatNear(0.8333, 1e-4))));
}

TEST(CompilerDemoTest, out_of_range) {
  const exir::ExportedProgram program = Parse(exir::Replaced(kSin, {{"[1]", "[6]"}}));
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered,
                       exir::ToBackend(program,
                                       exir::CapabilityPartitioner(
                                           {"BackendWithCompilerDemo", {{"max_value", "\4"}}},
                                           exir::SupportOps({"aten.sin.default"})),
                                       Backends()));
  EXPECT_THAT(Loaded::Create(std::move(lowered)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a result has 6 elements, max_value is 4")));
}

TEST(CompilerDemoTest, delegate_and_operator) {
  const exir::ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[1] user_input) {
      %s: f32[1] = edge.aten.sin.default(%x)  handle=1
      %t: f32[1] = edge.aten.neg.default(%s)
      %u: f32[1] = edge.aten.sin.default(%x)  handle=2
      %v: f32[1] = edge.aten.sub.Tensor(%u, %t)
      return (%v user_output)
    }
  })");
  // One delegate per sine: together they are not a chain.
  exir::PartitionResult tags;
  for (const char* name : {"s", "u"}) {
    tags.nodes.push_back({.node = exir::FindNode(program.top(), name), .tag = name});
    tags.delegation.push_back({name, {"BackendWithCompilerDemo", {}}});
  }
  class Given final : public exir::Partitioner {
   public:
    explicit Given(exir::PartitionResult result) : result_(std::move(result)) {}
    absl::StatusOr<exir::PartitionResult> Partition(const exir::ExportedProgram&) const override {
      return result_;
    }

   private:
    exir::PartitionResult result_;
  };
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered,
                       exir::ToBackend(program, Given(tags), Backends()));
  ASSERT_OK_AND_ASSIGN(const auto loaded, Loaded::Create(std::move(lowered)));
  EXPECT_THAT(loaded->Run({Vector({1})}), IsOkAndHolds(ElementsAre(FloatNear(1.6667, 1e-4))));
}

TEST(CompilerDemoTest, backend_runtime_exception) {
  const exir::ExportedProgram program = Parse(exir::Replaced(kSin, {{"sin", "cos"}}));
  EXPECT_THAT(Lower(program, "BackendWithCompilerDemo", {"aten.cos.default"}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("call_function aten.cos.default is not supported in backend "
                                 "BackendWithCompilerDemo")));
}

TEST(CompilerDemoTest, RejectsNonChains) {
  const auto refused = [](std::string_view body, std::string_view message) {
    EXPECT_THAT(CompilerDemoBackend().Preprocess(Parse(body), {}),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(std::string(message))))
        << body;
  };
  refused(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%y, %x)
      return (%a user_output)
    }
  })",
          "edge.aten.add.Tensor(%y, %x)");
  refused(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %y, alpha=2)
      return (%a user_output)
    }
  })",
          "alpha=2");
  refused(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)
      return (%a user_output)
    }
  })",
          "input %y is unused");
  refused(R"(program edge {
    graph(%x: f32[2] user_input) {
      %a: f32[2] = edge.aten.sin.default(%x)
      %b: f32[2] = edge.aten.sin.default(%a)
      return (%a user_output)
    }
  })",
          "its output is not the last node's result");
  refused(R"(program edge {
    graph(%x: f64[2] user_input) {
      %a: f64[2] = edge.aten.sin.default(%x)
      return (%a user_output)
    }
  })",
          "input %x is not a static contiguous f32 tensor");
  refused(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %b)
      return (%a buffer_mutation "b")
    }
  })",
          "its output is a buffer_mutation");
  refused(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %b)
      return (%a user_output)
    }
  })",
          "takes no constants, and %b is one");
}

TEST(CompilerDemoTest, add_mul_partitioner) {
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered,
                       exir::ToBackend(Parse(kAddMm), *CreateAddMulPartitionerDemo(), Backends()));
  ASSERT_EQ(lowered.lowered_modules.size(), 2);
  EXPECT_EQ(Blob(lowered, 0),
            "2version:0#op:demo::aten.mm.default, numel:4, dtype:torch.float32<debug_handle>1#"
            "op:demo::aten.add.Tensor, numel:4, dtype:torch.float32<debug_handle>2#");
  const exir::LoweredBackendModule& first = *lowered.lowered_modules[exir::ModuleId(0)];
  EXPECT_THAT(first.debug_handle_map, ElementsAre(Pair(exir::DelegateId(1), ElementsAre(1)),
                                                  Pair(exir::DelegateId(2), ElementsAre(2))));
  EXPECT_EQ(first.compile_specs[0].value, "\4");
  ASSERT_OK_AND_ASSIGN(const auto loaded, Loaded::Create(std::move(lowered)));
  EXPECT_THAT(loaded->Run({Matrix({1, 2, 3, 4}), Matrix({1, 0, 0, 1}), Matrix({10, 20, 30, 40})}),
              IsOkAndHolds(ElementsAre(20, 40, 60, 80)));
}

TEST(CompilerDemoTest, compatibility) {
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered,
                       Lower(Parse(kSin), "BackendWithCompilerDemo", {"aten.sin.default"}));
  auto other = std::make_shared<exir::LoweredBackendModule>(
      "BackendWithCompilerDemo", lowered.lowered_modules[exir::ModuleId(0)]->original.Clone());
  std::string blob = absl::StrReplaceAll(Blob(lowered, 0), {{"version:0", "version:1"}});
  const auto* bytes = reinterpret_cast<const std::byte*>(blob.data());
  other->processed = exir::Storage::Own({bytes, bytes + blob.size()});
  exir::ExportedProgram newer = lowered.Clone();
  newer.lowered_modules[exir::ModuleId(0)] = other;
  EXPECT_THAT(Loaded::Create(std::move(newer)),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("the blob has version 1, this build reads version 0")));
}

TEST(CompilerDemoTest, two_methods_end_to_end) {
  exir::MethodPrograms methods;
  methods.emplace_back("forward", Parse(kSin));
  methods.emplace_back("other", Parse(kSin));
  const exir::CapabilityPartitioner partitioner({"BackendWithCompilerDemo", {}},
                                                exir::SupportOps({"aten.sin.default"}));
  ASSERT_OK_AND_ASSIGN(
      const exir::MethodPrograms lowered,
      exir::ToBackend(methods, {{"forward", &partitioner}, {"other", &partitioner}}, Backends()));
  ASSERT_OK_AND_ASSIGN(const auto loaded, Loaded::Create(lowered));
  // Both share one blob.
  const auto plans = loaded->program().methods();
  EXPECT_EQ(plans[0].delegates[0].blob.data(), plans[1].delegates[0].blob.data());
  for (size_t method : {0, 1}) {
    EXPECT_THAT(loaded->Run({Vector({1})}, method),
                IsOkAndHolds(ElementsAre(FloatNear(0.8333, 1e-4))));
  }
}

// --- The delegate-mapping demo ---

constexpr std::string_view kConvTan = R"(program edge {
  constants { state "w": f32[3,3,1,1] }
  graph(%w: f32[3,3,1,1] parameter "w", %x: f32[1,3,2,2] user_input) {
    %c: f32[1,3,2,2] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)  handle=1
    %r: f32[1,3,2,2] = edge.aten.relu.default(%c)  handle=2
    %d: f32[1,3,2,2] = edge.aten.convolution.default(%r, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)  handle=3
    %q: f32[1,3,2,2] = edge.aten.relu.default(%d)  handle=4
    %p: f32[1,3,2,2] = edge.aten.relu.default(%q)  handle=5
    %t: f32[1,3,2,2] = edge.aten.tan.default(%p)  handle=6
    return (%t user_output)
  }
})";

TEST(DelegateMappingDemoTest, demo_backend) {
  ASSERT_OK_AND_ASSIGN(const exir::PreprocessResult result,
                       DelegateMappingDemoBackend().Preprocess(Parse(kConvTan), {}));
  const std::string_view blob(reinterpret_cast<const char*>(result.processed.bytes.data()),
                              result.processed.bytes.size());
  EXPECT_EQ(blob,
            "5#conv_relu_op,0,conv_relu_op,1,sin_decomp_from_tan,2,cos_decomp_from_tan,3,"
            "div_decomp_from_tan,4,");
  EXPECT_THAT(result.debug_handle_map, ElementsAre(Pair(exir::DelegateId(0), ElementsAre(1, 2)),
                                                   Pair(exir::DelegateId(1), ElementsAre(3, 4)),
                                                   Pair(exir::DelegateId(2), ElementsAre(6)),
                                                   Pair(exir::DelegateId(3), ElementsAre(6)),
                                                   Pair(exir::DelegateId(4), ElementsAre(6))));
}

TEST(DelegateMappingDemoTest, RuntimeListsInstructionsAndIsUnimplemented) {
  ASSERT_OK_AND_ASSIGN(
      exir::ExportedProgram lowered,
      Lower(Parse(kConvTan), "BackendWithDelegateMappingDemo",
            {"aten.convolution.default", "aten.relu.default", "aten.tan.default"}));
  ASSERT_OK_AND_ASSIGN(const auto loaded, Loaded::Create(std::move(lowered)));
  EXPECT_THAT(loaded->Run({Input{{1, 3, 2, 2}, std::vector<float>(12, 1)}}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("computes nothing; its instructions are conv_relu_op (0), "
                                 "conv_relu_op (1), sin_decomp_from_tan (2), cos_decomp_from_tan "
                                 "(3), div_decomp_from_tan (4)")));
}

// --- The named-data demo ---

TEST(NamedDataDemoTest, with_partitioner) {
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered,
                       Lower(Parse(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %y)
      %n: f32[2] = edge.aten.neg.default(%a)
      %s: f32[2] = edge.aten.sub.Tensor(%n, %y)
      %t: f32[2] = edge.aten.add.Tensor(%s, %x)
      return (%t user_output)
    }
  })"),
                             "BackendWithNamedDataMap", {"aten.add.Tensor", "aten.sub.Tensor"}));
  EXPECT_EQ(Blob(lowered, 0), "aten.add.Tensor");
  EXPECT_EQ(Blob(lowered, 1), "aten.sub.Tensor\naten.add.Tensor");
  ASSERT_OK_AND_ASSIGN(const auto loaded, Loaded::Create(std::move(lowered)));
  std::vector<std::string> keys;
  for (const NamedDataPlan& data : loaded->program().named_data()) keys.push_back(data.key);
  EXPECT_THAT(keys, ElementsAre("aten.add.Tensor", "aten.sub.Tensor"));
  EXPECT_THAT(loaded->Run({Vector({1, 2}), Vector({10, 20})}),
              IsOkAndHolds(ElementsAre(-11 - 10 + 1, -22 - 20 + 2)));
}

// --- The multi-method demo ---

constexpr std::string_view kAddSin = R"(program edge {
  constants { state "c": f32[2] }
  graph(%c: f32[2] buffer "c", %x: f32[2] user_input) {
    %a: f32[2] = edge.aten.add.Tensor(%x, %c)
    %s: f32[2] = edge.aten.sin.default(%a)
    return (%s user_output)
  }
})";

TEST(MultiMethodDemoTest, constants) {
  exir::MethodPrograms methods;
  const std::vector<float> c = {0.25, 0.5};
  for (const char* name : {"a", "b"}) {
    exir::ExportedProgram& program = methods.emplace_back(name, Parse(kAddSin)).second;
    const auto* bytes = reinterpret_cast<const std::byte*>(c.data());
    program.state_dict.at("c") = *exir::ConstantTensor::Contiguous(
        DType::kFloat32, {2}, exir::Storage::Own({bytes, bytes + 8}));
  }
  const exir::CapabilityPartitioner first(
      {"FirstBackendWithPreprocessAll", {{"mode", "\1\xff"}, {"mode", "x"}}},
      exir::SupportOps({"aten.add.Tensor", "aten.sin.default"}));
  const exir::CapabilityPartitioner second({"SecondBackendWithPreprocessAll", {}},
                                           exir::SupportOps({"aten.sin.default"}));
  ASSERT_OK_AND_ASSIGN(const exir::MethodPrograms one,
                       exir::ToBackend(methods, {{"a", &first}, {"b", &first}}, Backends()));
  for (const auto& [name, program] : one) {
    EXPECT_EQ(Blob(program, 0),
              "FirstBackendWithPreprocessAll#4#CONSTc+aten.add.Tensor+aten.sin.default#"
              "mode=01ff,mode=78");
  }
  // Two backends: each counts its own partitions.
  ASSERT_OK_AND_ASSIGN(const exir::MethodPrograms two,
                       exir::ToBackend(methods, {{"a", &first}, {"b", &second}}, Backends()));
  EXPECT_THAT(Blob(two[0].second, 0), HasSubstr("#2#CONSTc"));
  EXPECT_EQ(Blob(two[1].second, 0), "SecondBackendWithPreprocessAll#1#aten.sin.default#");
  for (const exir::MethodPrograms* lowered : {&one, &two}) {
    ASSERT_OK_AND_ASSIGN(const auto loaded, Loaded::Create(*lowered));
    EXPECT_EQ(loaded->program().named_data().size(), 1);
    for (size_t method : {0, 1}) {
      EXPECT_THAT(loaded->Run({Vector({1, 2})}, method),
                  IsOkAndHolds(ElementsAre(FloatNear(std::sin(1.25f), 1e-6),
                                           FloatNear(std::sin(2.5f), 1e-6))));
    }
  }
}

TEST(MultiMethodDemoTest, PreprocessesOneProgram) {
  ASSERT_OK_AND_ASSIGN(const auto module, exir::ToBackend("FirstBackendWithPreprocessAll",
                                                          Parse(kSin), {}, Backends()));
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(module->processed.bytes.data()),
                             module->processed.bytes.size()),
            "FirstBackendWithPreprocessAll#1#aten.sin.default#");
}

// --- The executor backend ---

TEST(ExecutorBackendTest, whole_program) {
  ASSERT_OK_AND_ASSIGN(
      exir::ExportedProgram lowered,
      exir::ToBackend(Parse(kAddMm), exir::AllNodePartitioner({"ExecutorBackend", {}}),
                      Backends()));
  ASSERT_OK_AND_ASSIGN(const auto loaded, Loaded::Create(std::move(lowered)));
  EXPECT_EQ(loaded->program().methods()[0].instructions.size(), 1);
  ASSERT_OK_AND_ASSIGN(const auto host, Loaded::Create(Parse(kAddMm)));
  const std::vector<Input> inputs = {Matrix({1, 2, 3, 4}), Matrix({1, 1, 1, 1}),
                                     Matrix({1, 1, 1, 1})};
  ASSERT_OK_AND_ASSIGN(const std::vector<float> expected, host->Run(inputs));
  EXPECT_THAT(loaded->Run(inputs), IsOkAndHolds(testing::ElementsAreArray(expected)));
}

TEST(ExecutorBackendTest, nested) {
  const exir::ExportedProgram program = Parse(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %y)
      %s: f32[2] = edge.aten.sin.default(%a)
      %b: f32[2] = edge.aten.add.Tensor(%s, %y)
      return (%b user_output)
    }
  })");
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram once,
                       Lower(program, "BackendWithNamedDataMap", {"aten.sin.default"}));
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered,
                       exir::ToBackend(once, *CreateExecutorPartitioner(), Backends()));
  EXPECT_EQ(lowered.top().num_nodes(), 1);
  ASSERT_OK_AND_ASSIGN(const auto loaded, Loaded::Create(lowered.Clone()));
  EXPECT_THAT(loaded->Run({Vector({1, 2}), Vector({3, 4})}),
              IsOkAndHolds(ElementsAre(FloatNear(std::sin(4.f) + 3, 1e-6),
                                       FloatNear(std::sin(6.f) + 4, 1e-6))));
}

TEST(ExecutorBackendTest, NestingIsLimited) {
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram program,
                       Lower(Parse(kSin), "ExecutorBackend", {"aten.sin.default"}));
  for (int depth = 1; depth <= 3; ++depth) {
    const auto loaded = Loaded::Create(program.Clone());
    if (depth == 3) {
      EXPECT_THAT(loaded, StatusIs(absl::StatusCode::kNotFound, HasSubstr("ExecutorBackend")));
      break;
    }
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_THAT((*loaded)->Run({Vector({1})}),
                IsOkAndHolds(ElementsAre(FloatNear(std::sin(1.f), 1e-6))));
    ASSERT_OK_AND_ASSIGN(program,
                         exir::ToBackend(program, *CreateExecutorPartitioner(), Backends()));
  }
}

TEST(ExecutorBackendTest, StatePersistsUntilReset) {
  const exir::ExportedProgram program = Parse(R"(program edge {
    constants { state "b": f32[2] }
    graph(%b: f32[2] buffer "b", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%b, %x)
      %c: f32[2] = edge.aten.add.Tensor(%a, %x)
      return (%a buffer_mutation "b", %c user_output)
    }
  })");
  const exir::CapabilityPartitioner partitioner({"ExecutorBackend", {}},
                                                exir::SupportOps({"aten.add.Tensor"}),
                                                {.tag_mutated_buffers = true});
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram lowered,
                       exir::ToBackend(program, partitioner, Backends()));
  EXPECT_TRUE(lowered.state_dict.empty());
  ASSERT_OK_AND_ASSIGN(const auto loaded, Loaded::Create(std::move(lowered)));
  EXPECT_THAT(loaded->Run({Vector({1, 2})}), IsOkAndHolds(ElementsAre(2, 4)));
  EXPECT_THAT(loaded->Run({Vector({1, 2})}), IsOkAndHolds(ElementsAre(3, 6)));
  loaded->method().ResetState();
  EXPECT_THAT(loaded->Run({Vector({1, 2})}), IsOkAndHolds(ElementsAre(2, 4)));
}

TEST(ExecutorBackendTest, RejectsCompileSpecs) {
  const std::vector<exir::CompileSpec> specs = {{"key", "value"}};
  EXPECT_THAT(exir::ToBackend("ExecutorBackend", Parse(kSin), specs, Backends()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key")));
}

// --- Blobs as untrusted bytes ---

absl::Status Init(const BackendRuntime& runtime, std::string_view blob) {
  const EValue tensor = TensorView::Contiguous(DType::kFloat32, {2}, nullptr);
  const EValue* values[] = {&tensor};
  TestNamedData data;
  data.entries["bad"] = "op";
  MemoryBudget memory("delegate_bytes", uint64_t{1} << 30);
  const DelegateInitContext context{.method = "forward",
                                    .compile_specs = {},
                                    .named_data = &data,
                                    .arguments = values,
                                    .outputs = values,
                                    .memory = &memory};
  return runtime.Init(context, {reinterpret_cast<const std::byte*>(blob.data()), blob.size()})
      .status();
}

struct BlobCase {
  std::string_view backend;
  std::string_view good;  // with one argument of two elements
};

TEST(DemoRuntimeTest, DamagedBlobsFailOrExecuteSafely) {
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram executor,
                       Lower(Parse(exir::Replaced(kSin, {{"[1]", "[2]"}})), "ExecutorBackend",
                             {"aten.sin.default"}));
  const std::string executor_blob = Blob(executor, 0);
  const BlobCase cases[] = {
      {"BackendWithCompilerDemo",
       "1version:0#op:demo::aten.sin.default, numel:2, dtype:torch.float32<debug_handle>1#"},
      {"BackendWithDelegateMappingDemo", "1#conv_relu_op,0,"},
      {"FirstBackendWithPreprocessAll",
       "FirstBackendWithPreprocessAll#2#aten.sin.default+aten.cos.default#"},
      {"ExecutorBackend", executor_blob},
  };
  for (const BackendRuntime* runtime : Runtimes()) {
    for (const BlobCase& c : cases) {
      if (c.backend != runtime->id()) continue;
      EXPECT_TRUE(Init(*runtime, c.good).ok()) << c.backend << Init(*runtime, c.good);
      for (size_t size = 0; size < c.good.size(); ++size) {
        EXPECT_FALSE(Init(*runtime, c.good.substr(0, size)).ok()) << c.good.substr(0, size);
      }
      for (size_t i = 0; i < c.good.size(); ++i) {
        for (int bit = 0; bit < 8; ++bit) {
          std::string flipped(c.good);
          flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
          Init(*runtime, flipped).IgnoreError();
        }
      }
    }
  }
}

TEST(DemoRuntimeTest, ReportsBlobErrors) {
  const NamedDataDemoRuntime named_data;
  EXPECT_THAT(Init(named_data, "aten.sin.default"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Init(named_data, "bad"), StatusIs(absl::StatusCode::kUnimplemented));
  const PreprocessAllDemoRuntime first("FirstBackendWithPreprocessAll");
  EXPECT_THAT(Init(first, "SecondBackendWithPreprocessAll#1#aten.sin.default#"),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Init(first, "FirstBackendWithPreprocessAll#1#CONSTc+aten.add.Tensor#"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Init(first, "FirstBackendWithPreprocessAll#1#aten.tan.default#"),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(Init(first, "FirstBackendWithPreprocessAll#1#aten.add.Tensor#"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the call has 1 arguments")));
  const CompilerDemoRuntime compiler;
  EXPECT_THAT(Init(compiler, "0version:0#"), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Init(compiler,
                   "1version:0#op:demo::aten.sin.default, numel:99999999999, "
                   "dtype:torch.float32<debug_handle>1#"),
              StatusIs(absl::StatusCode::kResourceExhausted));
  const DelegateMappingDemoRuntime mapping;
  EXPECT_THAT(Init(mapping, "1#conv_relu_op,1,"), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Init(mapping, "1#tanh_op,0,"), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace belay::demo
