// Methods whose memory follows the sizes of each call.
#include "runtime/core/reserved_memory.h"

#include <cstdint>

#include "runtime/backend/delegate_memory.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"
#include "runtime/executor/testing/program_backend.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr uint64_t kMiB = 1 << 20;
constexpr int64_t kBound = int64_t{1} << 40;  // 4 TiB

// y = (x + x) + x, of up to kBound elements.
class ReservedMemoryTest : public MethodTest {
 protected:
  ReservedMemoryTest() { Fill(forward_); }

  static void Fill(TestMethod& method) {
    const uint32_t x =
        method.Input("x", kF32, {kBound}, {{.dim = 0, .min = 0, .max = kBound, .symbol = "n"}});
    const uint32_t a = method.Arena(kF32, {kBound}, 1), b = method.Arena(kF32, {kBound}, 1);
    method.Call("test.add.Tensor", {x, x}, {a});
    method.Call("test.add.Tensor", {a, x}, {b});
    method.Output(b);
  }

  absl::Status Run(Method& method, int64_t elements) {
    inputs_.push_back(std::make_unique<TestTensor>(TestTensor::Of<float>(
        {elements}, std::vector<float>(static_cast<size_t>(elements), 1.5f))));
    const absl::Status status = method.SetInput(0, inputs_.back()->view());
    return status.ok() ? method.Execute() : status;
  }

  std::vector<std::unique_ptr<TestTensor>> inputs_;
};

TEST_F(ReservedMemoryTest, CallsUseThePagesOfTheirSizes) {
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const uint64_t before = method.memory_bytes();
  EXPECT_LT(before, kMiB);
  ASSERT_OK(Run(method, 3));
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(4.5f, 4.5f, 4.5f));
  EXPECT_EQ(method.memory_bytes() - before, 2 * PageRanges::kPage);
  ASSERT_OK(Run(method, 10'000));
  EXPECT_EQ(method.memory_bytes() - before, 2 * 10 * PageRanges::kPage);
  ASSERT_OK(Run(method, 1));
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(4.5f));
  EXPECT_EQ(method.memory_bytes() - before, 2 * 10 * PageRanges::kPage);
  ASSERT_OK(Run(method, 0));
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre());
}

TEST_F(ReservedMemoryTest, LimitsTheMemoryOfACall) {
  Program::Options options;
  options.limits.arena_bytes = kMiB;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  ASSERT_OK(Run(method, 100'000));
  EXPECT_THAT(
      Run(method, 200'000),
      StatusIs(kExhausted,
               AllOf(HasSubstr("a tensor float32[200000]: memory for the sizes of this call "
                               "of "),
                     HasSubstr(" exceeds the limit 'arena_bytes' of 1048576"),
                     HasSubstr("test.add.Tensor"))));
  ASSERT_OK(Run(method, 100'000));
  EXPECT_EQ(Floats(method.GetOutput(0))[99'999], 4.5f);
}

TEST_F(ReservedMemoryTest, MethodsShareMemoryOfDelegates) {
  Program::Options options;
  options.limits.arena_bytes = kMiB;
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(program_.Serialize(), options));
  DelegateMemory memory;
  const auto load = [&] {
    return Method::Load(program, "forward", kernels_, backends_, {.shared_memory = &memory});
  };
  ASSERT_OK_AND_ASSIGN(Method a, load());
  ASSERT_OK_AND_ASSIGN(Method b, load());
  const auto check = [&](Method& method, int64_t elements) {
    ASSERT_OK(Run(method, elements));
    const std::vector<float> y = Floats(method.GetOutput(0));
    EXPECT_EQ(y, std::vector<float>(static_cast<size_t>(elements), 4.5f));
  };
  check(a, 3);
  check(b, 5);
  EXPECT_EQ(a.GetOutput(0).get_if<TensorView>()->data, b.GetOutput(0).get_if<TensorView>()->data);
  // Calls of other sizes discard the pages, which the other method notices.
  for (int64_t elements : {100'000, 99'000, 100'000}) {
    check(a, elements);
    check(b, elements);
    check(b, elements);
    check(a, 7);
    check(b, elements);
  }
  EXPECT_THAT(Run(a, 200'000), StatusIs(kExhausted));
  check(b, 100'000);
  check(a, 100'000);
}

// y = x + x of [n], z = w + w of [m]: each fits, both together do not.
TEST_F(MethodTest, PagesOfEarlierCallsAreReturned) {
  std::vector<uint32_t> inputs;
  for (const char* name : {"n", "m"}) {
    inputs.push_back(forward_.Input(name, kF32, {kBound},
                                    {{.dim = 0, .min = 0, .max = kBound, .symbol = name}}));
  }
  const uint32_t fixed = forward_.Arena(kF32, {2});
  const uint32_t two = forward_.Constant(program_.AddConstant<float>({1, 2}), kF32, {2});
  forward_.Call("test.add.Tensor", {two, two}, {fixed});
  for (const uint32_t x : inputs) {
    const uint32_t y = forward_.Arena(kF32, {kBound}, 1);
    forward_.Call("test.add.Tensor", {x, x}, {y});
    forward_.Output(y);
  }
  forward_.Output(fixed);
  Program::Options options;
  options.limits.arena_bytes = kMiB;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  const TestTensor small = TestTensor::Of<float>({2}, {1, 2});
  const TestTensor large = TestTensor::Of<float>({200'000}, std::vector<float>(200'000, 3));
  for (int k = 0; k < 4; ++k) {
    ASSERT_OK(method.SetInput(0, (k % 2 == 0 ? large : small).view()));
    ASSERT_OK(method.SetInput(1, (k % 2 == 0 ? small : large).view()));
    ASSERT_OK(method.Execute());
    EXPECT_EQ(Floats(method.GetOutput(k % 2)).size(), 200'000u);
    EXPECT_EQ(Floats(method.GetOutput(k % 2))[199'999], 6);
    EXPECT_THAT(Floats(method.GetOutput(1 - k % 2)), ElementsAre(2, 4));
    EXPECT_THAT(Floats(method.GetOutput(2)), ElementsAre(2, 4));
    EXPECT_LE(method.memory_bytes(), kMiB + 1024);
  }
  ASSERT_OK(method.SetInput(0, large.view()));
  EXPECT_THAT(method.Execute(), StatusIs(kExhausted));
}

// The result of a call is the input of the next, which has other sizes.
TEST_F(ReservedMemoryTest, InputsInTheArenaKeepTheirPages) {
  Program::Options options;
  options.limits.arena_bytes = kMiB;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  ASSERT_OK(Run(method, 100'000));
  TensorView output = *method.GetOutput(0).get_if<TensorView>();
  output.sizes[0] = 50'000;
  ASSERT_OK(method.SetInput(0, output));
  ASSERT_OK(method.Execute());
  EXPECT_EQ(Floats(method.GetOutput(0))[0], 13.5f);
}

TEST_F(MethodTest, StaticTensorsOfAReservedArenaAreLimitedAtLoad) {
  forward_.Arena(kF32, {kBound}, 1);
  forward_.Arena(kF32, {1 << 20});
  Program::Options options;
  options.limits.arena_bytes = 4 * kMiB;
  EXPECT_OK(Load(options).status());
  options.limits.arena_bytes -= 1;
  EXPECT_THAT(Load(options), StatusIs(kExhausted, HasSubstr("'arena_bytes' of 4194303")));
}

TEST_F(MethodTest, AddressSpaceIsLimited) {
  forward_.Arena(kF32, {kBound}, 1);
  Program::Options options;
  options.limits.reserved_bytes = 4 * kBound;
  EXPECT_OK(Load(options).status());
  options.limits.reserved_bytes -= 1;
  EXPECT_THAT(Load(options), StatusIs(kExhausted, HasSubstr("exceeds the limit 'reserved_bytes'")));
}

TEST_F(MethodTest, StateIsLimitedNextToAReservedArena) {
  forward_.Arena(kF32, {kBound}, 1);
  forward_.State("s", kF32, {100});
  Program::Options options;
  options.limits.arena_bytes = 399;
  EXPECT_THAT(Load(options), StatusIs(kExhausted, HasSubstr("'arena_bytes'")));
}

// The copy of an input with other strides is charged by its size.
TEST_F(MethodTest, CopiesOfLargeInputsFollowTheCall) {
  const uint32_t x = forward_.Input("x", kF32, {kBound / 2, 2},
                                    {{.dim = 0, .min = 0, .max = kBound / 2, .symbol = "n"}});
  forward_.Output(x);
  Program::Options options;
  options.limits.arena_bytes = kMiB;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  const TestTensor transposed = TestTensor::Dense<float>({3, 2}, {1, 0}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK(method.SetInput(0, transposed.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(method.memory_bytes(), PageRanges::kPage);
  const TestTensor large =
      TestTensor::Dense<float>({200'000, 2}, {1, 0}, std::vector<float>(400'000, 1));
  EXPECT_THAT(method.SetInput(0, large.view()),
              StatusIs(kExhausted, HasSubstr("input 0 'x': a copy: memory for the sizes of")));
}

// When a call begins, the outputs of its kernels have the sizes of the call before.
TEST_F(MethodTest, WorkingMemoryFollowsOutputsThatGrow) {
  const uint32_t x =
      forward_.Input("x", kF32, {kBound}, {{.dim = 0, .min = 0, .max = kBound, .symbol = "n"}});
  const uint32_t y = forward_.Arena(kF32, {kBound}, 1);
  forward_.Call("test.scratch_of_output.default", {x}, {y});
  forward_.Output(y);
  Program::Options options;
  options.limits.scratch_bytes = 40'000;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  for (const int64_t elements : {10, 1000, 10, 10'000, 10'001, 100}) {
    const TestTensor input =
        TestTensor::Of<float>({elements}, std::vector<float>(static_cast<size_t>(elements), 1));
    ASSERT_OK(method.SetInput(0, input.view()));
    const absl::Status status = method.Execute();
    if (elements > 10'000) {
      EXPECT_THAT(status, StatusIs(kExhausted, HasSubstr("it needs 40004 bytes of working memory, "
                                                         "the limit 'scratch_bytes' is 40000")));
    } else {
      ASSERT_OK(status);
      EXPECT_EQ(Floats(method.GetOutput(0)).back(), 2);
    }
  }
}

TEST_F(MethodTest, WorkingMemoryFollowsTheCall) {
  const uint32_t x =
      forward_.Input("x", kF32, {kBound}, {{.dim = 0, .min = 0, .max = kBound, .symbol = "n"}});
  const uint32_t y = forward_.Arena(kF32, {kBound}, 1);
  forward_.Call("test.scratch.default", {x}, {y});
  forward_.Output(y);
  Program::Options options;
  options.limits.scratch_bytes = 4000;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  for (const int64_t elements : {1000, 10, 1001, 1000}) {
    const TestTensor input =
        TestTensor::Of<float>({elements}, std::vector<float>(static_cast<size_t>(elements), 1));
    ASSERT_OK(method.SetInput(0, input.view()));
    const absl::Status status = method.Execute();
    if (elements > 1000) {
      EXPECT_THAT(status, StatusIs(kExhausted, HasSubstr("it needs 4004 bytes of working memory, "
                                                         "the limit 'scratch_bytes' is 4000")));
    } else {
      ASSERT_OK(status);
      EXPECT_EQ(Floats(method.GetOutput(0)).back(), 2);
    }
  }
}

}  // namespace
}  // namespace belay
