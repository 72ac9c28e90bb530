#include "runtime/executor/method.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/kernel/kernel_arguments.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;
constexpr auto kNotFound = absl::StatusCode::kNotFound;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

// Ends when it must, and succeeds.
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

// Takes no number.
struct NumberCall {
  int64_t x = 0;
  static absl::StatusOr<NumberCall> Read(const KernelArguments& arguments) {
    NumberCall call;
    ABSL_ASSIGN_OR_RETURN(call.x, arguments.StaticInt("x"));
    return call;
  }
};
absl::Status Refuse(KernelContext&, const NumberCall&) {
  return absl::InvalidArgumentError("refused");
}
constexpr Kernel kRefuse[] = {
    KernelRow<&Refuse>("test.refuse.default", "x", "Refuse", KernelEngine::kReference)};

TEST_F(AddTest, ComputesStaticShapes) {
  Build({2, 2});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  EXPECT_EQ(method.num_inputs(), 2u);
  EXPECT_EQ(method.num_outputs(), 1u);
  const TestTensor a = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const TestTensor b = TestTensor::Of<float>({2, 2}, {10, 20, 30, 40});
  ASSERT_OK(method.SetInput(0, a.view()));
  ASSERT_OK(method.SetInput(1, b.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(11, 22, 33, 44));
}

TEST_F(AddTest, DynamicShapesGrowAndShrinkWithinTheirBounds) {
  Build({4, 2}, {{.dim = 0, .min = 0, .max = 4, .symbol = "s0"}});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  for (const int64_t rows : {1, 4, 2, 0, 3}) {
    const std::vector<float> ones(static_cast<size_t>(rows * 2), 1.0f);
    const TestTensor a = TestTensor::Of<float>({rows, 2}, ones);
    const TestTensor b = TestTensor::Of<float>({rows, 2}, ones);
    ASSERT_OK(method.SetInput(0, a.view()));
    ASSERT_OK(method.SetInput(1, b.view()));
    ASSERT_OK(method.Execute());
    EXPECT_EQ(method.GetOutput(0).get_if<TensorView>()->sizes, Sizes({rows, 2}));
    EXPECT_EQ(Floats(method.GetOutput(0)), std::vector<float>(static_cast<size_t>(rows * 2), 2.0f));
  }
}

TEST_F(MethodTest, ConstantsAreUsedInPlaceOrCopiedWhenMisaligned) {
  const uint32_t c = forward_.Constant(program_.AddConstant<float>({1, 2, 3}), kF32, {3});
  const uint32_t sum = forward_.Arena(kF32, {3});
  forward_.Call("test.add.Tensor", {c, c}, {sum});
  forward_.Output(sum);
  forward_.Output(c);
  for (const size_t misalignment : {0, 1, 4}) {
    ASSERT_OK_AND_ASSIGN(Method method, LoadFile(program_.Serialize(), {}, misalignment));
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(2, 4, 6));
    const std::byte* data =
        static_cast<const std::byte*>(method.GetOutput(1).get_if<TensorView>()->data);
    const absl::Span<const std::byte> file = opened_.back()->bytes();
    EXPECT_EQ(data >= file.data() && data < file.data() + file.size(), misalignment != 1);
  }
}

TEST_F(MethodTest, InputsAndStatePassThrough) {
  const uint32_t x = forward_.Input("x", kF32, {2});
  const uint32_t s = forward_.State("s", kF32, {2}, program_.AddConstant<float>({7, 8}) + 1);
  forward_.Output(x);
  forward_.Output(s);
  forward_.Output(x);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x_tensor = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, x_tensor.view()));
  ASSERT_OK(method.Execute());
  EXPECT_EQ(method.GetOutput(0).get_if<TensorView>()->data, x_tensor.view().data);
  EXPECT_THAT(Floats(method.GetOutput(1)), ElementsAre(7, 8));
  EXPECT_THAT(Floats(method.GetOutput(2)), ElementsAre(1, 2));
}

// state += x, each call.
TEST_F(MethodTest, StatePersistsUntilReset) {
  const uint32_t x = forward_.Input("x", kF32, {2});
  const uint32_t s = forward_.State("s", kF32, {2}, program_.AddConstant<float>({10, 20}) + 1);
  const uint32_t zero = forward_.State("zero", kF32, {2});
  forward_.Call("test.add_.Tensor", {s, x}, {s});
  forward_.Call("test.add_.Tensor", {zero, x}, {zero});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK_AND_ASSIGN(const TensorView state, method.GetState("s"));
  ASSERT_OK_AND_ASSIGN(const TensorView other, method.GetState("zero"));
  EXPECT_THAT(ToVector<float>(state), ElementsAre(10, 20));
  const TestTensor x_tensor = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, x_tensor.view()));
  ASSERT_OK(method.Execute());
  ASSERT_OK(method.Execute());
  EXPECT_THAT(ToVector<float>(state), ElementsAre(12, 24));
  EXPECT_THAT(ToVector<float>(other), ElementsAre(2, 4));
  method.ResetState();
  EXPECT_THAT(ToVector<float>(state), ElementsAre(10, 20));
  EXPECT_THAT(ToVector<float>(other), ElementsAre(0, 0));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(ToVector<float>(state), ElementsAre(11, 22));
  EXPECT_THAT(method.GetState("t"), StatusIs(kNotFound, HasSubstr("'t'")));
}

TEST_F(MethodTest, OnlyWhatMayBeWrittenIsWritten) {
  const uint32_t constant = forward_.Constant(program_.AddConstant<float>({1, 2}), kF32, {2});
  const uint32_t x = forward_.Input("x", kF32, {2});
  const uint32_t arena = forward_.Arena(kF32, {2});
  const uint32_t call = forward_.Call("test.write_argument.default", {constant}, {});
  forward_.Output(arena);
  const TestTensor x_tensor = TestTensor::Of<float>({2}, {5, 6});
  const auto run = [&](uint32_t target) -> absl::Status {
    forward_.proto()
        .mutable_instructions(static_cast<int>(call))
        ->mutable_kernel()
        ->set_arguments(0, target);
    ABSL_ASSIGN_OR_RETURN(Method method, Load());
    ABSL_RETURN_IF_ERROR(method.SetInput(0, x_tensor.view()));
    return method.Execute();
  };
  EXPECT_OK(run(arena));
  EXPECT_THAT(run(constant), StatusIs(kInvalid, HasSubstr("argument 0: the operator writes to it, "
                                                          "and it is a constant")));
  EXPECT_THAT(run(x), StatusIs(kInvalid, HasSubstr("an input that the program does not mutate")));
  EXPECT_THAT(ToVector<float>(x_tensor.view()), ElementsAre(5, 6));
}

TEST_F(MethodTest, OutputsLieInThePlannedOrder) {
  const uint32_t x = forward_.InputInOrder("x", kF32, {2, 3}, {1, 0});
  const uint32_t y = forward_.ArenaInOrder(kF32, {2, 3}, {1, 0}, /*dynamic_dims=*/3);
  forward_.Call("test.add.Tensor", {x, x}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor tensor = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK(method.SetInput(0, tensor.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_EQ(method.GetOutput(0).get_if<TensorView>()->strides, Strides({1, 2}));
}

TEST_F(MethodTest, OutputsMustHaveThePlannedSizes) {
  const uint32_t x = forward_.Input("x", kF32, {4}, {{.dim = 0, .min = 0, .max = 4}});
  const uint32_t fixed = forward_.Arena(kF32, {3});
  forward_.Call("test.add.Tensor", {x, x}, {fixed});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor three = TestTensor::Zeros(kF32, {3}), four = TestTensor::Zeros(kF32, {4});
  ASSERT_OK(method.SetInput(0, three.view()));
  EXPECT_OK(method.Execute());
  ASSERT_OK(method.SetInput(0, four.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(kInvalid,
                       "method 'forward', instruction 0 ('test.add.Tensor'): output 0: "
                       "dimension 0: planned is 3, computed was 4 ([4])"));
  ASSERT_OK(method.SetInput(0, three.view()));
  EXPECT_OK(method.Execute());
}

TEST_F(MethodTest, DynamicOutputsStayWithinTheirMemory) {
  const uint32_t x = forward_.Input("x", kF32, {8}, {{.dim = 0, .min = 0, .max = 8}});
  const uint32_t small = forward_.Arena(kF32, {4}, /*dynamic_dims=*/1);
  forward_.Call("test.add.Tensor", {x, x}, {small});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor five = TestTensor::Zeros(kF32, {5});
  ASSERT_OK(method.SetInput(0, five.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(kOutOfRange, HasSubstr("planned are at most 4, computed was 5")));
}

TEST_F(MethodTest, ListsHoldTensorsAndComputedScalars) {
  const uint32_t x = forward_.Input("x", kF32, {2, 2});
  const uint32_t a = forward_.Arena(kF32, {1, 2}), b = forward_.Arena(kF32, {1, 2});
  const uint32_t list = forward_.List({a, b});
  forward_.Call("test.split.default", {x}, {list});
  forward_.Output(a);
  forward_.Output(b);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor tensor = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  ASSERT_OK(method.SetInput(0, tensor.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(1, 2));
  EXPECT_THAT(Floats(method.GetOutput(1)), ElementsAre(3, 4));
}

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
};

TEST_F(LoopTest, RunsAsOftenAsItShould) {
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, x.view()));
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
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, x.view()));
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(method.Execute(), StatusIs(kExhausted, HasSubstr("'executed_instructions'")));
  ASSERT_OK(method.SetInput(1, int64_t{3}));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(3, 6));
}

TEST_F(LoopTest, StopsWhereTheCallWantsItTo) {
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, x.view()));
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(method.Execute({.executed_instructions = 17}),
              StatusIs(kExhausted, AllOf(HasSubstr("after the 17 instructions"),
                                         HasSubstr("'executed_instructions'"))));
}

TEST_F(LoopTest, NoCallExceedsTheProgramsLimit) {
  Program::Options options;
  options.limits.executed_instructions = 1000;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, x.view()));
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(method.Execute({.executed_instructions = 5000}),
              StatusIs(kExhausted, HasSubstr("after the 1000 instructions")));
}

TEST_F(LoopTest, NoCallDoesMoreWorkThanItMay) {
  Program::Options options;
  options.limits.executed_work = 100'000;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, x.view()));
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

// What the arguments take counts before the call, what the output takes behind it.
TEST_F(AddTest, WorkOnTensorsOfAnySizeIsThatOnTheirSizes) {
  Build({1000}, {{.dim = 0, .min = 0, .max = 1000}});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Zeros(kF32, {100});
  for (size_t i = 0; i < 2; ++i) ASSERT_OK(method.SetInput(i, x.view()));
  constexpr uint64_t kEach = 16 * 100;  // runtime/kernel/work.cc
  EXPECT_OK(method.Execute({.executed_work = 3 * kEach}));
  EXPECT_THAT(
      method.Execute({.executed_work = 3 * kEach - 1}),
      StatusIs(kExhausted, HasSubstr("takes 1600 units of work, 1599 are left of the 4799")));
  EXPECT_THAT(
      method.Execute({.executed_work = 2 * kEach - 1}),
      StatusIs(kExhausted, HasSubstr("takes 3200 units of work, 3199 are left of the 3199")));
}

// The kernel ends when it is asked to, and says nothing of it.
TEST_F(MethodTest, ACallThatWasCutShortFails) {
  ASSERT_OK(kernels_.Add(kRunOn));
  forward_.Call("test.run_on.default", {}, {});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  EXPECT_THAT(method.Execute(
                  {.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("method 'forward', instruction 0 ('test.run_on.default')")));
}

TEST_F(LoopTest, StopsAtTheDeadlineOfTheCallersBudget) {
  Program::Options options;
  options.limits.executed_instructions = 0;
  options.limits.executed_work = UINT64_MAX - 1;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, x.view()));
  ASSERT_OK(method.SetInput(1, std::numeric_limits<int64_t>::max()));
  Budget budget;
  budget.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  const Budget::Scope scope(&budget);
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(LoopTest, StopsAtTheDeadline) {
  Program::Options options;
  options.limits.executed_instructions = 0;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, x.view()));
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
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, x.view()));
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

TEST_F(MethodTest, AJumpToItselfStops) {
  forward_.Jump(0);
  Program::Options options;
  options.limits.executed_instructions = 100000;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  EXPECT_THAT(method.Execute(), StatusIs(kExhausted, HasSubstr("method 'forward', instruction 0")));
}

TEST_F(MethodTest, TensorsAreConditionsToo) {
  const uint32_t a = forward_.Input("a", kF32, {1}), b = forward_.Input("b", kF32, {1});
  const uint32_t less = forward_.Arena(DType::kBool, {1});
  const uint32_t smaller = forward_.Arena(kF32, {1});
  forward_.Call("test.less_tensor.default", {a, b}, {less});
  const uint32_t otherwise = forward_.JumpIfFalse(less);
  forward_.Move(a, smaller);
  const uint32_t end = forward_.Jump(0);
  forward_.LandHere(otherwise);
  forward_.Move(b, smaller);
  forward_.LandHere(end);
  forward_.Output(smaller);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor one = TestTensor::Of<float>({1}, {1}), two = TestTensor::Of<float>({1}, {2});
  for (const auto& [x, y] : {std::pair(&one, &two), std::pair(&two, &one)}) {
    ASSERT_OK(method.SetInput(0, x->view()));
    ASSERT_OK(method.SetInput(1, y->view()));
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(1));
  }
}

TEST_F(MethodTest, MovesResizeAndReorder) {
  const uint32_t x = forward_.Input("x", kF32, {4, 2}, {{.dim = 0, .min = 0, .max = 4}});
  const uint32_t y = forward_.ArenaInOrder(kF32, {4, 2}, {1, 0}, /*dynamic_dims=*/1);
  const uint32_t z = forward_.Arena(kF32, {2, 2}, /*dynamic_dims=*/1);
  forward_.Move(x, y);
  forward_.Move(y, z);
  forward_.Output(y);
  forward_.Output(z);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor two = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  ASSERT_OK(method.SetInput(0, two.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(method.GetOutput(0).get_if<TensorView>()->strides, Strides({1, 2}));
  EXPECT_THAT(Floats(method.GetOutput(1)), ElementsAre(1, 2, 3, 4));
  const TestTensor three = TestTensor::Zeros(kF32, {3, 2});
  ASSERT_OK(method.SetInput(0, three.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(kOutOfRange, HasSubstr("method 'forward', instruction 1 (move): ")));
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
  EXPECT_THAT(Load(options), StatusIs(kExhausted, HasSubstr("it needs 400 bytes to work in, the "
                                                            "limit 'scratch_bytes' is 399")));
}

TEST_F(MethodTest, ScratchCountsAgainstTheMemoryBudget) {
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
  // What is left for the scratch is a byte too little; the 16 bytes of the kernel's call come last.
  MemoryBudget little("memory", kPlenty - plenty.left() - 16 - 1);
  EXPECT_THAT(load(little),
              StatusIs(kExhausted, HasSubstr("working memory of kernels of 400 bytes exceeds")));
  EXPECT_EQ(little.left(), 399u);
  MemoryBudget less("memory", kPlenty - plenty.left() - 1);
  EXPECT_THAT(load(less), StatusIs(kExhausted, HasSubstr("calls of kernels of 16 bytes exceeds")));
}

TEST_F(MethodTest, ArenaAndStateCountAgainstTheMemoryBudget) {
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

TEST_F(MethodTest, TheTablesCountAgainstTheMemoryBudget) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize()));
  MemoryBudget little("memory", 1);
  EXPECT_THAT(Method::Load(program, "forward", kernels_, backends_, {.memory = &little}),
              StatusIs(kExhausted, HasSubstr("the tables of method 'forward' of ")));
}

TEST_F(MethodTest, EverythingMissingIsListed) {
  const uint32_t x = forward_.Input("x", DType::kInt64, {2});
  const uint32_t y = forward_.Arena(kF32, {2}), z = forward_.Arena(kF32, {2});
  const uint32_t blob = program_.AddSegment(schema::Segment::DELEGATE, "blob");
  forward_.Call("aten.conv.default", {x}, {y});
  forward_.Call("aten.conv.default", {y}, {z});
  forward_.Call("test.add.Tensor", {x, x}, {y});
  forward_.Delegate("npu", blob, {x}, {y});
  forward_.Delegate("dsp", blob, {x}, {y});
  forward_.Call("aten.attention.default", {z}, {y});
  EXPECT_THAT(
      Load(),
      StatusIs(kNotFound,
               "method 'forward' can't be run here: operator 'aten.attention.default' (1 call): no "
               "kernel; operator 'aten.conv.default' (2 calls): no kernel; operator "
               "'test.add.Tensor' (1 call): no kernel takes (tensor i64[2], tensor i64[2]); "
               "backend 'dsp' (1 call): registered are 'fake'; backend 'npu' (1 call): registered "
               "are 'fake'; Belay's kernels are those of //runtime/kernels:standard_kernels"));
}

TEST_F(MethodTest, BackendsThatAreThereAreNamedWithWhatProvidesThem) {
  const uint32_t x = forward_.Input("x", kF32, {2}), y = forward_.Arena(kF32, {2});
  forward_.Delegate("npu", program_.AddSegment(schema::Segment::DELEGATE, "blob"), {x}, {y});
  class Provided final : public FakeBackend {
    std::string_view id() const override { return "dsp"; }
    std::string_view target() const override { return "//backends/dsp:runtime"; }
  };
  const Provided dsp;
  ASSERT_OK(backends_.Add(&dsp));
  EXPECT_THAT(Load(), StatusIs(kNotFound, EndsWith("backend 'npu' (1 call): registered are 'dsp' "
                                                   "of //backends/dsp:runtime, 'fake'")));
  backends_ = BackendRegistry();
  EXPECT_THAT(Load(), StatusIs(kNotFound, EndsWith("backend 'npu' (1 call): registered are none")));
}

TEST_F(MethodTest, WhatIsMissingIsNamedWithItsFirstCall) {
  const uint32_t x = forward_.Input("x", kF32, {2}), y = forward_.Arena(kF32, {2});
  const uint32_t blob = program_.AddSegment(schema::Segment::DELEGATE, "blob");
  forward_.Call("test.add.Tensor", {x, x}, {y});
  schema::DebugInfo debug;
  schema::MethodDebugInfo* info = debug.add_methods();
  info->add_instructions()->set_node("add");
  for (int i = 0; i < 2; ++i) {
    forward_.Delegate("npu", blob, {x}, {y});
    info->add_instructions()->set_node(absl::StrCat("call_", i));
  }
  program_.AddDebugInfo(debug);
  EXPECT_THAT(Load(),
              StatusIs(kNotFound,
                       "method 'forward' can't be run here: backend 'npu' (2 calls, the first from "
                       "node 'call_0'): registered are 'fake'"));
}

TEST_F(MethodTest, OfManyThatAreMissingTheFirstAreListed) {
  for (int i = 100; i < 140; ++i) forward_.Call(absl::StrCat("aten.op_", i, ".default"), {}, {});
  EXPECT_THAT(Load(), StatusIs(kNotFound, AllOf(HasSubstr("'aten.op_131.default' (1 call): no "
                                                          "kernel; and 8 more"),
                                                Not(HasSubstr("op_132")))));
}

TEST_F(MethodTest, UnknownMethodsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize()));
  EXPECT_THAT(Method::Load(program, "train", kernels_, backends_),
              StatusIs(kNotFound, HasSubstr("no method 'train'")));
}

TEST_F(MethodTest, ErrorsNameInstructionAndSource) {
  forward_.None();
  forward_.Call("test.fail.default", {}, {});
  EXPECT_THAT(Load()->Execute(),
              StatusIs(absl::StatusCode::kInternal,
                       "method 'forward', instruction 0 ('test.fail.default'): out of luck"));
  schema::DebugInfo debug;
  schema::InstructionDebugInfo* info = debug.add_methods()->add_instructions();
  info->set_node("fail_1");
  info->set_source("model.py:12");
  info->set_module("layers.0");
  program_.AddDebugInfo(debug);
  EXPECT_THAT(
      Load()->Execute(),
      StatusIs(absl::StatusCode::kInternal,
               "method 'forward', instruction 0 ('test.fail.default') from node 'fail_1' at "
               "'model.py:12' in module 'layers.0': out of luck"));
}

TEST_F(MethodTest, DamagedDebugInfoIsIgnored) {
  forward_.Call("test.fail.default", {}, {});
  program_.metadata().set_debug_segment(
      program_.AddSegment(schema::Segment::DEBUG, "\xff\xff\xff") + 1);
  EXPECT_THAT(Load()->Execute(), StatusIs(absl::StatusCode::kInternal, HasSubstr("out of luck")));
}

// Debug information may end early, or break off in what it says of an instruction.
TEST_F(MethodTest, OnlyWhatTheDebugInfoSaysOfAnInstructionIsShown) {
  forward_.Int(0);
  forward_.Move(forward_.Int(1), forward_.Slot(schema::ScalarSlot::INT));
  forward_.Call("test.fail.default", {}, {});
  const auto expect_no_source = [&] {
    EXPECT_THAT(Load()->Execute(),
                StatusIs(absl::StatusCode::kInternal,
                         "method 'forward', instruction 1 ('test.fail.default'): out of luck"));
  };
  const auto field = [](const std::string& bytes) {  // of number 1
    return std::string({'\x0a', static_cast<char>(bytes.size())}) + bytes;
  };
  const std::string move = field(field("move"));
  for (const std::string& instructions : {move, move + field(field("fail") + "\xff")}) {
    program_.metadata().set_debug_segment(
        program_.AddSegment(schema::Segment::DEBUG, field(instructions)) + 1);
    expect_no_source();
  }
}

TEST_F(MethodTest, OutputsThatAreNoneAreDropped) {
  const uint32_t none = forward_.None();
  forward_.Call("test.none.default", {none}, {none});
  forward_.Output(none);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK(method.Execute());
  EXPECT_TRUE(method.GetOutput(0).is_none());
}

TEST_F(MethodTest, SlotsKeepTheirKind) {
  const uint32_t x = forward_.Input("x", kF32, {1});
  const uint32_t tensor = forward_.Arena(kF32, {1});
  const uint32_t flag = forward_.Slot(schema::ScalarSlot::BOOL);
  const uint32_t zero = forward_.Int(0);
  const uint32_t call = forward_.Call("test.wrong_kind.default", {}, {tensor});
  schema::KernelCall* kernel =
      forward_.proto().mutable_instructions(static_cast<int>(call))->mutable_kernel();
  EXPECT_THAT(Load()->Execute(), StatusIs(absl::StatusCode::kFailedPrecondition));
  const TestTensor one = TestTensor::Of<float>({1}, {1});
  const auto run_twice = [&]() -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(Method method, Load());
    ABSL_RETURN_IF_ERROR(method.SetInput(0, one.view()));
    const absl::Status first = method.Execute();
    EXPECT_EQ(method.Execute(), first);
    return first;
  };
  EXPECT_THAT(run_twice(), StatusIs(kInvalid, HasSubstr("output 0: planned is tensor f32[1], the "
                                                        "kernel computed string")));
  kernel->set_outputs(0, flag);
  EXPECT_THAT(run_twice(), StatusIs(kInvalid, HasSubstr("planned is bool")));
  // An int into a slot for a bool.
  forward_.proto().set_operators(0, "test.size.default");
  kernel->add_arguments(x);
  kernel->add_arguments(zero);
  forward_.JumpIfFalse(flag);
  EXPECT_THAT(run_twice(),
              StatusIs(kInvalid, HasSubstr("planned is bool, the kernel computed int")));
}

// The condition that failed is computed two instructions before, of two numbers.
TEST_F(MethodTest, FailedAssertionsShowTheNumbersOfTheirCondition) {
  ASSERT_OK(AddStandardKernels(kernels_));
  const uint32_t n = forward_.ScalarInput("n", schema::ScalarSlot::INT);
  const uint32_t f = forward_.ScalarInput("f", schema::ScalarSlot::DOUBLE);
  const uint32_t sum = forward_.Slot(schema::ScalarSlot::INT);
  const uint32_t other = forward_.Slot(schema::ScalarSlot::INT);
  const uint32_t less = forward_.Slot(schema::ScalarSlot::BOOL);
  const uint32_t less_f = forward_.Slot(schema::ScalarSlot::BOOL);
  forward_.Call("test.less.default", {n, forward_.Int(5)}, {less});
  forward_.Call("executorch_prim.lt.Scalar", {f, forward_.Double(5)}, {less_f});
  forward_.Call("test.add_int.default", {n, n}, {sum});
  forward_.Move(n, other);
  forward_.Call("aten._assert_scalar.default", {less, forward_.String("n is small")}, {});
  forward_.Call("aten._assert_scalar.default", {less_f, forward_.String("f is small")}, {});
  forward_.Call("test.refuse.default", {sum}, {other});
  ASSERT_OK(kernels_.Add(kRefuse));
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK(method.SetInput(0, int64_t{7}));
  ASSERT_OK(method.SetInput(1, 7.0));
  EXPECT_THAT(method.Execute(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       EndsWith("n is small (test.less.default(7, 5) is false)")));
  // Numbers that are no integers are not shown.
  ASSERT_OK(method.SetInput(0, int64_t{3}));
  EXPECT_THAT(method.Execute(),
              StatusIs(absl::StatusCode::kFailedPrecondition, EndsWith("f is small")));
  // Only assertions have a condition.
  ASSERT_OK(method.SetInput(1, 3.0));
  EXPECT_THAT(method.Execute(), StatusIs(kInvalid, EndsWith("refused")));
}

TEST_F(MethodTest, AssertionsOfWhatNoCallComputedShowNoCondition) {
  ASSERT_OK(AddStandardKernels(kernels_));
  const uint32_t b = forward_.ScalarInput("b", schema::ScalarSlot::BOOL);
  const uint32_t none = forward_.None();
  forward_.Call("test.none.default", {none}, {none});
  const uint32_t call =
      forward_.Call("aten._assert_scalar.default", {b, forward_.String("b holds")}, {});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK(method.SetInput(0, false));
  EXPECT_THAT(method.Execute(),
              StatusIs(absl::StatusCode::kFailedPrecondition, EndsWith("b holds")));
  forward_.proto()
      .mutable_instructions(static_cast<int>(call))
      ->mutable_kernel()
      ->clear_arguments();
  ASSERT_OK_AND_ASSIGN(Method without, Load());
  ASSERT_OK(without.SetInput(0, false));
  EXPECT_THAT(without.Execute(), StatusIs(kInvalid, HasSubstr("'aten._assert_scalar.default')")));
}

// --- Delegates ---

class DelegateTest : public MethodTest {
 protected:
  DelegateTest() {
    const uint32_t x = forward_.Input("x", kF32, {4}, {{.dim = 0, .min = 0, .max = 4}});
    const uint32_t y = forward_.Arena(kF32, {4}, 1);
    const uint32_t blob = program_.AddSegment(schema::Segment::DELEGATE, "add 5");
    forward_.Delegate("fake", blob, {x}, {y});
    forward_.Output(y);
    schema::CompileSpec* spec = forward_.proto().mutable_delegates(0)->add_compile_specs();
    spec->set_key("mode");
    spec->set_value("fast");
    program_.AddNamedData("fake.scale", "x");
  }
};

TEST_F(DelegateTest, Computes) {
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Of<float>({3}, {1, 2, 3});
  ASSERT_OK(method.SetInput(0, x.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(6, 7, 8));
}

TEST_F(DelegateTest, SeesTheCallWhenItIsMade) {
  ASSERT_OK_AND_ASSIGN(const Method method, Load());
  EXPECT_EQ(fake_.last_init(), "forward: mode=fast; f32[4] -> f32[4]; fake.scale of 1 bytes");
  EXPECT_EQ(fake_.live_handles(), 1);
}

TEST_F(DelegateTest, IsMadeOnceForAllItsCalls) {
  const uint32_t again = forward_.Arena(kF32, {4}, 1);
  *forward_.proto().add_instructions() = forward_.proto().instructions(0);
  schema::DelegateCall* call = forward_.proto().mutable_instructions(1)->mutable_delegate();
  call->set_arguments(0, call->outputs(0));
  call->set_outputs(0, again);
  forward_.Output(again);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  EXPECT_EQ(fake_.live_handles(), 1);
  const TestTensor x = TestTensor::Of<float>({3}, {1, 2, 3});
  ASSERT_OK(method.SetInput(0, x.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(6, 7, 8));
  EXPECT_THAT(Floats(method.GetOutput(1)), ElementsAre(11, 12, 13));
  method.ResetState();
  EXPECT_EQ(fake_.resets(), 1);
}

TEST_F(DelegateTest, AllWorkInTheSameMemory) {
  const uint32_t again = forward_.Arena(kF32, {4}, 1);
  const uint32_t blob = program_.AddSegment(schema::Segment::DELEGATE, "add 2");
  const uint32_t x_value = forward_.proto().instructions(0).delegate().arguments(0);
  forward_.Delegate("fake", blob, {x_value}, {again});
  forward_.Output(again);
  Program::Options options;
  options.limits.delegate_bytes = 16;  // what one of them needs
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  EXPECT_EQ(fake_.live_handles(), 2);
  const TestTensor x = TestTensor::Of<float>({3}, {1, 2, 3});
  ASSERT_OK(method.SetInput(0, x.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(6, 7, 8));
  EXPECT_THAT(Floats(method.GetOutput(1)), ElementsAre(3, 4, 5));
  EXPECT_NE(fake_.last_scratch(), nullptr);

  options.limits.delegate_bytes = 15;
  EXPECT_THAT(Load(options),
              StatusIs(kExhausted, HasSubstr("working memory of delegates of 16 bytes exceeds the "
                                             "limit 'delegate_bytes' of 15")));
}

TEST_F(DelegateTest, IsResetWithTheMethod) {
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  EXPECT_EQ(fake_.resets(), 0);
  method.ResetState();
  EXPECT_EQ(fake_.resets(), 1);
}

TEST_F(DelegateTest, IsFreedWithTheMethod) {
  {
    ASSERT_OK_AND_ASSIGN(const Method method, Load());
  }
  EXPECT_EQ(fake_.live_handles(), 0);
}

TEST_F(DelegateTest, ErrorsOfInitAreAnnotated) {
  const std::string file = program_.Serialize();
  std::string broken = file;
  broken.replace(broken.find("add 5"), 5, "sub 5");
  EXPECT_THAT(LoadFile(broken),
              StatusIs(absl::StatusCode::kDataLoss,
                       "method 'forward', delegate 0 of backend 'fake': no blob of this backend"));
}

TEST_F(DelegateTest, WithoutAHandleItIsAnError) {
  class EmptyBackend final : public BackendRuntime {
   public:
    std::string_view id() const override { return "empty"; }
    absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
        const DelegateInitContext&, absl::Span<const std::byte>) const override {
      return nullptr;
    }
  };
  const EmptyBackend empty;
  ASSERT_OK(backends_.Add(&empty));
  forward_.Delegate("empty", program_.AddSegment(schema::Segment::DELEGATE, "x"), {}, {});
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInternal,
                               "method 'forward', delegate 1 of backend 'empty': the backend made "
                               "no handle"));
}

TEST_F(DelegateTest, ErrorsOfExecuteAreAnnotated) {
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Of<float>({1}, {-1});
  ASSERT_OK(method.SetInput(0, x.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "method 'forward', instruction 0 (delegate 0 of backend 'fake'): the device "
                       "does not like negative numbers"));
}

// --- Reports, threads ---

TEST_F(MethodTest, SaysWhichKernelsItUses) {
  backends_ = BackendRegistry();
  FakeBackend fake;
  ASSERT_OK(backends_.Add(&fake));
  SampleIndices v;
  const TestProgram sample = SampleProgram(&v);
  std::string file = sample.Serialize();
  file.replace(file.find("blob"), 4, "add1");
  ASSERT_OK_AND_ASSIGN(const Method method, LoadFile(file));
  std::vector<std::string> lines;
  for (const InstructionInfo& info : method.instructions()) {
    lines.push_back(absl::StrCat(info.op, "/", info.kernel, "/", info.engine));
  }
  EXPECT_THAT(lines,
              ElementsAre("test.add.Tensor/Add/reference", "test.less.default/Less/reference",
                          "jump_if_false//", "move//", "delegate/fake/delegate",
                          "test.add_.Tensor/AddInPlace/reference", "jump//"));
}

TEST_F(MethodTest, SaysWhatMovesOfNumbersMove) {
  const uint32_t slot = forward_.Slot(schema::ScalarSlot::INT);
  forward_.Move(forward_.Int(7), slot);
  forward_.Output(slot);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK(method.Execute());
  const std::vector<InstructionInfo> instructions = method.instructions();
  ASSERT_EQ(instructions.size(), 1u);
  EXPECT_EQ(instructions[0].op, "move");
  ASSERT_EQ(instructions[0].arguments.size(), 1u);
  EXPECT_EQ(*instructions[0].arguments[0]->get_if<int64_t>(), 7);
  EXPECT_THAT(instructions[0].outputs, ElementsAre(&method.GetOutput(0)));
}

// Says what its argument is.
struct QuoteCall {
  std::string_view text;
  static absl::StatusOr<QuoteCall> Read(const KernelArguments& arguments) {
    QuoteCall call;
    ABSL_ASSIGN_OR_RETURN(call.text, arguments.String("text"));
    return call;
  }
};
absl::Status Quote(KernelContext& context, const QuoteCall& call) {
  return absl::InvalidArgumentError(absl::StrCat("got '", call.text, "'"));
}
constexpr Kernel kQuote[] = {
    KernelRow<&Quote>("test.quote.default", "text", "Quote", KernelEngine::kReference)};

TEST_F(MethodTest, ErrorsHoldNothingThatATerminalObeys) {
  ASSERT_OK(kernels_.Add(kQuote));
  forward_.Call("test.quote.default", {forward_.String("a\x1b[31m\r\tb\x7f")},
                {forward_.Arena(kF32, {1})});
  EXPECT_THAT(Load()->Execute(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("('test.quote.default'): got 'a?[31m?\tb?'")));
}

TEST_F(MethodTest, CallsOnTensorsThatStayWhereTheyAreAreFixed) {
  const uint32_t x = forward_.Input("x", kF32, {1});
  const uint32_t y = forward_.Input("y", kF32, {1}, {{.dim = 0, .min = 0, .max = 1}});
  const uint32_t c = forward_.Constant(program_.AddConstant<float>({5}), kF32, {1});
  const uint32_t pair = forward_.Constant(program_.AddConstant<float>({5, 6}), kF32, {2});
  const auto twice = [&](uint32_t from, const Sizes& sizes, uint32_t dynamic_dims = 0) {
    const uint32_t to = forward_.Arena(kF32, sizes, dynamic_dims);
    forward_.Call("test.twice.default", {from}, {to});
    forward_.Output(to);
    return to;
  };
  twice(twice(x, {1}), {1});
  twice(twice(y, {1}, 1), {1}, 1);  // of any size
  twice(c, {1});
  twice(pair, {2});  // not for this kernel
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  // An input is where the caller says: in one place with other content, and in another place.
  TestTensor first = TestTensor::Of<float>({1}, {1}), other = TestTensor::Of<float>({1}, {1});
  float value = 1;
  for (TestTensor* given : {&first, &first, &other, &first}) {
    *given->view().as<float>() = value;
    ASSERT_OK(method.SetInput(0, given->view()));
    ASSERT_OK(method.SetInput(1, given->view()));
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(2 * value + 1));
    EXPECT_THAT(Floats(method.GetOutput(1)), ElementsAre(2 * (2 * value + 1) + 1));
    EXPECT_THAT(Floats(method.GetOutput(2)), ElementsAre(2 * value));
    EXPECT_THAT(Floats(method.GetOutput(3)), ElementsAre(4 * value));
    EXPECT_THAT(Floats(method.GetOutput(4)), ElementsAre(11));
    EXPECT_THAT(Floats(method.GetOutput(5)), ElementsAre(10, 12));
    value += 10;
  }
  EXPECT_EQ(method.instructions()[1].kernel, "Twice");
}

TEST_F(MethodTest, CallsOnTensorsThatStayWhereTheyAreAreFixedWithoutInputs) {
  const uint32_t c = forward_.Constant(program_.AddConstant<float>({5}), kF32, {1});
  const uint32_t to = forward_.Arena(kF32, {1});
  forward_.Call("test.twice.default", {c}, {to});
  forward_.Output(to);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(11));
}

// Neither an input nor a movable output: fixed when the method is loaded.
TEST_F(MethodTest, CallsBetweenTensorsOfTheMethodAreFixed) {
  const uint32_t c = forward_.Constant(program_.AddConstant<float>({5}), kF32, {1});
  const uint32_t middle = forward_.Arena(kF32, {1}), last = forward_.Arena(kF32, {1});
  forward_.Call("test.twice.default", {c}, {middle});
  forward_.Call("test.twice.default", {middle}, {last});
  forward_.Output(last);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(23));
}

TEST_F(MethodTest, CanBeMoved) {
  const uint32_t x = forward_.Input("x", kF32, {1});
  const uint32_t y = forward_.Arena(kF32, {1});
  forward_.Call("test.add.Tensor", {x, x}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(Method first, Load());
  Method method = std::move(first);
  const TestTensor one = TestTensor::Of<float>({1}, {1});
  ASSERT_OK(method.SetInput(0, one.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(2));
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
