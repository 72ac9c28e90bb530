#include "runtime/executor/method.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"
#include "runtime/kernel_interface/kernel_arguments.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

// Stops when the budget says so, and returns OK.
struct NoArguments {
  static absl::StatusOr<NoArguments> Read(const KernelArguments&) { return NoArguments(); }
};
absl::Status RunOn(KernelContext&, const NoArguments&) {
  while (!Budget::Stop()) {
  }
  return absl::OkStatus();
}
constexpr Kernel kRunOn[] = {
    KernelRow<&RunOn>("test.run_on.default", "-> 0", "RunOn", KernelEngine::kReference)};

// for (i = 0; i < n; ++i) total += x
class LoopTest : public MethodTest {
 protected:
  LoopTest() {
    const uint32_t x = forward_.Input("x", kF32, {2});
    const uint32_t n = forward_.ScalarInput("n", schema::ScalarSlot::INT);
    const uint32_t zero = forward_.Constant(program_.AddConstant<float>({0, 0}), kF32, {2});
    const uint32_t total = forward_.Arena(kF32, {2});
    const uint32_t i = forward_.Slot(schema::ScalarSlot::INT);
    const uint32_t more = forward_.Slot(schema::ScalarSlot::BOOL);
    forward_.Move(zero, total);
    forward_.Move(forward_.Int(0), i);
    const uint32_t head = forward_.Call("test.less.default", {i, n}, {more});
    const uint32_t leave = forward_.JumpIfFalse(more);
    forward_.Call("test.add_.Tensor", {total, x}, {total});
    const uint32_t next = forward_.Slot(schema::ScalarSlot::INT);
    forward_.Call("test.add_int.default", {i, forward_.Int(1)}, {next});
    forward_.Move(next, i);
    forward_.Jump(head);
    forward_.LandHere(leave);
    forward_.Output(total);
    forward_.Output(i);
  }

  // Loads the loop with input x set.
  absl::StatusOr<Method> LoadLoop(const Program::Options& options = {}) {
    ABSL_ASSIGN_OR_RETURN(Method method, Load(options));
    ABSL_RETURN_IF_ERROR(method.SetInput(0, x_.view()));
    return method;
  }

  const TestTensor x_ = TestTensor::Of<float>({2}, {1, 2});
};

TEST_F(LoopTest, RunsExpectedIterations) {
  ASSERT_OK_AND_ASSIGN(Method method, LoadLoop());
  for (const int64_t n : {0, 1, 5, 2}) {
    ASSERT_OK(method.SetInput(1, n));
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(n, 2 * n));
    EXPECT_EQ(*method.GetOutput(1).get_if<int64_t>(), n);
  }
}

TEST_F(LoopTest, StopsAtTheLimit) {
  Program::Options options;
  options.limits.executed_instructions = 1000;
  ASSERT_OK_AND_ASSIGN(Method method, LoadLoop(options));
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(method.Execute(), StatusIs(kExhausted, HasSubstr("'executed_instructions'")));
  ASSERT_OK(method.SetInput(1, int64_t{3}));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(3, 6));
}

TEST_F(LoopTest, StopsAtLimitOfCall) {
  ASSERT_OK_AND_ASSIGN(Method method, LoadLoop());
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(method.Execute({.executed_instructions = 17}),
              StatusIs(kExhausted, AllOf(HasSubstr("after the 17 instructions"),
                                         HasSubstr("'executed_instructions'"))));
}

TEST_F(LoopTest, CallCanNotExceedProgramLimit) {
  Program::Options options;
  options.limits.executed_instructions = 1000;
  ASSERT_OK_AND_ASSIGN(Method method, LoadLoop(options));
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(method.Execute({.executed_instructions = 5000}),
              StatusIs(kExhausted, HasSubstr("after the 1000 instructions")));
}

TEST_F(LoopTest, StopsAtWorkLimit) {
  Program::Options options;
  options.limits.executed_work = 100'000;
  ASSERT_OK_AND_ASSIGN(Method method, LoadLoop(options));
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(method.Execute(),
              StatusIs(kExhausted, AllOf(HasSubstr("method 'forward', instruction"),
                                         HasSubstr("of the 100000 that the limit "
                                                   "'work' allows"))));
  EXPECT_THAT(method.Execute({.executed_work = 1000}),
              StatusIs(kExhausted, HasSubstr("of the 1000 that the limit 'work'")));
  EXPECT_THAT(method.Execute({.executed_work = 1'000'000}),
              StatusIs(kExhausted, HasSubstr("of the 100000 that the limit 'work'")));
  ASSERT_OK(method.SetInput(1, int64_t{3}));
  ASSERT_OK(method.Execute());
}

// The arguments' share is charged before the call, the output's after it.
TEST_F(AddTest, DynamicWorkUsesActualSizes) {
  Build({1000}, {{.dim = 0, .min = 0, .max = 1000}});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Zeros(kF32, {100});
  for (size_t i = 0; i < 2; ++i) ASSERT_OK(method.SetInput(i, x.view()));
  constexpr uint64_t kEach = 16 * 100;  // runtime/kernel_interface/work.cc
  EXPECT_OK(method.Execute({.executed_work = 3 * kEach}));
  EXPECT_THAT(
      method.Execute({.executed_work = 3 * kEach - 1}),
      StatusIs(kExhausted, HasSubstr("takes 1600 units of work, 1599 are left of the 4799")));
  EXPECT_THAT(
      method.Execute({.executed_work = 2 * kEach - 1}),
      StatusIs(kExhausted, HasSubstr("takes 3200 units of work, 3199 are left of the 3199")));
}

// The kernel stops when asked, without returning an error.
TEST_F(MethodTest, CutShortCallFails) {
  ASSERT_OK(kernels_.Add(kRunOn));
  forward_.Call("test.run_on.default", {}, {});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  EXPECT_THAT(method.Execute(
                  {.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("method 'forward', instruction 0 ('test.run_on.default')")));
}

TEST_F(LoopTest, StopsAtDeadlineOfCallersBudget) {
  Program::Options options;
  options.limits.executed_instructions = 0;
  options.limits.executed_work = UINT64_MAX - 1;
  ASSERT_OK_AND_ASSIGN(Method method, LoadLoop(options));
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  Budget budget;
  budget.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  const Budget::Scope scope(&budget);
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(LoopTest, StopsAtTheDeadline) {
  Program::Options options;
  options.limits.executed_instructions = 0;
  ASSERT_OK_AND_ASSIGN(Method method, LoadLoop(options));
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(
      method.Execute({.deadline = start + std::chrono::milliseconds(20)}),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               AllOf(HasSubstr("method 'forward', instruction "), HasSubstr("'deadline'"))));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
  EXPECT_THAT(method.Execute({.deadline = start}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("after 0 instructions")));
  ASSERT_OK(method.SetInput(1, int64_t{3}));
  ASSERT_OK(method.Execute({.deadline = start + std::chrono::hours(1)}));
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(3, 6));
}

TEST_F(LoopTest, StopsWhenAnotherThreadCancels) {
  Program::Options options;
  options.limits.executed_instructions = 0;
  ASSERT_OK_AND_ASSIGN(Method method, LoadLoop(options));
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  std::atomic<bool> cancel = false;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel = true;
  });
  EXPECT_THAT(method.Execute({.cancel = &cancel}),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("'cancel'")));
  canceller.join();
  cancel = false;
  ASSERT_OK(method.SetInput(1, int64_t{3}));
  ASSERT_OK(method.Execute({.cancel = &cancel}));
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(3, 6));
}

TEST_F(MethodTest, EndlessJumpStops) {
  forward_.Jump(0);
  Program::Options options;
  options.limits.executed_instructions = 100000;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  EXPECT_THAT(method.Execute(), StatusIs(kExhausted, HasSubstr("method 'forward', instruction 0")));
}

TEST_F(MethodTest, ScratchIsReserved) {
  const uint32_t x = forward_.Input("x", kF32, {100}, {{.dim = 0, .min = 0, .max = 100}});
  const uint32_t y = forward_.Arena(kF32, {100}, 1);
  forward_.Call("test.scratch.default", {x}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  // Arena, scratch, the kernel's call and the copy of the input.
  EXPECT_EQ(method.memory_bytes(), 448u + 400u + 16u + 448u);
  const TestTensor tensor = TestTensor::Of<float>({3}, {1, 2, 3});
  ASSERT_OK(method.SetInput(0, tensor.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(2, 3, 4));
  Program::Options options;
  options.limits.scratch_bytes = 399;
  EXPECT_THAT(Load(options),
              StatusIs(kExhausted, HasSubstr("it needs 400 bytes of working memory, the "
                                             "limit 'scratch_bytes' is 399")));
}

TEST_F(MethodTest, ScratchIsChargedToMemoryBudget) {
  const uint32_t x = forward_.Input("x", kF32, {100}), y = forward_.Arena(kF32, {100});
  forward_.Call("test.scratch.default", {x}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize()));
  const auto load = [&](MemoryBudget& memory) {
    return Method::Load(program, "forward", kernels_, backends_, {.memory = &memory}).status();
  };
  constexpr uint64_t kPlenty = 1 << 30;
  MemoryBudget plenty("memory", kPlenty);
  ASSERT_OK(load(plenty));
  // Leaves one byte too little for the scratch; the 16 bytes of the kernel's call are charged last.
  MemoryBudget little("memory", kPlenty - plenty.left() - 16 - 1);
  EXPECT_THAT(load(little),
              StatusIs(kExhausted, HasSubstr("working memory of kernels of 400 bytes exceeds")));
  EXPECT_EQ(little.left(), 399u);
  MemoryBudget less("memory", kPlenty - plenty.left() - 1);
  EXPECT_THAT(load(less), StatusIs(kExhausted, HasSubstr("calls of kernels of 16 bytes exceeds")));
}

TEST_F(MethodTest, ArenaAndStateAreChargedToMemoryBudget) {
  forward_.Arena(kF32, {1 << 18});
  forward_.State("s", kF32, {1 << 18});
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize()));
  const auto load = [&](uint64_t bytes, uint64_t* left = nullptr) {
    MemoryBudget memory("memory", bytes);
    const absl::StatusOr<Method> method =
        Method::Load(program, "forward", kernels_, backends_, {.memory = &memory});
    if (left != nullptr) *left = memory.left();
    return method.status();
  };
  constexpr uint64_t kPlenty = 1 << 30, kMiB = 1 << 20;
  uint64_t left = 0;
  ASSERT_OK(load(kPlenty, &left));
  EXPECT_OK(load(kPlenty - left));
  EXPECT_THAT(load(kPlenty - left - 1),
              StatusIs(kExhausted, HasSubstr("the state of 1048576 bytes exceeds")));
  EXPECT_THAT(load(kPlenty - left - kMiB - 1),
              StatusIs(kExhausted, HasSubstr("the arena of 1048576 bytes exceeds")));
}

TEST_F(MethodTest, TablesAreChargedToMemoryBudget) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize()));
  MemoryBudget little("memory", 1);
  EXPECT_THAT(Method::Load(program, "forward", kernels_, backends_, {.memory = &little}),
              StatusIs(kExhausted, HasSubstr("the tables of method 'forward' of ")));
}

TEST_F(LoopTest, MethodsOfOneProgramRunInThreads) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize()));
  const auto run = [&](float value) {
    absl::StatusOr<Method> method = Method::Load(program, "forward", kernels_, backends_);
    ASSERT_OK(method);
    const TestTensor x = TestTensor::Of<float>({2}, {value, -value});
    ASSERT_OK(method->SetInput(0, x.view()));
    for (int64_t n = 0; n < 200; ++n) {
      ASSERT_OK(method->SetInput(1, n));
      ASSERT_OK(method->Execute());
      const float expected = value * static_cast<float>(n);
      EXPECT_THAT(Floats(method->GetOutput(0)), ElementsAre(expected, -expected));
    }
  };
  std::thread one(run, 1.0f), two(run, 2.0f);
  one.join();
  two.join();
}

}  // namespace
}  // namespace belay
