// Operators that only have a composite kernel.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/builder/op_shorthand.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr MetaFn kLikeFirst = [](MetaContext& context) -> absl::Status {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* tensor, context.Tensor(0));
  context.SetOutput(0, *tensor);
  return absl::OkStatus();
};

// Each test defines its own operators.
class CompositeKernelTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  absl::Status Define(const OpDef& def, CompositeKind kind, CompositeFn kernel) {
    ABSL_ASSIGN_OR_RETURN(const OpOverload* op, ops_->Define(def));
    return ops_->SetCompositeKernel(op->name(), kind, std::move(kernel));
  }
  absl::StatusOr<std::vector<OwnedValue>> Run(std::string_view text,
                                              const std::vector<EValue>& inputs,
                                              InterpreterOptions options = {}) {
    const ExportedProgram program = ParseOrDie(text, *ops_);
    ABSL_ASSIGN_OR_RETURN(Interpreter interpreter,
                          Interpreter::Create(program, kernels_, std::move(options)));
    return interpreter.Run(inputs);
  }
  static std::vector<float> Floats(const OwnedValue& datum) {
    return ToVector<float>(*datum.tensor());
  }

  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
  KernelRegistry kernels_;
};

TEST_F(CompositeKernelTest, CallsBothKinds) {
  ASSERT_OK(Define({.schema = "mylib::scaled(Tensor x, SymInt by) -> Tensor"},
                   CompositeKind::kExplicit, [](OpBuilder& b, const OpCall& call) {
                     return std::vector<Argument>{Mul(b, call["x"], OpArgument(call["by"]))};
                   }));
  // Calls the other operator.
  ASSERT_OK(Define({.schema = "mylib::ends(Tensor[] xs, Tensor? bias) -> (Tensor, Tensor)"},
                   CompositeKind::kImplicit, [](OpBuilder& b, const OpCall& call) {
                     const std::vector<Argument> xs = call.List("xs");
                     const Argument last = b.Call("mylib.scaled.default", {xs.back(), 10});
                     return std::vector<Argument>{
                         xs.front(), call.IsNone("bias") ? last : Add(b, last, call["bias"])};
                   }));
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2}), y = TestTensor::Of<float>({1}, {5});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program edge {
    ranges { s0: [1, 4] }
    graph(%x: f32[s0] user_input, %y: f32[1] user_input) {
      %n: symint(s0) = aten.sym_size.int(%x, 0)
      %s: f32[s0] = edge.mylib.scaled.default(%x, %n)
      %a: f32[s0], %b: f32[1] = edge.mylib.ends.default([%s, %x, %y], none)
      %c: f32[s0], %d: f32[1] = edge.mylib.ends.default([%s, %y], %y)
      return (%a user_output, %b user_output, %d user_output)
    } })",
                                               {EValue(x.view()), EValue(y.view())}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(2, 4));
  EXPECT_THAT(Floats(results[1]), ElementsAre(50));
  EXPECT_THAT(Floats(results[2]), ElementsAre(55));
}

TEST_F(CompositeKernelTest, IsUsedOnlyWithoutOtherKernel) {
  ASSERT_OK(ops_->SetCompositeKernel("aten.relu", CompositeKind::kExplicit,
                                     [](OpBuilder& b, const OpCall& call) {
                                       return std::vector<Argument>{Unary(b, "neg", call["self"])};
                                     }));
  const TestTensor x = TestTensor::Of<float>({2}, {1, -2});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program edge {
    graph(%x: f32[2] user_input) {
      %r: f32[2] = edge.aten.relu.default(%x)
      return (%r user_output)
    } })",
                                               {EValue(x.view())}));
  EXPECT_THAT(Floats(results[0]), ElementsAre(1, 0));
}

TEST_F(CompositeKernelTest, CreatedNodesAreNotObserved) {
  ASSERT_OK(Define({.schema = "mylib::op(Tensor x) -> Tensor"}, CompositeKind::kExplicit,
                   [](OpBuilder& b, const OpCall& call) {
                     return std::vector<Argument>{Unary(b, "neg", Unary(b, "abs", call["x"]))};
                   }));
  std::vector<std::string> seen;
  InterpreterOptions options;
  options.observer = [&](const NodeEvent& event) {
    seen.push_back(event.program.graphs[event.graph].node(event.node).name);
    return absl::OkStatus();
  };
  const TestTensor x = TestTensor::Of<float>({1}, {3});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program edge {
    graph(%x: f32[1] user_input) {
      %r: f32[1] = edge.mylib.op.default(%x)
      return (%r user_output)
    } })",
                                               {EValue(x.view())}, options));
  EXPECT_THAT(Floats(results[0]), ElementsAre(-3));
  EXPECT_THAT(seen, ElementsAre("r"));
}

struct Failure {
  const char* what;
  MetaFn meta;  // of the operator
  CompositeFn kernel;
  absl::StatusCode code;
  const char* message;
};

TEST_F(CompositeKernelTest, FailuresNameTheNode) {
  const CompositeFn calls_itself = [](OpBuilder& b, const OpCall& call) {
    return b.CallAll(call.op(), call.arguments());
  };
  const Failure failures[] = {
      {"its own", nullptr,
       [](OpBuilder& b, const OpCall&) {
         b.Unsupported("not today");
         return std::vector<Argument>();
       },
       absl::StatusCode::kUnimplemented, "not today"},
      {"no result", nullptr, [](OpBuilder&, const OpCall&) { return std::vector<Argument>(); },
       absl::StatusCode::kInternal, "returns 0 results instead of 1"},
      {"no tensor", nullptr, [](OpBuilder&, const OpCall&) { return std::vector<Argument>{7}; },
       absl::StatusCode::kInternal, "declares 'r' as f32[1]"},
      {"itself", nullptr, calls_itself, absl::StatusCode::kInternal, "leads back to itself"},
      // With a meta kernel, each call becomes a node.
      {"itself, with a meta kernel", kLikeFirst, calls_itself, absl::StatusCode::kResourceExhausted,
       "more than 100 deep"},
      {"an operator without kernel", nullptr,
       [](OpBuilder& b, const OpCall& call) {
         return b.CallAll("mylib.bare.default", {call["x"]});
       },
       absl::StatusCode::kUnimplemented, "the operator has no kernel"},
  };
  const TestTensor x = TestTensor::Of<float>({1}, {1});
  ASSERT_OK(ops_->Define({.schema = "mylib::bare(Tensor x) -> Tensor", .meta = kLikeFirst}));
  int number = 0;
  for (const Failure& failure : failures) {
    SCOPED_TRACE(failure.what);
    const std::string op = absl::StrCat("op", number++);
    const std::string schema = absl::StrCat("mylib::", op, "(Tensor x) -> Tensor");
    ASSERT_OK(
        Define({.schema = schema, .meta = failure.meta}, CompositeKind::kExplicit, failure.kernel));
    const std::string text =
        absl::StrCat("program edge { graph(%x: f32[1] user_input) { %r: f32[1] = edge.mylib.", op,
                     ".default(%x) return (%r user_output) } }");
    EXPECT_THAT(Run(text, {EValue(x.view())}),
                StatusIs(failure.code, AllOf(HasSubstr(failure.message), HasSubstr("%r"))));
  }
}

TEST_F(CompositeKernelTest, ResultCountMustMatchSchema) {
  ASSERT_OK(Define({.schema = "mylib::op(Tensor x) -> Tensor"}, CompositeKind::kExplicit,
                   [](OpBuilder& b, const OpCall& call) {
                     return std::vector<Argument>{Unary(b, "neg", call["x"])};
                   }));
  const TestTensor x = TestTensor::Of<float>({1}, {1});
  for (const std::string_view op : {"mylib.op", "aten.neg"}) {
    EXPECT_THAT(Run(absl::StrCat("program edge { graph(%x: f32[1] user_input) { %r: f32[1], %s: "
                                 "f32[1] = edge.",
                                 op, ".default(%x) return (%r user_output) } }"),
                    {EValue(x.view())}),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("expected 2 results, got 1")))
        << op;
  }
}

// Dtypes cannot be program inputs, but they can be subgraph inputs.
TEST_F(CompositeKernelTest, SupportsDtypesInSubgraphs) {
  ASSERT_OK(Define({.schema = "mylib::to(Tensor x, ScalarType d) -> Tensor"},
                   CompositeKind::kExplicit, [](OpBuilder& b, const OpCall& call) {
                     return std::vector<Argument>{
                         Cast(b, call["x"], call.DtypeOr("d", DType::kFloat32))};
                   }));
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program aten {
    graph(%x: f32[2] user_input) {
      %r: i64[2] = higher_order.wrap_with_set_grad_enabled(true, graph#1, %x, dtype:i64)
      return (%r user_output)
    }
    graph g(%a: f32[2], %d: const(none)) {
      %c: i64[2] = mylib.to.default(%a, %d)
      return (%c)
    } })",
                                               {EValue(x.view())}));
  EXPECT_THAT(ToVector<int64_t>(*results[0].tensor()), ElementsAre(1, 2));
}

}  // namespace
}  // namespace belay::exir
