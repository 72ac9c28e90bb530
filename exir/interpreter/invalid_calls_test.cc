// Programs and calls that the interpreter rejects, and values of every kind that it accepts.
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/builder/op_builder.h"
#include "exir/builder/op_call.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InvalidCallsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  absl::StatusOr<Interpreter> Make(std::string_view text, InterpreterOptions options = {}) {
    programs_.push_back(std::make_unique<ExportedProgram>(ParseOrDie(text, *ops_)));
    return Interpreter::Create(*programs_.back(), kernels_, std::move(options));
  }
  absl::StatusOr<std::vector<OwnedValue>> Run(std::string_view text,
                                              const std::vector<EValue>& inputs) {
    ABSL_ASSIGN_OR_RETURN(Interpreter interpreter, Make(text));
    return interpreter.Run(inputs);
  }

  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
  KernelRegistry kernels_;
  std::vector<std::unique_ptr<ExportedProgram>> programs_;
  const TestTensor two_ = TestTensor::Of<float>({2}, {1, 2});
};

TEST_F(InvalidCallsTest, RejectsIncompletePrograms) {
  ASSERT_OK(ops_->Define({.schema = "mylib::nometa(Tensor x) -> Tensor"}).status());
  ASSERT_OK(ops_->Define({.schema = "mylib::nokernel(Tensor x) -> Tensor",
                          .meta = [](MetaContext& context) -> absl::Status {
                            context.SetTensor(0, DType::kFloat32, {2});
                            return absl::OkStatus();
                          }})
                .status());
  struct Case {
    std::string_view text;
    absl::StatusCode code;
    std::string_view error;
  };
  for (
      const Case& c : {
          Case{
              "program aten { graph(%x: f32[2] user_input) { %a: f32[2] = mylib.nometa.default(%x) "
              "return (%a user_output) } }",
              absl::StatusCode::kUnimplemented, "the operator has no schema or no meta kernel"},
          Case{"program aten { graph(%x: f32[2] user_input) { %a: f32[2] = "
               "mylib.nokernel.default(%x) "
               "return (%a user_output) } }",
               absl::StatusCode::kUnimplemented, "the operator has no kernel"},
          Case{
              "program aten { graph(%o: object(\"a.B\") custom_obj \"o\", %x: f32[2] user_input) { "
              "return (%x user_output) } }",
              absl::StatusCode::kUnimplemented, "input 'o': custom object o"},
          Case{"program edge { graph(%w: f32[2] parameter \"w\", %x: f32[2] user_input) { "
               "return (%x user_output) } }",
               absl::StatusCode::kInvalidArgument, "constant 'w' has no tensor in the program"},
          Case{"program edge { graph(%x: f32[2] user_input) { %y: f32[2] = "
               "higher_order.executorch_call_delegate(%x) return (%y user_output) } }",
               absl::StatusCode::kInvalidArgument, "a delegate call without a lowered module"},
      }) {
    EXPECT_THAT(Make(c.text), StatusIs(c.code, HasSubstr(std::string(c.error)))) << c.text;
  }
}

TEST_F(InvalidCallsTest, LimitsDelegateNesting) {
  constexpr std::string_view kText = R"(program edge {
    graph(%x: f32[2] user_input) {
      %y: f32[2] = higher_order.executorch_call_delegate(module#0, %x)
      return (%y user_output)
    }
    module#0 backend "b" specs [] { program edge {
      graph(%x: f32[2] user_input) { %m: f32[2] = edge.aten.neg.default(%x) return (%m user_output) } } }
  })";
  EXPECT_OK(Make(kText, {.max_nesting = 1}));
  EXPECT_THAT(Make(kText, {.max_nesting = 0}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("delegates are nested more than 0 deep")));
}

TEST_F(InvalidCallsTest, DelegatesAcceptAllValueKinds) {
  EXPECT_THAT(Run(R"(program edge {
    graph(%x: f32[2] user_input) {
      %y: f32[2] = higher_order.executorch_call_delegate(module#0, [%x])
      return (%y user_output)
    }
    module#0 backend "b" specs [] { program edge {
      graph(%x: f32[2] user_input) { return (%x user_output) } } }
  })",
                  {EValue(two_.view())}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("has no run-time value")));
}

TEST_F(InvalidCallsTest, InputsMustHaveDeclaredKind) {
  struct Case {
    std::string_view type;
    EValue input;
    std::string_view error;  // "" for none
  };
  const std::string_view text = "mean";
  TensorView short_strides = two_.view(), uncountable = two_.view();
  short_strides.strides = {};
  uncountable.sizes = {int64_t{1} << 40, int64_t{1} << 40};
  uncountable.strides = {1, 1};
  for (const Case& c : {
           Case{"symint(s0) user_input", EValue(int64_t{3}), ""},
           Case{"symint(s0) user_input", EValue(3.0), "expected symint(s0), got"},
           Case{"symint(s0) user_input", EValue(text), "expected symint(s0), got"},
           Case{"symint(s1) user_input", EValue(int64_t{8}), ""},
           Case{"symint(s1) user_input", EValue(int64_t{9}), "s1 is 9, expected 2 to 8"},
           Case{"symint(s1) user_input", EValue(int64_t{1}), "s1 is 1, expected 2 to 8"},
           Case{"symint(7) user_input", EValue(int64_t{8}), "expected 7, got 8"},
           // The symbol cannot be derived from the value.
           Case{"symint(2*s1) user_input", EValue(int64_t{3}), ""},
           Case{"symfloat(zf0) user_input", EValue(3.5), ""},
           Case{"symfloat(zf0) user_input", EValue(int64_t{3}), "expected symfloat(zf0), got"},
           Case{"symbool(Eq(s0, 1)) user_input", EValue(true), ""},
           Case{"symbool(Eq(s0, 1)) user_input", EValue(int64_t{1}), "got int"},
           Case{"f32[2] user_input", EValue(two_.view()), ""},
           Case{"f32[2] user_input", EValue(int64_t{1}), "expected f32[2], got int"},
           Case{"f32[2] user_input", EValue(short_strides), "no valid tensor"},
           Case{"f32[2] user_input", EValue(uncountable), "no valid tensor"},
           Case{"const(\"mean\") constant_input", EValue(text), ""},
           Case{"const(\"mean\") constant_input", EValue(), ""},
           Case{"const(\"sum\") constant_input", EValue(text), "fixed at export, got another"},
           Case{"const(\"sum\") constant_input", EValue(int64_t{1}),
                "fixed at export, got another"},
           Case{"const(2.5) constant_input", EValue(2.5), ""},
           Case{"const(2.5) constant_input", EValue(int64_t{2}), "fixed at export, got another"},
           Case{"const(true) constant_input", EValue(false), "fixed at export, got another"},
       }) {
    const auto results =
        Run(absl::StrCat("program edge { ranges { s1: [2, 8] } graph(%a: ", std::string(c.type),
                         ") { return (%a user_output) } }"),
            {c.input});
    if (c.error.empty()) {
      EXPECT_OK(results) << c.type;
    } else {
      EXPECT_THAT(results, StatusIs(absl::StatusCode::kInvalidArgument,
                                    AllOf(HasSubstr("'a'"), HasSubstr(std::string(c.error)))))
          << c.type;
    }
  }
}

TEST_F(InvalidCallsTest, ResultsMustHaveValues) {
  EXPECT_THAT(Run("program edge { graph(%x: f32[2] user_input) { return ([%x] user_output) } }",
                  {EValue(two_.view())}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("has no run-time value")));
  ASSERT_OK_AND_ASSIGN(const auto results,
                       Run("program edge { graph(%t: token token, %x: f32[2] user_input) { "
                           "return (%t token, %x user_output) } }",
                           {EValue(two_.view())}));
  EXPECT_EQ(results.size(), 1u);  // a token is not a result
}

TEST_F(InvalidCallsTest, MutationsMustMatchTensorShapes) {
  struct Case {
    std::string_view output;
    std::string_view error;
  };
  for (const Case& c : {
           Case{"%x user_input_mutation \"zzz\"", "of 'zzz', which is not a tensor of the program"},
           Case{"%x user_input_mutation \"k\"", "of 'k', which is not a tensor of the program"},
           Case{"7 user_input_mutation \"x\"", "of 'x', which is not a tensor of the program"},
           Case{"%y user_input_mutation \"x\"", "'x' is f32[2], its new value f32[3]"},
           Case{"%i user_input_mutation \"x\"", "'x' is f32[2], its new value i64[2]"},
           Case{"%y buffer_mutation \"n\"", "'n' is f32[2], its new value f32[3]"},
       }) {
    const TestTensor x = TestTensor::Of<float>({2}, {1, 2}),
                     y = TestTensor::Of<float>({3}, {1, 2, 3});
    const TestTensor i = TestTensor::Of<int64_t>({2}, {1, 2});
    EXPECT_THAT(
        Run(absl::StrCat("program edge { constants { state \"n\": f32[2] } graph(%n: f32[2] "
                         "buffer \"n\", %k: symint(s0) user_input, %x: f32[2] user_input, "
                         "%y: f32[3] user_input, %i: i64[2] user_input) { return (",
                         std::string(c.output), ") } }"),
            {EValue(int64_t{1}), EValue(x.view()), EValue(y.view()), EValue(i.view())}),
        StatusIs(absl::StatusCode::kInternal, HasSubstr(std::string(c.error))))
        << c.output;
    EXPECT_THAT(ToVector<float>(x.view()), ElementsAre(1, 2));  // nothing was written
  }
}

TEST_F(InvalidCallsTest, InputsWithSameNameShareTensor) {
  ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Make(R"(program edge {
    constants { state "n": f32[2] }
    graph(%n: f32[2] buffer "n", %m: f32[2] buffer "n", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%m, %x)
      return (%a buffer_mutation "n", %n user_output)
    } })"));
  ASSERT_OK(interpreter.Run({EValue(two_.view())}));
  ASSERT_OK_AND_ASSIGN(const auto results, interpreter.Run({EValue(two_.view())}));
  EXPECT_THAT(ToVector<float>(*results[0].tensor()), ElementsAre(1, 2));
  EXPECT_THAT(interpreter.StateNames(), ElementsAre("n"));
  // State has a name and a type.
  EXPECT_THAT(interpreter.SetState("zzz", two_), StatusIs(absl::StatusCode::kNotFound));
  for (const TestTensor& other :
       {TestTensor::Of<int64_t>({2}, {1, 2}), TestTensor::Of<float>({3}, {1, 2, 3})}) {
    EXPECT_THAT(interpreter.SetState("n", other),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected f32[2], got")));
  }
}

// Found by name, at any position; delegate state, too.
TEST_F(InvalidCallsTest, FindsStateByName) {
  ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Make(R"(program edge {
    constants { state "n": f32[2] state "w": f32[2] }
    graph(%x: f32[2] user_input, %w: f32[2] parameter "w", %n: f32[2] buffer "n") {
      %a: f32[2] = edge.aten.add.Tensor(%n, %x)
      %y: f32[2] = higher_order.executorch_call_delegate(module#0, %x)
      %z: f32[2] = higher_order.executorch_call_delegate(module#1, %x)
      return (%a buffer_mutation "n", %y user_output, %z user_output)
    }
    module#0 backend "b" specs [] { program edge {
      graph(%x: f32[2] user_input) { return (%x user_output) } } }
    module#1 backend "b" specs [] { program edge {
      constants { state "m": f32[2] }
      graph(%m: f32[2] buffer "m", %x: f32[2] user_input) {
        %s: f32[2] = edge.aten.sub.Tensor(%m, %x)
        return (%s buffer_mutation "m", %s user_output) } } }
  })"));
  ASSERT_OK(interpreter.Run({EValue(two_.view())}));
  ASSERT_OK_AND_ASSIGN(const TensorView n, interpreter.GetState("n"));
  EXPECT_THAT(ToVector<float>(n), ElementsAre(1, 2));
  ASSERT_OK_AND_ASSIGN(const TensorView m, interpreter.GetState("m"));
  EXPECT_THAT(ToVector<float>(m), ElementsAre(-1, -2));
  EXPECT_THAT(
      interpreter.GetState("w"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("unknown state 'w'; the program has: m, n")));
}

// Work is charged to the calling thread's budget, before and after a kernel.
TEST_F(InvalidCallsTest, KernelsObeyBudget) {
  constexpr std::string_view kText =
      "program edge { graph(%x: f32[2,2] user_input, %n: i64[] user_input) { %m: f32[2,2] = "
      "edge.aten.mm.default(%x, %x) return (%m user_output) } }";
  const TestTensor x = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4}),
                   n = TestTensor::Of<int64_t>({}, {1});
  const auto run = [&](Budget& budget) {
    const Budget::Scope scope(&budget);
    return Run(kText, {EValue(x.view()), EValue(n.view())}).status();
  };
  Budget measured;
  ASSERT_OK(run(measured));
  ASSERT_GT(measured.work.taken, 1u);
  for (const uint64_t allowed : {uint64_t{0}, measured.work.taken - 1}) {
    Budget budget;
    budget.work.allowed = allowed;
    EXPECT_THAT(run(budget), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("%m")));
  }
  Budget late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_THAT(run(late), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("%m")));
}

TEST_F(InvalidCallsTest, OnlyBuffersOfTrainingProgramsAreState) {
  ASSERT_OK_AND_ASSIGN(Interpreter interpreter, Make(R"(program training {
    constants { state "b": f32[2] state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %b: f32[2] buffer "b", %x: f32[2] user_input) {
      %a: f32[2] = aten.copy_.default(%b, %x)
      return (%a user_output)
    } })"));
  EXPECT_THAT(interpreter.StateNames(), ElementsAre("b"));
  ASSERT_OK(interpreter.Run({EValue(two_.view())}));
  ASSERT_OK_AND_ASSIGN(const TensorView state, interpreter.GetState("b"));
  EXPECT_THAT(ToVector<float>(state), ElementsAre(1, 2));
}

TEST_F(InvalidCallsTest, CompositeKernelsAcceptAllValueKinds) {
  ASSERT_OK_AND_ASSIGN(
      const OpOverload* op,
      ops_->Define({.schema = "mylib::kinds(Tensor x, int i, float f, bool b, str s, int? n) -> "
                              "(Tensor[], Tensor, Tensor)"}));
  std::vector<std::string> kinds;
  ASSERT_OK(ops_->SetCompositeKernel(
      op->name(), CompositeKind::kExplicit, [&](OpBuilder& b, const OpCall& call) {
        kinds = {absl::StrCat(call.Int("i")), absl::StrCat(call.Double("f")),
                 call.Bool("b") ? "true" : "false", call.String("s"),
                 call.IsNone("n") ? "none" : ""};
        const Argument twice = b.Call("aten.add.Tensor", {call["x"], call["x"]});
        return std::vector<Argument>{Argument::List{call["x"], twice}, Argument(), twice};
      }));
  ASSERT_OK_AND_ASSIGN(const auto results, Run(R"(program edge {
    graph(%x: f32[2] user_input, %i: symint(s0) user_input, %f: symfloat(zf0) user_input,
          %b: symbool(Eq(s0, 1)) user_input, %s: const("mean") constant_input,
          %n: const(none) constant_input) {
      [%a: f32[2], %c: f32[2]], none, %d: f32[2] = edge.mylib.kinds.default(%x, %i, %f, %b, %s, %n)
      return (%a user_output, %c user_output, %d user_output)
    } })",
                                               {EValue(two_.view()), EValue(int64_t{4}),
                                                EValue(2.5), EValue(true), EValue(), EValue()}));
  EXPECT_THAT(kinds, ElementsAre("4", "2.5", "true", "mean", "none"));
  EXPECT_THAT(ToVector<float>(*results[0].tensor()), ElementsAre(1, 2));
  EXPECT_THAT(ToVector<float>(*results[1].tensor()), ElementsAre(2, 4));
  EXPECT_THAT(ToVector<float>(*results[2].tensor()), ElementsAre(2, 4));
}

}  // namespace
}  // namespace belay::exir
