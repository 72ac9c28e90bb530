// Tests of options for some of the methods, and of operators that lowering inserts and removes.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/transforms/op_patterns.h"
#include "exir/builder/op_shorthand.h"
#include "exir/compare/call.h"
#include "exir/decompositions/decompose.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/serialize/saved_programs.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kSinCos = R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.sin.default(%x)
    %z: f32[2] = aten.cos.default(%y)
    return (%z user_output)
  }
})";

// Delegates every node of an operator, and reports a reason for the others.
class OneOperator final : public Partitioner {
 public:
  OneOperator(std::string op, std::string backend)
      : op_(std::move(op)), backend_(std::move(backend)) {}
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram& program) const override {
    PartitionResult result;
    for (NodeId id : program.top().nodes()) {
      if (program.top().node(id).target->name() != op_) {
        result.rejections.push_back({ExportedProgram::kTop, id, absl::StrCat("not ", op_)});
        continue;
      }
      result.nodes.push_back({ExportedProgram::kTop, id, "t"});
      if (result.delegation.empty()) result.delegation = {{"t", {backend_, {}}}};
    }
    return result;
  }

 private:
  std::string op_, backend_;
};

class PipelineOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(AddReferenceKernels(kernels_));
    ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps());
    for (const Backend* backend : {&first_, &second_}) ASSERT_OK(aot_.Add(backend));
  }

  // Lowers methods with the same text.
  absl::StatusOr<ProgramImage> Lower(std::string_view text, const std::vector<std::string>& names,
                                     PipelineOptions options) {
    options.backends = &aot_;
    report_ = {};
    MethodPrograms methods;
    for (const std::string& name : names) methods.emplace_back(name, ParseOrDie(text, *ops_));
    return LowerPrograms(std::move(methods), options, &report_);
  }

  static std::vector<std::string> Names(const schema::Method& method) {
    std::vector<std::string> names;
    for (const std::string& op : method.operators()) names.push_back(op);
    for (const auto& delegate : method.delegates()) names.push_back(delegate.backend_id());
    return names;
  }

  CallOutcome Run(const ProgramImage& image, const std::string& name,
                  const std::vector<EValue>& inputs) {
    CallOutcome outcome;
    const auto run = [&]() -> absl::Status {
      ABSL_ASSIGN_OR_RETURN(const Program file, OpenImage(image));
      const BackendRegistry none;
      ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(file, name, kernels_, none));
      outcome = RunCall(method, inputs);
      return absl::OkStatus();
    };
    const absl::Status status = run();
    if (!status.ok()) outcome.status = status;
    return outcome;
  }

  const FunctionBackend first_{"first"}, second_{"second"};
  const OneOperator sin_to_first_{"aten.sin.default", "first"};
  const OneOperator cos_to_second_{"aten.cos.default", "second"};
  BackendSet aot_;
  KernelRegistry kernels_;
  std::unique_ptr<OpRegistry> ops_;
  PipelineReport report_;
};

TEST_F(PipelineOptionsTest, MethodsMayHaveTheirOwnPartitioners) {
  PipelineOptions options;
  options.partitioners.all = {&sin_to_first_};
  options.partitioners.own["b"] = {&cos_to_second_, &sin_to_first_};
  options.partitioners.own["c"] = {};
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Lower(kSinCos, {"a", "b", "c"}, options));
  EXPECT_THAT(Names(image.metadata.methods(0)), ElementsAre("aten.cos.default", "first"));
  EXPECT_THAT(Names(image.metadata.methods(1)), ElementsAre("first", "second"));
  EXPECT_THAT(Names(image.metadata.methods(2)),
              ElementsAre("aten.sin.default", "aten.cos.default"));
}

TEST_F(PipelineOptionsTest, EveryPartitionerReportsItsReason) {
  const OneOperator tan_to_second("aten.tan.default", "second");
  PipelineOptions options;
  options.partitioners.all = {&sin_to_first_, &tan_to_second};
  ASSERT_OK(Lower(kSinCos, {"forward"}, options).status());
  ASSERT_EQ(report_.left_over.size(), 1);
  EXPECT_EQ(report_.left_over[0].op, "edge.aten.cos.default");
  EXPECT_EQ(report_.left_over[0].reason, "not aten.sin.default; not aten.tan.default");
}

// Replaces the operator of the first node before decomposition, and records what it saw.
class TransformingPartitioner final : public Partitioner {
 public:
  TransformingPartitioner(const OpOverload* from, const OpOverload* to,
                          std::vector<std::string>& log)
      : from_(from), to_(to), log_(log) {}
  absl::StatusOr<PartitionResult> Partition(const ExportedProgram&) const override {
    return PartitionResult();
  }
  absl::StatusOr<bool> TransformBeforeDecomposition(ExportedProgram& program) const override {
    const NodeId first = program.top().first();
    const OpOverload* target = program.top().node(first).target;
    log_.emplace_back(target->name());
    if (target != from_) return false;
    if (to_ == nullptr) return absl::UnimplementedError("no such operator");
    GraphEditor(program.top()).SetTarget(first, to_);
    return true;
  }

 private:
  const OpOverload *from_, *to_;
  std::vector<std::string>& log_;
};

constexpr std::string_view kSilu = R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.silu.default(%x)
    return (%y user_output)
  }
})";

TEST_F(PipelineOptionsTest, PartitionersTransformProgramsBeforeDecompositionInOrder) {
  std::vector<std::string> log;
  const OpOverload *silu = ops_->Find("aten.silu.default"), *mish = ops_->Find("aten.mish.default"),
                   *sin = ops_->Find("aten.sin.default");
  const TransformingPartitioner first(silu, mish, log), second(mish, sin, log);
  PipelineOptions options;
  options.partitioners.own["a"] = {&first, &second};
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Lower(kSilu, {"a", "b"}, options));
  EXPECT_THAT(log, ElementsAre("aten.silu.default", "aten.mish.default"));
  EXPECT_THAT(Names(image.metadata.methods(0)), ElementsAre("aten.sin.default"));
  EXPECT_THAT(Names(image.metadata.methods(1)), Not(Contains("aten.sin.default")));
}

TEST_F(PipelineOptionsTest, ReportsWhichTransformsChangedTheProgram) {
  std::vector<std::string> log;
  const OpOverload *silu = ops_->Find("aten.silu.default"), *mish = ops_->Find("aten.mish.default");
  const TransformingPartitioner changes(silu, mish, log), matches_nothing(silu, mish, log);
  PipelineOptions options;
  options.partitioners.all = {&changes, &sin_to_first_, &matches_nothing};
  ASSERT_OK(Lower(kSilu, {"a"}, options).status());
  std::vector<bool> changed;
  for (const PassReport& pass : report_.passes) {
    if (pass.name == "transform_before_decomposition") changed.push_back(pass.changed);
  }
  EXPECT_THAT(changed, ElementsAre(true, false, false));
}

TEST_F(PipelineOptionsTest, EdgeProgramsAreNotTransformedBeforeDecomposition) {
  std::vector<std::string> log;
  const TransformingPartitioner partitioner(nullptr, nullptr, log);
  PipelineOptions options;
  options.partitioners.all = {&partitioner};
  ASSERT_OK(Lower(R"(program edge {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = edge.aten.sin.default(%x)
    return (%y user_output)
  }
})",
                  {"a"}, options)
                .status());
  EXPECT_THAT(log, IsEmpty());
}

TEST_F(PipelineOptionsTest, ErrorsOfTransformsNameTheMethod) {
  std::vector<std::string> log;
  const TransformingPartitioner fails(ops_->Find("aten.silu.default"), nullptr, log);
  PipelineOptions options;
  options.partitioners.all = {&fails};
  EXPECT_THAT(Lower(kSilu, {"a"}, options),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("'a'"), HasSubstr("transform_before_decomposition"),
                             HasSubstr("no such operator"))));
}

TEST_F(PipelineOptionsTest, TransformsMustKeepTheDialect) {
  class ToEdgeDialect final : public Partitioner {
   public:
    absl::StatusOr<PartitionResult> Partition(const ExportedProgram&) const override {
      return PartitionResult();
    }
    absl::StatusOr<bool> TransformBeforeDecomposition(ExportedProgram& program) const override {
      program.dialect = IrDialect::kEdge;
      return true;
    }
  };
  const ToEdgeDialect partitioner;
  PipelineOptions options;
  options.partitioners.all = {&partitioner};
  EXPECT_THAT(Lower(kSilu, {"a"}, options),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("changed the dialect")));
}

TEST_F(PipelineOptionsTest, ResultsOfTransformsAreVerified) {
  std::vector<std::string> log;
  const TransformingPartitioner breaks(ops_->Find("aten.silu.default"),
                                       ops_->Find("aten.add.Tensor"), log);
  PipelineOptions options;
  options.partitioners.all = {&breaks};
  EXPECT_THAT(Lower(kSilu, {"a"}, options),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("transform_before_decomposition")));
}

// Replaces sines by cosines before partitioning, so that the first backend gets none.
TEST_F(PipelineOptionsTest, TransformPassesRunBeforePartitioningOnTheirMethods) {
  const Pass to_cos = {"to_cos", [this](ExportedProgram& program) -> absl::StatusOr<bool> {
                         GraphEditor editor(program.top());
                         editor.SetTarget(program.top().first(),
                                          ops_->ToEdge(ops_->Find("aten.cos.default")));
                         return true;
                       }};
  PipelineOptions options;
  options.partitioners.all = {&sin_to_first_};
  options.transform_passes.own["b"] = {to_cos};
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Lower(kSinCos, {"a", "b"}, options));
  EXPECT_THAT(Names(image.metadata.methods(0)), ElementsAre("aten.cos.default", "first"));
  EXPECT_THAT(Names(image.metadata.methods(1)), ElementsAre("aten.cos.default"));
}

TEST_F(PipelineOptionsTest, TransformPassesMustReturnEdgePrograms) {
  const Pass to_clone = {"to_clone", [this](ExportedProgram& program) -> absl::StatusOr<bool> {
                           program = ParseOrDie(R"(program edge {
                             graph(%x: f32[2] user_input) {
                               %y: f32[2] = edge.aten.clone.default(%x, memory_format=format:contiguous)
                               return (%y user_output)
                             }
                           })",
                                                *ops_);
                           return true;
                         }};
  PipelineOptions options;
  options.transform_passes.all = {to_clone};
  EXPECT_THAT(Lower(kSinCos, {"forward"}, options),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("transform passes: method 'forward'"), HasSubstr("E4"))));
}

// Saving and reading at each stage gives the same file as lowering in one step.
TEST_F(PipelineOptionsTest, LoweringContinuesFromEveryStage) {
  constexpr std::string_view kTraining = R"(program training {
    constants { state "w": f32[3,2] }
    graph(%w: f32[3,2] parameter "w", %x: f32[4,2] user_input) {
      %y: f32[4,3] = aten.linear.default(%x, %w)  @"model.py":3
      %z: f32[4,3] = aten.sin.default(%y)  @"model.py":4
      %r: f32[4,3] = aten.relu_.default(%z)  @"model.py":4
      return (%r user_output)
    }
  })";
  PipelineOptions options;
  options.partitioners.all = {&sin_to_first_};
  ASSERT_OK_AND_ASSIGN(const ProgramImage direct, Lower(kTraining, {"forward"}, options));
  EXPECT_THAT(Names(direct.metadata.methods(0)), ::testing::Contains("first"));
  options.backends = &aot_;
  std::vector<std::string> nodes;
  for (const Stage stage : {Stage::kAten, Stage::kEdge, Stage::kLowered}) {
    MethodPrograms methods;
    methods.emplace_back("forward", ParseOrDie(kTraining, *ops_));
    ASSERT_OK_AND_ASSIGN(methods, LowerToStage(std::move(methods), stage, options));
    nodes.push_back(PrintProgram(methods[0].second));
    const auto file = std::make_shared<const std::string>(SavePrograms(methods).ToString());
    const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(file->data()),
                                            file->size());
    ASSERT_OK_AND_ASSIGN(methods, ParseSavedPrograms(file, bytes, *ops_));
    EXPECT_EQ(SavePrograms(methods).ToString(), *file);
    ASSERT_OK_AND_ASSIGN(const ProgramImage image, LowerPrograms(std::move(methods), options));
    EXPECT_EQ(image.metadata.SerializeAsString(), direct.metadata.SerializeAsString());
  }
  EXPECT_THAT(nodes[0], AllOf(HasSubstr("program aten"), ::testing::Not(HasSubstr("relu_"))));
  EXPECT_THAT(nodes[1], AllOf(HasSubstr("program edge"), HasSubstr("edge.aten.sin.default")));
  EXPECT_THAT(nodes[2], HasSubstr("executorch_call_delegate"));
}

TEST_F(PipelineOptionsTest, RejectsOptionsOfUnknownMethods) {
  PipelineOptions options;
  options.partitioners.own["prefill"] = {&sin_to_first_};
  EXPECT_THAT(Lower(kSinCos, {"forward"}, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "partitioners are given for the method 'prefill', which there is not"));
  options = {};
  options.transform_passes.own["prefill"] = {};
  EXPECT_THAT(Lower(kSinCos, {"forward"}, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "transform passes are given for the method 'prefill', which there is not"));
}

TEST_F(PipelineOptionsTest, ConstantMethodsReturnTheirValues) {
  PipelineOptions options;
  options.constant_methods = {{"get_max_seq_len", {2048}}, {"get_rope", {true, 1e4, "half"}}};
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Lower(kSinCos, {"forward"}, options));
  const CallOutcome one = Run(image, "get_max_seq_len", {});
  ASSERT_OK(one.status);
  ASSERT_EQ(one.outputs.size(), 1);
  EXPECT_EQ(*one.outputs[0].value().get_if<int64_t>(), 2048);
  const CallOutcome three = Run(image, "get_rope", {});
  ASSERT_OK(three.status);
  ASSERT_EQ(three.outputs.size(), 3);
  EXPECT_EQ(*three.outputs[0].value().get_if<bool>(), true);
  EXPECT_EQ(*three.outputs[1].value().get_if<double>(), 1e4);
  EXPECT_EQ(*three.outputs[2].value().get_if<std::string_view>(), "half");
}

TEST_F(PipelineOptionsTest, RejectsInvalidConstantMethods) {
  PipelineOptions options;
  const auto expect = [&](const char* name, std::vector<Argument> values, const char* message) {
    options.constant_methods = {{name, std::move(values)}};
    EXPECT_THAT(Lower(kSinCos, {"forward"}, options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  expect("forward", {1}, "constant method 'forward': there is a method of this name");
  expect("none", {}, "expected a value to return");
  expect("list", {Argument(Argument::List())}, "expected numbers, bools or strings to return");
}

// docs/lowering.md §5.9: runs them under their names.
TEST_F(PipelineOptionsTest, FunctionsOnScalarsRunAsExecutorchPrims) {
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Lower(R"(program aten {
    ranges { s0: [2, 9] }
    graph(%x: f32[s0] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %m: symint(2*s0) = _operator.mul(%n, 2)
      %k: symint(2*s0 - 1) = _operator.sub(%m, 1)
      %y: f32[2*s0 - 1] = aten.full.default([%k], 0.5, dtype=dtype:f32)
      return (%y user_output, %k user_output)
    }
  })",
                                                       {"forward"}, {}));
  EXPECT_THAT(Names(image.metadata.methods(0)),
              ElementsAre("aten.sym_size.int", "executorch_prim.mul.Scalar",
                          "executorch_prim.sub.Scalar", "aten.full.default"));
  const TestTensor x = TestTensor::Of<float>({3}, {1, 2, 3});
  const CallOutcome got = Run(image, "forward", {EValue(x.view())});
  ASSERT_OK(got.status);
  EXPECT_EQ(ToVector<float>(*got.outputs[0].tensor()), std::vector<float>(5, 0.5));
  EXPECT_EQ(*got.outputs[1].value().get_if<int64_t>(), 5);
}

// Binds a pattern to an operator without a kernel: the program is lowered, a backend may delegate
// it, and other calls run as the pattern's operators (docs/lowering.md §5.5).
TEST_F(PipelineOptionsTest, LowersAndRunsBoundPatterns) {
  constexpr std::string_view kPattern = R"(program aten {
    graph(%x: f32[2] user_input, %gate: f32[2] user_input) {
      %s: f32[2] = aten.sigmoid.default(%gate)
      %y: f32[2] = aten.mul.Tensor(%x, %s)
      return (%y user_output)
    }
  })";
  OpPatterns patterns(*ops_);
  ASSERT_OK(patterns
                .BindPatternToOp("mylib", "gated(Tensor x, Tensor gate) -> Tensor",
                                 ParseOrDie(kPattern, *ops_))
                .status());
  constexpr std::string_view kProgram = R"(program aten {
    graph(%a: f32[2] user_input, %b: f32[2] user_input) {
      %c: f32[2] = mylib.gated.default(%a, %b)
      %d: f32[2] = mylib.gated.default(%c, %a)
      return (%d user_output)
    }
  })";
  PipelineOptions options;
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Lower(kProgram, {"forward"}, options));
  EXPECT_THAT(Names(image.metadata.methods(0)),
              ElementsAre("aten.sigmoid.default", "aten.mul.Tensor"));
  const TestTensor a = TestTensor::Of<float>({2}, {1, 0}), b = TestTensor::Of<float>({2}, {0, 9});
  const CallOutcome got = Run(image, "forward", {EValue(a.view()), EValue(b.view())});
  ASSERT_OK(got.status);
  EXPECT_THAT(ToVector<float>(*got.outputs[0].tensor()),
              ElementsAre(::testing::FloatEq(0.5f * 0.73105858f), 0));

  const OneOperator gated_to_first("mylib.gated.default", "first");
  options.partitioners.all = {&gated_to_first};
  ASSERT_OK_AND_ASSIGN(const ProgramImage delegated, Lower(kProgram, {"forward"}, options));
  EXPECT_THAT(Names(delegated.metadata.methods(0)), ElementsAre("first"));
}

// A composite kernel: called with the actual arguments, of any sizes, for calls that are not
// delegated (docs/lowering.md §5.5).
std::vector<Argument> Gated(OpBuilder& b, const OpCall& call) {
  return {Mul(b, call["x"], Unary(b, "sigmoid", call["gate"]))};
}

TEST_F(PipelineOptionsTest, CallsCompositeKernels) {
  ASSERT_OK(ops_->Define({.schema = "mylib::gated(Tensor x, Tensor gate) -> Tensor"}));
  ASSERT_OK(ops_->SetCompositeKernel("mylib.gated", CompositeKind::kImplicit, Gated));
  constexpr std::string_view kProgram = R"(program aten {
    ranges { s0: [1, 4] }
    graph(%a: f32[s0] user_input, %b: f32[s0] user_input) {
      %c: f32[s0] = mylib.gated.default(%a, %b)
      return (%c user_output)
    }
  })";
  PipelineOptions options;
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Lower(kProgram, {"forward"}, options));
  EXPECT_THAT(Names(image.metadata.methods(0)),
              ElementsAre("aten.sigmoid.default", "aten.mul.Tensor"));
  const TestTensor a = TestTensor::Of<float>({3}, {1, 0, 4});
  const TestTensor b = TestTensor::Of<float>({3}, {0, 9, 0});
  const CallOutcome got = Run(image, "forward", {EValue(a.view()), EValue(b.view())});
  ASSERT_OK(got.status);
  EXPECT_THAT(ToVector<float>(*got.outputs[0].tensor()), ElementsAre(0.5f, 0, 2));

  const OneOperator gated_to_first("mylib.gated.default", "first");
  options.partitioners.all = {&gated_to_first};
  ASSERT_OK_AND_ASSIGN(const ProgramImage delegated, Lower(kProgram, {"forward"}, options));
  EXPECT_THAT(Names(delegated.metadata.methods(0)), ElementsAre("first"));
}

// A kernel may use operators that are decomposed in turn.
TEST_F(PipelineOptionsTest, DecomposesResultsOfCompositeKernels) {
  ASSERT_OK(ops_->Define({.schema = "mylib::flat(Tensor x, Tensor weight) -> Tensor"}));
  ASSERT_OK(ops_->SetCompositeKernel(
      "mylib.flat", CompositeKind::kImplicit, [](OpBuilder& b, const OpCall& call) {
        const Argument y = b.Call("aten.linear.default", {call["x"], call["weight"]});
        return std::vector<Argument>{b.Call("aten.flatten.using_ints", {y})};
      }));
  ASSERT_OK_AND_ASSIGN(const ProgramImage image, Lower(R"(program aten {
    graph(%x: f32[2,2] user_input, %w: f32[1,2] user_input) {
      %y: f32[2] = mylib.flat.default(%x, %w)
      return (%y user_output)
    }
  })",
                                                       {"forward"}, {}));
  const TestTensor x = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const TestTensor w = TestTensor::Of<float>({1, 2}, {10, 1});
  const CallOutcome got = Run(image, "forward", {EValue(x.view()), EValue(w.view())});
  ASSERT_OK(got.status);
  EXPECT_THAT(ToVector<float>(*got.outputs[0].tensor()), ElementsAre(12, 34));
}

// ---- Callbacks and reports

TEST_F(PipelineOptionsTest, CallersSeePhasesPassesAndPrograms) {
  PipelineOptions options;
  options.backends = &aot_;
  std::vector<std::string> phases, passes;
  double last = 0;
  options.progress = [&](std::string_view phase, double done) {
    if (phases.empty() || phases.back() != phase) phases.emplace_back(phase);
    last = done;
  };
  options.after_pass = [&](const PassReport& pass, const ExportedProgram&) {
    passes.push_back(pass.name);
  };
  options.partitioners.all = {&sin_to_first_};
  size_t partitioned = 0;
  options.after_to_backend = [&](const MethodPrograms& methods) { partitioned = methods.size(); };
  ASSERT_OK(Lower(kSinCos, {"forward"}, options).status());
  EXPECT_THAT(phases, ::testing::IsSupersetOf({"to_edge", "to_backend", "passes", "emit"}));
  EXPECT_EQ(phases.front(), "to_edge");
  EXPECT_EQ(phases.back(), "emit");
  EXPECT_EQ(last, 1.0);
  EXPECT_THAT(passes, ::testing::IsSupersetOf({"guards_to_assertions", "to_edge_ops"}));
  EXPECT_EQ(partitioned, 1u);
}

// Calls of a backend are counted together; each reason appears once.
TEST_F(PipelineOptionsTest, DelegationIsReportedByBackend) {
  constexpr std::string_view kWaves = R"(program aten {
  graph(%x: f32[2] user_input) {
    %a: f32[2] = aten.sin.default(%x)
    %b: f32[2] = aten.cos.default(%a)
    %c: f32[2] = aten.neg.default(%b)
    %d: f32[2] = aten.tan.default(%c)
    return (%d user_output)
  }
})";
  const OneOperator tan_to_first("aten.tan.default", "first");
  const OneOperator again("aten.cos.default", "second");
  PipelineOptions options;
  options.partitioners.all = {&sin_to_first_, &cos_to_second_, &tan_to_first, &again};
  ASSERT_OK(Lower(kWaves, {"forward"}, options).status());
  ASSERT_EQ(report_.delegation.size(), 3u);
  size_t calls = 0, nodes = 0;
  for (const DelegationReport& entry : report_.delegation) {
    calls += entry.delegate_calls;
    nodes += entry.nodes;
    EXPECT_EQ(entry.backend_id.empty(), &entry == &report_.delegation.back());
  }
  EXPECT_EQ(calls, 3u);
  EXPECT_EQ(nodes, 4u);
  ASSERT_EQ(report_.left_over.size(), 1u);
  EXPECT_EQ(report_.left_over[0].reason,
            "not aten.sin.default; not aten.cos.default; not aten.tan.default");
}

// Partitioners need backends; the report is optional, and callers may pass their own lists.
TEST_F(PipelineOptionsTest, PartitionersNeedBackendsButNoReport) {
  PipelineOptions options;
  options.partitioners.all = {&sin_to_first_};
  const auto lower = [&](PipelineReport* report) {
    MethodPrograms methods;
    methods.emplace_back("forward", ParseOrDie(kSinCos, *ops_));
    return LowerPrograms(std::move(methods), options, report).status();
  };
  EXPECT_THAT(lower(nullptr), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "partitioners were given, but no backends"));
  options.backends = &aot_;
  EXPECT_OK(lower(nullptr));
  std::vector<std::string> notes;
  std::vector<RejectedNode> rejections;
  options.to_backend.notes = &notes;
  options.to_backend.rejections = &rejections;
  PipelineReport report;
  EXPECT_OK(lower(&report));
  EXPECT_EQ(rejections.size(), 1u);
  ASSERT_EQ(report.left_over.size(), 1u);
  EXPECT_EQ(report.left_over[0].reason, "no partitioner requested it");  // no other information
}

TEST_F(PipelineOptionsTest, ErrorsNameThePhase) {
  const Pass fails = {"fails", [](ExportedProgram&) -> absl::StatusOr<bool> {
                        return absl::UnimplementedError("no way");
                      }};
  const Pass to_clone = {"to_clone", [this](ExportedProgram& program) -> absl::StatusOr<bool> {
                           program = ParseOrDie(R"(program edge {
                             graph(%x: f32[2] user_input) {
                               %y: f32[2] = edge.aten.clone.default(%x, memory_format=format:contiguous)
                               return (%y user_output)
                             }
                           })",
                                                *ops_);
                           return true;
                         }};
  PipelineOptions options;
  options.transform_passes.all = {fails};
  EXPECT_THAT(Lower(kSinCos, {"forward"}, options).status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("transform passes: method 'forward': pass fails: no way")));
  options = {};
  options.passes = {to_clone};
  EXPECT_THAT(Lower(kSinCos, {"forward"}, options).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("passes: method 'forward'"), HasSubstr("E4"))));
  options = {};
  options.constant_methods = {{"alone", {1}}};
  EXPECT_THAT(Lower(kSinCos, {}, options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected another method")));
  options = {};
  options.progress = [](std::string_view, double) {};
  PipelineReport report;
  for (const char* model : {"", "net"}) {
    EXPECT_THAT(LowerFiles({{"forward", "/no/such/archive.pt2", model}}, *ops_, options, &report),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("import: method 'forward'")));
  }
  EXPECT_FALSE(
      ImportMethods({{"forward", "/no/such/archive.pt2", ""}}, *ops_, options, nullptr).ok());
}

// Only TRAINING programs are converted to ATEN; others are unchanged.
TEST_F(PipelineOptionsTest, AtenStageConvertsTrainingPrograms) {
  const auto to_aten = [&](std::string_view text) {
    MethodPrograms methods;
    methods.emplace_back("forward", ParseOrDie(text, *ops_));
    return LowerToStage(std::move(methods), Stage::kAten, {}, nullptr);
  };
  ASSERT_OK_AND_ASSIGN(const MethodPrograms same, to_aten(kSinCos));
  EXPECT_EQ(PrintProgram(same[0].second), PrintProgram(ParseOrDie(kSinCos, *ops_)));
  EXPECT_THAT(to_aten(R"(program training {
  graph(%x: f32[1,2] user_input) {
    %e: f32[3,2]{strides=[0,1]} = aten.expand.default(%x, [3,2])
    %w: f32[3,2]{strides=[0,1]} = aten.mul_.Scalar(%e, 2)
    return (%w user_output)
  }
})")
                  .status(),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("passes: method 'forward'"), HasSubstr("share memory"))));
}

}  // namespace
}  // namespace belay::exir
