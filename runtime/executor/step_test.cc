// Method::Step, and observers of the values of a call.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/executor/testing/method_fixture.h"
#include "runtime/executor/testing/program_backend.h"
#include "runtime/trace/event_log.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr DType kF32 = DType::kFloat32;

class StepTest : public MethodTest {
 protected:
  StepTest() : program_backend_(kernels_, backends_) {
    EXPECT_OK(backends_.Add(&program_backend_));
  }

  // y = 2 * 2 * x; out = y + 1 if `flag`, else y.
  void AddBranch() {
    TestMethod& method = forward_;
    const uint32_t x = method.Input("x", kF32, {1});
    const uint32_t flag = method.ScalarInput("flag", schema::ScalarSlot::BOOL);
    const uint32_t y = method.Arena(kF32, {1}), z = method.Arena(kF32, {1});
    method.Call("test.add.Tensor", {x, x}, {y});
    method.Call("test.add.Tensor", {y, y}, {z});
    const uint32_t jump = method.JumpIfFalse(flag);
    method.Call("test.add.Tensor", {z, z}, {y});
    method.Move(y, z);
    method.LandHere(jump);
    method.Output(z);
  }
  absl::StatusOr<Method> LoadStepped(EventLog* log = nullptr) {
    ABSL_ASSIGN_OR_RETURN(Program opened, OpenFileBytes(program_.Serialize()));
    opened_.push_back(std::make_unique<Program>(std::move(opened)));
    return Method::Load(*opened_.back(), "forward", kernels_, backends_, {.events = {.log = log}});
  }
  // Steps to the end of a call; returns the executed instructions.
  static std::vector<size_t> Steps(Method& method) {
    std::vector<size_t> steps;
    while (true) {
      const absl::StatusOr<std::optional<size_t>> step = method.Step();
      EXPECT_OK(step);
      if (!step.ok() || !step->has_value()) return steps;
      steps.push_back(**step);
    }
  }
  static float Result(const Method& method) {
    return *method.GetOutput(0).get_if<TensorView>()->as<float>();
  }

  ProgramBackend program_backend_;
  const TestTensor x_ = TestTensor::Of<float>({1}, {3});
};

TEST_F(StepTest, ExecutesOneInstructionAtATime) {
  AddBranch();
  ASSERT_OK_AND_ASSIGN(Method method, LoadStepped());
  ASSERT_OK(method.SetInput(0, x_.view()));
  ASSERT_OK(method.SetInput(1, true));
  EXPECT_THAT(Steps(method), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(Result(method), 24);
  EXPECT_THAT(Steps(method), ElementsAre(0, 1, 2, 3, 4));  // another call
  ASSERT_OK(method.SetInput(1, false));
  EXPECT_THAT(Steps(method), ElementsAre(0, 1, 2));
  EXPECT_EQ(Result(method), 12);
}

TEST_F(StepTest, ValuesAreVisibleBetweenSteps) {
  AddBranch();
  ASSERT_OK_AND_ASSIGN(Method method, LoadStepped());
  ASSERT_OK(method.SetInput(0, x_.view()));
  ASSERT_OK(method.SetInput(1, true));
  ASSERT_OK_AND_ASSIGN(const std::optional<size_t> step, method.Step());
  ASSERT_EQ(step, 0);
  EXPECT_EQ(*method.instructions()[0].outputs[0]->get_if<TensorView>()->as<float>(), 6);
}

TEST_F(StepTest, ExecuteAndSetInputBeginAnotherCall) {
  AddBranch();
  ASSERT_OK_AND_ASSIGN(Method method, LoadStepped());
  ASSERT_OK(method.SetInput(0, x_.view()));
  ASSERT_OK(method.SetInput(1, false));
  ASSERT_OK(method.Step().status());
  ASSERT_OK(method.Execute());
  EXPECT_EQ(Result(method), 12);
  EXPECT_THAT(Steps(method), ElementsAre(0, 1, 2));
  ASSERT_OK(method.Step().status());
  ASSERT_OK(method.SetInput(1, true));
  EXPECT_THAT(Steps(method), ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(StepTest, ReturnsTheErrorsOfExecute) {
  AddBranch();
  ASSERT_OK_AND_ASSIGN(Method method, LoadStepped());
  EXPECT_THAT(method.Step().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("x")));
  ASSERT_OK(method.SetInput(0, x_.view()));
  ASSERT_OK(method.SetInput(1, false));
  const std::atomic<bool> cancel = true;
  ASSERT_OK(method.Step().status());
  EXPECT_THAT(method.Step({.cancel = &cancel}).status(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("instruction 1")));
  EXPECT_THAT(Steps(method), ElementsAre(0, 1, 2));
}

TEST_F(StepTest, LogsTheInstruction) {
  AddBranch();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<EventLog> log, EventLog::Create(100));
  ASSERT_OK_AND_ASSIGN(Method method, LoadStepped(log.get()));
  ASSERT_OK(method.SetInput(0, x_.view()));
  ASSERT_OK(method.SetInput(1, false));
  log->Clear();
  ASSERT_OK(method.Step().status());
  ASSERT_EQ(log->events().size(), 1);
  EXPECT_EQ(log->events()[0].kind, EventKind::kInstruction);
  EXPECT_EQ(log->events()[0].id, 0);
}

// Formats each value: "forward 0: 6".
class Recorder final : public ValueObserver {
 public:
  explicit Recorder(const EventLog& log) : log_(log) {}
  void OnOutputs(uint32_t owner, int64_t instruction, absl::Span<EValue* const> outputs) override {
    std::string text = absl::StrCat(log_.owners()[owner].name, " ", instruction, ":");
    for (const EValue* output : outputs) {
      absl::StrAppend(&text, " ", *output->get_if<TensorView>()->as<float>());
    }
    seen.push_back(text);
  }
  std::vector<std::string> seen;

 private:
  const EventLog& log_;
};

TEST_F(StepTest, ObserversSeeValuesBeforeTheirMemoryIsReused) {
  AddBranch();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<EventLog> log, EventLog::Create(100));
  Recorder recorder(*log);
  log->SetValueObserver(&recorder);
  ASSERT_OK_AND_ASSIGN(Method method, LoadStepped(log.get()));
  ASSERT_OK(method.SetInput(0, x_.view()));
  ASSERT_OK(method.SetInput(1, true));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(recorder.seen, ElementsAre("forward 0: 6", "forward 1: 12", "forward 3: 24"));
  recorder.seen.clear();
  ASSERT_OK(method.Step().status());
  EXPECT_THAT(recorder.seen, ElementsAre("forward 0: 6"));
  recorder.seen.clear();
  log->SetValueObserver(nullptr);
  ASSERT_OK(method.Execute());
  EXPECT_THAT(recorder.seen, IsEmpty());
}

TEST_F(StepTest, ObserversSeeValuesInsideDelegates) {
  TestProgram inner;
  {
    TestMethod method = inner.AddMethod("forward");
    const uint32_t x = method.Input("x", kF32, {1});
    const uint32_t y = method.Arena(kF32, {1}), z = method.Arena(kF32, {1});
    method.Call("test.add.Tensor", {x, x}, {y});
    method.Call("test.add.Tensor", {y, y}, {z});
    method.Output(z);
  }
  TestMethod& method = forward_;
  const uint32_t x = method.Input("x", kF32, {1});
  const uint32_t y = method.Arena(kF32, {1});
  method.Delegate(std::string(program_backend_.id()),
                  program_.AddSegment(schema::Segment::DELEGATE, inner.Serialize()), {x}, {y});
  method.Output(y);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<EventLog> log, EventLog::Create(100));
  Recorder recorder(*log);
  log->SetValueObserver(&recorder);
  ASSERT_OK_AND_ASSIGN(Method loaded, LoadStepped(log.get()));
  ASSERT_OK(loaded.SetInput(0, x_.view()));
  ASSERT_OK(loaded.Execute());
  EXPECT_THAT(recorder.seen, ElementsAre("forward 0: 6", "forward 1: 12", "forward 0: 12"));
}

}  // namespace
}  // namespace belay
