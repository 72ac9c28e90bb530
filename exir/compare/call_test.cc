#include "exir/compare/call.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/emit/emitter.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Adds the input to its state; `written` is the new value of the input.
std::string Counter(std::string_view written, std::string_view result = "%a") {
  return absl::StrCat(R"(program edge {
    constants { state "n": f32[1] }
    graph(%n: f32[1] buffer "n", %x: f32[1] user_input) {
      %a: f32[1] = edge.aten.add.Tensor(%n, %x)
      %b: f32[1] = edge.aten.mul.Tensor(%a, %a)
      return (%a buffer_mutation "n", )",
                      std::string(written), R"( user_input_mutation "x", )", std::string(result),
                      R"( user_output)
    } })");
}

class CallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(kernels_));
    const TestTensor x = TestTensor::Of<float>({1}, {2});
    ASSERT_OK_AND_ASSIGN(OwnedValue input, OwnedValue::Borrow(x.view(), true).Copy());
    calls_ = {{input}, {input}};
  }
  std::vector<CallOutcome> Interpret(const std::string& text) {
    const ExportedProgram program = ParseOrDie(text, *ops_);
    auto interpreter = Interpreter::Create(program, kernels_);
    EXPECT_OK(interpreter.status());
    return RunCalls(*interpreter, calls_);
  }
  std::vector<CallOutcome> Execute(const std::string& text) {
    MethodPrograms methods;
    methods.emplace_back("forward", ParseOrDie(text, *ops_));
    auto image = EmitProgram(methods);
    EXPECT_OK(image.status());
    auto program = OpenImage(*image);
    EXPECT_OK(program.status());
    auto method = Method::Load(*program, "forward", kernels_, backends_);
    EXPECT_OK(method.status());
    return RunCalls(*method, calls_);
  }

  std::unique_ptr<OpRegistry> ops_;
  KernelRegistry kernels_;
  BackendRegistry backends_;
  CallSequence calls_;
};

TEST_F(CallTest, RecordsOutcomeAndPreservesInputs) {
  for (const auto& outcomes : {Interpret(Counter("%b")), Execute(Counter("%b"))}) {
    ASSERT_EQ(outcomes.size(), 2u);
    ASSERT_OK(outcomes[1].status);
    EXPECT_THAT(ToVector<float>(*outcomes[0].outputs[0].tensor()), ElementsAre(2));
    EXPECT_THAT(ToVector<float>(*outcomes[1].outputs[0].tensor()), ElementsAre(4));
    EXPECT_THAT(ToVector<float>(*outcomes[1].inputs[0].tensor()), ElementsAre(16));
    EXPECT_THAT(ToVector<float>(*outcomes[0].state.at("n").tensor()), ElementsAre(2));
    EXPECT_THAT(ToVector<float>(*outcomes[1].state.at("n").tensor()), ElementsAre(4));
  }
  EXPECT_THAT(ToVector<float>(*calls_[0][0].tensor()), ElementsAre(2));
  EXPECT_EQ(FirstDifference(Interpret(Counter("%b")), Execute(Counter("%b")), kIdentical), "");
}

TEST_F(CallTest, ReportsFirstDifferingCallAndValue) {
  EXPECT_EQ(FirstDifference(Interpret(Counter("%b")), Execute(Counter("%a")), kIdentical),
            "call 0: input 0 afterwards: 1 of 1 elements differ; element 0: expected 4, got 2");
  EXPECT_THAT(FirstDifference(Interpret(Counter("%a")), Execute(Counter("%a", "%n")), kIdentical),
              HasSubstr("call 0: output 0: "));
  auto want = Interpret(Counter("%a")), got = Execute(Counter("%a"));
  got[1].state["n"] = calls_[0][0];
  EXPECT_THAT(FirstDifference(want, got, kIdentical), HasSubstr("call 1: state 'n': "));
  got[1].state.clear();  // as if a delegate owned it
  EXPECT_EQ(FirstDifference(want, got, kIdentical), "");
}

TEST_F(CallTest, PartsMayHaveSeparateCloseness) {
  CallCloseness closeness(kIdentical);
  closeness.outputs[0] = kAnyElements;
  const auto want = Interpret(Counter("%a", "%b")), got = Execute(Counter("%a", "%n"));
  EXPECT_NE(FirstDifference(want, got, kIdentical), "");
  EXPECT_EQ(FirstDifference(want, got, closeness), "");
  auto none = got;
  none[0].outputs[0] = OwnedValue();
  EXPECT_NE(FirstDifference(want, none, closeness), "");

  auto other = got;
  other[0].inputs[0] =
      OwnedValue::Borrow(TestTensor::Of<float>({1}, {9}).view(), true).Copy().value();
  EXPECT_THAT(FirstDifference(want, other, closeness), HasSubstr("input 0 afterwards"));
  closeness.inputs[0] = kAnyElements;
  EXPECT_EQ(FirstDifference(want, other, closeness), "");
  other[1].state["n"] = other[0].inputs[0];
  EXPECT_THAT(FirstDifference(want, other, closeness), HasSubstr("call 1: state 'n': "));
  closeness.state["n"] = kAnyElements;
  EXPECT_EQ(FirstDifference(want, other, closeness), "");
}

TEST_F(CallTest, FailedCallsAreEqualAndEndTheSequence) {
  calls_[0].push_back(calls_[0][0]);
  const auto want = Interpret(Counter("%a")), got = Execute(Counter("%a"));
  ASSERT_EQ(want.size(), 1u);
  EXPECT_THAT(want[0].status, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(got[0].status,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1 inputs, got 2")));
  EXPECT_EQ(FirstDifference(want, got, kIdentical), "");
  EXPECT_THAT(FirstDifference({}, got, kIdentical), HasSubstr("call 0: expected no call, got "));
  EXPECT_THAT(FirstDifference(want, {}, kIdentical), HasSubstr(", got no call"));
}

TEST_F(CallTest, FailedCallDiffersFromSuccessfulCall) {
  const auto want = Interpret(Counter("%a"));
  auto got = want;
  got[1] = CallOutcome();
  got[1].status = absl::InternalError("broken");
  EXPECT_EQ(FirstDifference(want, got, kIdentical), "call 1: expected OK, got INTERNAL: broken");
  EXPECT_EQ(FirstDifference(got, want, kIdentical), "call 1: expected INTERNAL: broken, got OK");
}

TEST_F(CallTest, ComparesNumberOfOutputsAndInputs) {
  const auto want = Interpret(Counter("%a"));
  auto got = want;
  got[0].outputs.emplace_back();
  EXPECT_EQ(FirstDifference(want, got, kIdentical), "call 0: outputs: expected 1, got 2");
  got = want;
  got[0].inputs.clear();  // some engines do not provide them
  EXPECT_EQ(FirstDifference(want, got, kIdentical), "");
  EXPECT_EQ(FirstDifference(got, want, kIdentical), "");
  got[0].outputs[0] = OwnedValue();
  EXPECT_THAT(FirstDifference(want, got, kIdentical), HasSubstr("call 0: output 0: "));
}

TEST_F(CallTest, SupportsStringAndScalarInputs) {
  calls_ = {{calls_[0][0], OwnedValue::String("mean"), OwnedValue::Scalar(EValue(int64_t{3}))}};
  const auto outcomes = Interpret(R"(program edge {
    graph(%x: f32[1] user_input, %s: const("mean") constant_input, %n: symint(s0) user_input) {
      return (%n user_output)
    } })");
  ASSERT_EQ(outcomes.size(), 1u);
  ASSERT_OK(outcomes[0].status);
  EXPECT_EQ(*outcomes[0].outputs[0].value().get_if<int64_t>(), 3);
  EXPECT_EQ(*outcomes[0].inputs[1].value().get_if<std::string_view>(), "mean");
}

}  // namespace
}  // namespace belay::exir
