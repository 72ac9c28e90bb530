#include "tools/belay/first_difference.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"
#include "exir/ir/graph_editor.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/standard_kernels.h"
#include "tools/profile/testing/unary_call.h"

namespace belay::tools {
namespace {

using ::testing::HasSubstr;

// A relu that skips the last element.
absl::Status WrongRelu(KernelContext& context, const UnaryCall& call) {
  const TensorView* const in = call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, in->sizes));
  for (int64_t i = 0; i < in->numel(); ++i) {
    out->as<float>()[i] = i + 1 < in->numel() ? std::max(in->as<float>()[i], 0.0f) : -1.0f;
  }
  return absl::OkStatus();
}
constexpr Kernel kWrong[] = {
    KernelRow<&WrongRelu>("aten.relu.default", "self", "WrongRelu", KernelEngine::kHighway),
};
constexpr Kernel kWrongSin[] = {
    KernelRow<&WrongRelu>("aten.sin.default", "self", "WrongSin", KernelEngine::kHighway),
};

constexpr std::string_view kProgram = R"(program edge {
    graph(%x: f32[3] user_input) {
      %s: f32[3] = edge.aten.sin.default(%x)
      %r: f32[3] = edge.aten.relu.default(%s) @"m.py":12
      %c: f32[3] = edge.aten.cos.default(%r)
      return (%c user_output)
    } })";

// Replaces an operator before the backend sees it, in each part of a program that satisfies the
// test's condition.
class WrongBackend final : public exir::Backend {
 public:
  enum class When { kAlways, kNobodyElseLooks, kOneResult, kRefusesMore };
  WrongBackend(const exir::Backend& backend, const exir::OpOverload& wrong, When when)
      : backend_(backend), wrong_(wrong), when_(when) {}
  std::string_view id() const override { return backend_.id(); }
  absl::StatusOr<exir::PreprocessResult> Preprocess(
      exir::ExportedProgram program, absl::Span<const exir::CompileSpec> specs) const override {
    exir::Graph& graph = program.top();
    if (when_ == When::kRefusesMore && graph.outputs().size() > 1) {
      return absl::UnimplementedError("it gives one result");
    }
    exir::GraphEditor editor(graph);
    for (const exir::NodeId node : graph.NodeList()) {
      if (graph.node(node).name != "wrong" || !IsWrong(graph, node)) continue;
      editor.SetTarget(node, &wrong_);
    }
    return backend_.Preprocess(std::move(program), specs);
  }

 private:
  bool IsWrong(const exir::Graph& graph, exir::NodeId node) const {
    switch (when_) {
      case When::kAlways:
      case When::kRefusesMore:
        return true;
      case When::kNobodyElseLooks:  // as if it were fused with the node before it
        return !LooksAtAnArgument(graph, node);
      case When::kOneResult:  // as if the backend had another way for parts of several results
        return graph.outputs().size() == 1;
    }
    return false;
  }

  static bool LooksAtAnArgument(const exir::Graph& graph, exir::NodeId node) {
    bool looks = false;
    for (const exir::Argument& argument : graph.node(node).arguments) {
      exir::ForEachValue(argument,
                         [&](exir::ValueId value) { looks = looks || graph.IsOutput(value); });
    }
    return looks;
  }

  const exir::Backend& backend_;
  const exir::OpOverload& wrong_;
  const When when_;
};

// Everything is in one delegate per backend. Has a matmul, which backends require.
constexpr std::string_view kDelegated = R"(program edge {
    constants { state "w": f32[2,2] }
    graph(%w: f32[2,2] parameter "w", %x: f32[2,2] user_input) {
      %a: f32[2,2] = edge.aten.add.Tensor(%x, %x) @"m.py":10 handle=1
      %m: f32[2,2] = edge.aten.mm.default(%a, %w) @"m.py":11 handle=2
      %wrong: f32[2,2] = edge.aten.add.Tensor(%m, %a) @"m.py":12 handle=3
      %b: f32[2,2] = edge.aten.add.Tensor(%wrong, %x) @"m.py":13 handle=4
      %c: f32[2,2] = edge.aten.mul.Tensor(%b, %b) @"m.py":14 handle=5
      return (%c user_output)
    } })";

class FirstDifferenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(reference_));
    ASSERT_OK(AddStandardKernels(kernels_));
  }

  absl::StatusOr<std::optional<NodeDifference>> Find(std::string_view text) {
    const exir::ExportedProgram program = exir::ParseOrDie(text, *ops_);
    const LoweringSetup setup{.partitioners = {},
                              .aot = &AotBackends(),
                              .runtime = &RuntimeBackends(),
                              .kernels = &kernels_,
                              .reference = &reference_};
    return FindFirstDifference(program, {EValue(x_.view())}, setup, {.atol = 1e-5, .rtol = 1e-4});
  }

  // Returns the difference found if `backend` (a folder) gets all supported nodes, and computes
  // `wrong` instead of the node of that name.
  absl::StatusOr<std::optional<NodeDifference>> FindInDelegate(std::string_view backend,
                                                               std::string_view wrong,
                                                               WrongBackend::When when) {
    ABSL_ASSIGN_OR_RETURN(const auto partitioner, CreatePartitioner(backend, {}));
    const exir::ExportedProgram program = exir::ParseOrDie(kDelegated, *ops_);
    ABSL_ASSIGN_OR_RETURN(const exir::PartitionResult parts, partitioner->Partition(program));
    EXPECT_EQ(parts.nodes.size(), program.top().num_nodes()) << backend;
    EXPECT_EQ(parts.delegation.size(), 1u) << backend;
    ABSL_ASSIGN_OR_RETURN(const exir::Backend* right,
                          AotBackends().Find(parts.delegation[0].second.backend_id));
    const WrongBackend compiler(*right, *ops_->FindText(wrong), when);
    exir::BackendSet compilers;
    ABSL_RETURN_IF_ERROR(compilers.Add(&compiler));
    const LoweringSetup setup{.partitioners = {partitioner.get()},
                              .aot = &compilers,
                              .runtime = &RuntimeBackends(),
                              .kernels = &kernels_,
                              .reference = &reference_};
    return FindFirstDifference(program, {EValue(square_.view())}, setup,
                               {.atol = 1e-5, .rtol = 1e-4});
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry reference_, kernels_;
  const TestTensor square_ = TestTensor::Of<float>({2, 2}, {-1, 0.5, 1, -0.25});
  const TestTensor x_ = TestTensor::Of<float>({3}, {-1, 0.5, 1});
};

TEST_F(FirstDifferenceTest, NothingDiffers) {
  ASSERT_OK_AND_ASSIGN(const auto found, Find(kProgram));
  EXPECT_FALSE(found.has_value());
}

TEST_F(FirstDifferenceTest, NamesNodeWithSource) {
  ASSERT_OK(kernels_.Add(kWrong));
  ASSERT_OK_AND_ASSIGN(const auto found, Find(kProgram));
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->node, HasSubstr("%r: f32[3] = edge.aten.relu.default(%s) (m.py:12)"));
  EXPECT_EQ(found->backend, "");
  EXPECT_THAT(found->difference, HasSubstr("element 2: expected 0.84"));
  EXPECT_FALSE(found->alone);
}

TEST_F(FirstDifferenceTest, NamesNodeNextToDelegate) {
  ASSERT_OK(kernels_.Add(kWrongSin));
  ASSERT_OK_AND_ASSIGN(const auto partitioner, CreatePartitioner("demo", {}));
  const exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    graph(%x: f32[2,2] user_input) {
      %a: f32[2,2] = edge.aten.mm.default(%x, %x)
      %s: f32[2,2] = edge.aten.sin.default(%a)
      return (%s user_output)
    } })",
                                                         *ops_);
  const LoweringSetup setup{.partitioners = {partitioner.get()},
                            .aot = &AotBackends(),
                            .runtime = &RuntimeBackends(),
                            .kernels = &kernels_,
                            .reference = &reference_};
  ASSERT_OK_AND_ASSIGN(const auto found, FindFirstDifference(program, {EValue(square_.view())},
                                                             setup, {.atol = 1e-5, .rtol = 1e-4}));
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->node, HasSubstr("%s: f32[2,2] = edge.aten.sin.default(%a)"));
  EXPECT_EQ(found->backend, "");
}

TEST_F(FirstDifferenceTest, ReportsExecutionErrors) {
  const exir::ExportedProgram program = exir::ParseOrDie(kProgram, *ops_);
  const KernelRegistry none;
  const auto find = [&](const KernelRegistry& reference, const KernelRegistry& kernels,
                        const TestTensor& x) {
    const LoweringSetup setup{.partitioners = {},
                              .aot = &AotBackends(),
                              .runtime = &RuntimeBackends(),
                              .kernels = &kernels,
                              .reference = &reference};
    return FindFirstDifference(program, {EValue(x.view())}, setup, {});
  };
  EXPECT_THAT(find(none, kernels_, x_),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("sin")));
  EXPECT_THAT(find(reference_, none, x_), StatusIs(absl::StatusCode::kNotFound, HasSubstr("sin")));
  EXPECT_THAT(find(reference_, kernels_, square_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'x'")));
}

// Each backend executes its delegates as a whole: inner values become outputs, or the only output.
TEST_F(FirstDifferenceTest, NamesNodeInsideDelegate) {
  for (const std::string_view backend : {"demo", "cpu", "xnnpack"}) {
    using When = WrongBackend::When;
    for (const When when :
         {When::kAlways, When::kNobodyElseLooks, When::kOneResult, When::kRefusesMore}) {
      ASSERT_OK_AND_ASSIGN(const auto found, FindInDelegate(backend, "edge.aten.sub.Tensor", when));
      ASSERT_TRUE(found.has_value()) << backend;
      EXPECT_THAT(found->node,
                  HasSubstr("%wrong: f32[2,2] = edge.aten.add.Tensor(%m, %a) (m.py:12)"))
          << backend;
      EXPECT_EQ(found->backend, backend == "xnnpack" ? "XnnpackBackend" : backend);
      EXPECT_EQ(found->alone, when != When::kAlways) << backend;
      EXPECT_EQ(found->cut, when == When::kOneResult || when == When::kRefusesMore) << backend;
    }
  }
}

}  // namespace
}  // namespace belay::tools
