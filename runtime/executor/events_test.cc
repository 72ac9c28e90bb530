// Events logged by methods.
#include <memory>
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

constexpr DType kF32 = DType::kFloat32;

// out = x; logs two steps, "first" and 7.
class SteppingBackend final : public BackendRuntime {
 public:
  std::string_view id() const override { return "stepping"; }
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(const DelegateInitContext& context,
                                                       absl::Span<const std::byte>) const override {
    class Handle final : public DelegateHandle {
     public:
      explicit Handle(EventSink events) : events_(events), first_(events.Name("first")) {}
      absl::Status Execute(KernelContext& context) override {
        int64_t begin = events_.Begin();
        ABSL_ASSIGN_OR_RETURN(const TensorView* x, context.Tensor(0));
        events_.Step(first_, begin);
        begin = events_.Begin();
        ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.Output(0, x->sizes));
        const absl::Status status = CopyElements(*x, *out);
        events_.Step({.id = 7}, begin);
        return status;
      }

     private:
      EventSink events_;
      StepId first_;
    };
    return std::make_unique<Handle>(context.events);
  }
};

class EventsTest : public MethodTest {
 protected:
  EventsTest() : program_backend_(kernels_, inner_backends_) {
    EXPECT_OK(backends_.Add(&stepping_));
    EXPECT_OK(backends_.Add(&program_backend_));
    EXPECT_OK(inner_backends_.Add(&stepping_));
    absl::StatusOr<std::unique_ptr<EventLog>> log = EventLog::Create(1000);
    EXPECT_OK(log);
    log_ = *std::move(log);
  }

  absl::StatusOr<Method> LoadLogged() {
    ABSL_ASSIGN_OR_RETURN(Program opened, OpenFileBytes(program_.Serialize()));
    opened_.push_back(std::make_unique<Program>(std::move(opened)));
    return Method::Load(*opened_.back(), "forward", kernels_, backends_,
                        {.events = {.log = log_.get()}});
  }
  // Executes a method of one input x, [1], with a fresh log.
  void ExecuteLogged(Method& method, const absl::StatusCode expected = absl::StatusCode::kOk) {
    const TestTensor x = TestTensor::Of<float>({1}, {1});
    ASSERT_OK(method.SetInput(0, x.view()));
    log_->Clear();
    EXPECT_EQ(method.Execute().code(), expected);
  }
  // Formats events, indented by depth: "  instruction 0 of forward".
  std::vector<std::string> Shown() const {
    std::vector<std::string> shown;
    for (const Event& event : log_->events()) {
      shown.push_back(absl::StrCat(
          std::string(event.depth, ' '), EventKindName(event.kind), " ",
          event.named ? log_->names()[static_cast<size_t>(event.id)] : absl::StrCat(event.id),
          " of ", log_->owners()[event.owner].name));
    }
    return shown;
  }
  // Expects that each event is inside the enclosing one and after the previous one, and that
  // instructions are adjacent.
  void ExpectNested() const {
    std::vector<const Event*> around;
    const Event* last = nullptr;
    for (const Event& event : log_->events()) {
      EXPECT_LE(event.begin, event.end);
      ASSERT_LE(event.depth, around.size());
      const Event* const before = event.depth < around.size() ? around[event.depth] : nullptr;
      around.resize(event.depth);
      if (before != nullptr) {
        EXPECT_LE(before->end, event.begin);
        const bool both = before->kind != EventKind::kStep && event.kind != EventKind::kStep;
        if (both && before->owner == event.owner && event.kind != EventKind::kAllocate &&
            event.kind != EventKind::kInit) {
          EXPECT_EQ(before->end, event.begin);
        }
      }
      if (!around.empty()) {
        EXPECT_GE(event.begin, around.back()->begin);
        EXPECT_LE(event.end, around.back()->end);
      }
      around.push_back(&event);
      if (last != nullptr) EXPECT_LE(last->begin, event.begin);
      last = &event;
    }
  }

  SteppingBackend stepping_;
  BackendRegistry inner_backends_;
  ProgramBackend program_backend_;
  std::unique_ptr<EventLog> log_;
};

TEST_F(EventsTest, LoadingAndExecutingAreLogged) {
  const uint32_t x = forward_.Input("x", kF32, {1});
  const uint32_t y = forward_.Arena(kF32, {1}), z = forward_.Arena(kF32, {1});
  forward_.Call("test.add.Tensor", {x, x}, {y});
  forward_.Call("test.add.Tensor", {y, x}, {z});
  forward_.Output(z);
  ASSERT_OK_AND_ASSIGN(Method method, LoadLogged());
  EXPECT_THAT(Shown(),
              ElementsAre("load 0 of forward", " resolve 0 of forward", " allocate 0 of forward"));
  EXPECT_GT(log_->events()[0].cpu, 0);
  ExpectNested();
  ExecuteLogged(method);
  EXPECT_THAT(Shown(), ElementsAre("execute 0 of forward", " instruction 0 of forward",
                                   " instruction 1 of forward"));
  EXPECT_GT(log_->events()[0].cpu, 0);
  ExpectNested();
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(3));
}

TEST_F(EventsTest, LogsJumpsMovesAndEachLoopIteration) {
  const uint32_t x = forward_.Input("x", kF32, {1});
  const uint32_t go = forward_.Slot(schema::ScalarSlot::BOOL);
  const uint32_t yes = forward_.Bool(true), no = forward_.Bool(false);
  forward_.Move(yes, go);                           // 0
  const uint32_t leave = forward_.JumpIfFalse(go);  // 1
  forward_.Move(no, go);                            // 2
  forward_.Jump(1);                                 // 3
  forward_.LandHere(leave);
  forward_.Output(x);
  ASSERT_OK_AND_ASSIGN(Method method, LoadLogged());
  ExecuteLogged(method);
  EXPECT_THAT(Shown(), ElementsAre("execute 0 of forward", " instruction 0 of forward",
                                   " instruction 1 of forward", " instruction 2 of forward",
                                   " instruction 3 of forward", " instruction 1 of forward"));
  ExpectNested();
}

TEST_F(EventsTest, DelegatesLogStepsByIdAndName) {
  const uint32_t blob = program_.AddSegment(schema::Segment::DELEGATE, "x");
  const uint32_t x = forward_.Input("x", kF32, {1}), y = forward_.Arena(kF32, {1});
  forward_.Delegate("stepping", blob, {x}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(Method method, LoadLogged());
  EXPECT_THAT(Shown(), ElementsAre("load 0 of forward", " resolve 0 of forward",
                                   " allocate 0 of forward", " init 0 of forward"));
  ExecuteLogged(method);
  EXPECT_THAT(Shown(), ElementsAre("execute 0 of forward", " delegate_call 0 of forward",
                                   "  step first of stepping", "  step 7 of stepping"));
  ExpectNested();
  const EventOwner& delegate = log_->owners()[log_->events()[2].owner];
  EXPECT_TRUE(delegate.is_delegate);
  EXPECT_EQ(delegate.parent, method.events().owner);
  EXPECT_EQ(delegate.delegate, 0u);
}

TEST_F(EventsTest, ProgramsInDelegatesLogWithinTheCall) {
  TestProgram inner;
  const uint32_t inner_blob = inner.AddSegment(schema::Segment::DELEGATE, "x");
  TestMethod method = inner.AddMethod("forward");
  const uint32_t a = method.Input("a", kF32, {1});
  const uint32_t b = method.Arena(kF32, {1}), c = method.Arena(kF32, {1});
  method.Call("test.add.Tensor", {a, a}, {b});
  method.Delegate("stepping", inner_blob, {b}, {c});
  method.Output(c);
  const uint32_t blob = program_.AddSegment(schema::Segment::DELEGATE, inner.Serialize());
  const uint32_t x = forward_.Input("x", kF32, {1}), y = forward_.Arena(kF32, {1});
  forward_.Delegate("program", blob, {x}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(Method outer, LoadLogged());
  EXPECT_THAT(Shown(),
              ElementsAre("load 0 of forward", " resolve 0 of forward", " allocate 0 of forward",
                          " init 0 of forward", "  load 0 of forward", "   resolve 0 of forward",
                          "   allocate 0 of forward", "   init 0 of forward"));
  ExecuteLogged(outer);
  EXPECT_THAT(Shown(), ElementsAre("execute 0 of forward", " delegate_call 0 of forward",
                                   "  execute 0 of forward", "   instruction 0 of forward",
                                   "   delegate_call 1 of forward", "    step first of stepping",
                                   "    step 7 of stepping"));
  ExpectNested();
  EXPECT_THAT(Floats(outer.GetOutput(0)), ElementsAre(2));
  // Nesting, from the log and from the methods.
  const Method* nested = outer.instructions()[0].method;
  ASSERT_NE(nested, nullptr);
  EXPECT_EQ(nested->events().owner, log_->events()[2].owner);
  const EventOwner& owner = log_->owners()[nested->events().owner];
  EXPECT_EQ(log_->owners()[owner.parent].name, "program");
  EXPECT_EQ(log_->owners()[owner.parent].parent, outer.events().owner);
  EXPECT_EQ(nested->instructions()[1].method, nullptr);
}

TEST_F(EventsTest, FailingInstructionIsTheLastEventAndEnds) {
  const uint32_t blob = program_.AddSegment(schema::Segment::DELEGATE, "add1");
  const uint32_t x = forward_.Input("x", kF32, {1}), y = forward_.Arena(kF32, {1});
  forward_.Delegate("fake", blob, {x}, {y});
  forward_.Call("test.add.Tensor", {y, x}, {forward_.Arena(kF32, {1})});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(Method method, LoadLogged());
  const TestTensor negative = TestTensor::Of<float>({1}, {-1});
  ASSERT_OK(method.SetInput(0, negative.view()));
  log_->Clear();
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("negative")));
  EXPECT_THAT(Shown(), ElementsAre("execute 0 of forward", " delegate_call 0 of forward"));
  ExpectNested();
  ExecuteLogged(method);  // at the same depth again
  EXPECT_THAT(Shown(), ElementsAre("execute 0 of forward", " delegate_call 0 of forward",
                                   " instruction 1 of forward"));
}

TEST_F(EventsTest, FullLogDoesNotChangeResults) {
  const uint32_t x = forward_.Input("x", kF32, {1}), y = forward_.Arena(kF32, {1});
  for (int i = 0; i < 10; ++i) forward_.Call("test.add.Tensor", {x, x}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(log_, EventLog::Create(4));
  ASSERT_OK_AND_ASSIGN(Method method, LoadLogged());
  ExecuteLogged(method);
  EXPECT_EQ(log_->events().size(), 4u);
  EXPECT_EQ(log_->dropped(), 7u);
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(2));
}

TEST_F(EventsTest, InstructionsListOperandsAndDeclinedKernels) {
  static const Kernel picky = [] {
    for (Kernel row : TestKernels()) {
      if (row.op != "test.add.Tensor") continue;
      row.name = "PickyAdd";
      row.accepts_call = [](const KernelContext&, const void*) { return false; };
      return row;
    }
    return Kernel();
  }();
  ASSERT_OK(kernels_.Add(absl::MakeConstSpan(&picky, 1)));
  const uint32_t x = forward_.Input("x", kF32, {4}, {{.dim = 0, .min = 1, .max = 4}});
  const uint32_t y = forward_.Arena(kF32, {4}, 1);
  forward_.Call("test.add.Tensor", {x, x}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(Method method, LoadLogged());
  ExecuteLogged(method);
  const std::vector<InstructionInfo> instructions = method.instructions();
  ASSERT_EQ(instructions.size(), 1u);
  const InstructionInfo& info = instructions[0];
  ASSERT_EQ(info.arguments.size(), 2u);
  ASSERT_EQ(info.outputs.size(), 1u);
  EXPECT_EQ(info.arguments[0]->KindName(), "tensor f32[1]");
  EXPECT_EQ(info.outputs[0]->KindName(), "tensor f32[1]");
  EXPECT_EQ(info.kernel, "Add");
  EXPECT_THAT(info.declined, ElementsAre(&picky));
  EXPECT_EQ(info.signature, "a b");
}

}  // namespace
}  // namespace belay
