#include "runtime/executor/method_inputs.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/core/memory_budget.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

TEST_F(AddTest, NamesUnsetInputs) {
  Build({1});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         "not all inputs are set: input 0 'a', input 1 'b'"));
  const TestTensor a = TestTensor::Of<float>({1}, {1});
  ASSERT_OK(method.SetInput(0, a.view()));
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         "not all inputs are set: input 1 'b'"));
}

// Inputs without memory must be set, too.
TEST_F(MethodTest, NamesUnsetScalarsAndEmptyTensors) {
  forward_.ScalarInput("n", schema::ScalarSlot::INT);
  forward_.Input("empty", kF32, {0});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         "not all inputs are set: input 0 'n', input 1 'empty'"));
  ASSERT_OK(method.SetInput(0, int64_t{0}));
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         "not all inputs are set: input 1 'empty'"));
  ASSERT_OK(method.SetInput(1, TensorView::Contiguous(kF32, Sizes({0}), nullptr)));
  EXPECT_OK(method.Execute());
}

// A kernel that overwrites the slot removes the caller's memory from it.
TEST_F(MethodTest, OverwrittenMutatedInputMustBeSetAgain) {
  forward_.Call("test.wrong_kind.default", {}, {forward_.MutatedInput("m", kF32, {1})});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor m = TestTensor::Of<float>({1}, {1});
  ASSERT_OK(method.SetInput(0, m.view()));
  EXPECT_THAT(method.Execute(), StatusIs(kInvalid, HasSubstr("expected tensor f32[1]")));
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         "not all inputs are set: input 0 'm'"));
}

TEST_F(AddTest, RejectsMismatchedInputs) {
  Build({4, 3}, {{.dim = 0, .min = 2, .max = 4, .symbol = "s0"}});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const auto set = [&](DType dtype, const Sizes& sizes) {
    return method.SetInput(0, TestTensor::Zeros(dtype, sizes).view());
  };
  EXPECT_THAT(set(DType::kFloat64, {4, 3}),
              StatusIs(kInvalid, "input 0 'a': expected f32[2..4,3], got f64[4,3]"));
  EXPECT_THAT(set(kF32, {4}), StatusIs(kInvalid, HasSubstr("rank 1 instead of 2")));
  EXPECT_THAT(set(kF32, {4, 4}), StatusIs(kInvalid, HasSubstr("dimension 1 is 4 instead of 3")));
  EXPECT_THAT(set(kF32, {5, 3}),
              StatusIs(kOutOfRange,
                       "input 0 'a': expected f32[2..4,3], got f32[5,3]: dimension 0 "
                       "is 5, allowed are 2 to 4"));
  EXPECT_THAT(set(kF32, {1, 3}), StatusIs(kOutOfRange, HasSubstr("dimension 0 is 1")));
  EXPECT_THAT(method.SetInput(0, int64_t{1}), StatusIs(kInvalid, HasSubstr("got int 1")));
  EXPECT_THAT(method.SetInput(0, EValue()), StatusIs(kInvalid, HasSubstr("got none")));
  EXPECT_THAT(method.SetInput(2, EValue()), StatusIs(kOutOfRange, HasSubstr("got input 2")));
  TensorView view = TestTensor::Zeros(kF32, {4, 3}).view();
  view.data = nullptr;
  EXPECT_THAT(method.SetInput(0, view), StatusIs(kInvalid, HasSubstr("without data")));
  view.strides = Strides({1});
  EXPECT_THAT(method.SetInput(0, view), StatusIs(kInvalid, HasSubstr("2 sizes and 1 strides")));
}

TEST_F(AddTest, InputsWithSameSymbolMustAgree) {
  Build({4, 3}, {{.dim = 0, .min = 1, .max = 4, .symbol = "batch"}});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor a = TestTensor::Zeros(kF32, {3, 3});
  const TestTensor b = TestTensor::Zeros(kF32, {2, 3});
  ASSERT_OK(method.SetInput(0, a.view()));
  ASSERT_OK(method.SetInput(1, b.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(kInvalid,
                       "the sizes of two inputs are inconsistent: input 0 'a' dimension 0 makes "
                       "'batch' 3, input 1 'b' dimension 0 makes it 2"));
  ASSERT_OK(method.SetInput(1, a.view()));
  EXPECT_OK(method.Execute());
}

TEST_F(AddTest, DimensionsWithSameSymbolMustAgree) {
  Build({4, 4}, {{.dim = 0, .min = 1, .max = 4, .symbol = "n"},
                 {.dim = 1, .min = 1, .max = 4, .symbol = "n"}});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor a = TestTensor::Zeros(kF32, {3, 2});
  ASSERT_OK(method.SetInput(0, a.view()));
  ASSERT_OK(method.SetInput(1, a.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(kInvalid,
                       "two sizes of an input are inconsistent: input 0 'a' dimension 0 "
                       "makes 'n' 3, input 0 'a' dimension 1 makes it 2"));
}

TEST_F(AddTest, AcceptsAnyStrides) {
  Build({2, 3});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor a = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const TestTensor others[] = {TestTensor::Dense<float>({2, 3}, {1, 0}, {10, 20, 30, 40, 50, 60}),
                               TestTensor::Strided<float>({2, 3}, {8, 2}, {10, 20, 30, 40, 50, 60}),
                               TestTensor::Of<float>({2, 3}, {10, 20, 30, 40, 50, 60})};
  ASSERT_OK(method.SetInput(0, a.view()));
  for (const TestTensor& b : others) {
    ASSERT_OK(method.SetInput(1, b.view()));
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(11, 22, 33, 44, 55, 66));
  }
  const TestTensor row = TestTensor::Strided<float>({2, 3}, {0, 1}, {1, 2, 3, 1, 2, 3});
  ASSERT_OK(method.SetInput(1, row.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(2, 4, 6, 5, 7, 9));
}

TEST_F(AddTest, MisalignedInputsAreCopied) {
  Build({3});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor a = TestTensor::Of<float>({3}, {1, 2, 3});
  std::vector<char> bytes(13);
  std::memcpy(bytes.data() + 1, a.view().data, 12);
  ASSERT_OK(method.SetInput(0, a.view()));
  ASSERT_OK(method.SetInput(1, TensorView::Contiguous(kF32, Sizes({3}), bytes.data() + 1)));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(2, 4, 6));
}

TEST_F(AddTest, InputIsUsedInPlace) {
  Build({2});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor a = TestTensor::Of<float>({2}, {1, 2});
  const TestTensor b = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, a.view()));
  ASSERT_OK(method.SetInput(1, b.view()));
  b.view().as<float>()[0] = 100;
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(101, 4));
}

TEST_F(MethodTest, SymbolsMayBeScaledAndShifted) {
  forward_.Input("a", kF32, {9},
                 {{.dim = 0, .min = 1, .max = 9, .symbol = "s", .multiplier = 2, .offset = 1}});
  forward_.ScalarInput("s", schema::ScalarSlot::INT,
                       {{.dim = 0, .min = 0, .max = 4, .symbol = "s"}});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor seven = TestTensor::Zeros(kF32, {7}), six = TestTensor::Zeros(kF32, {6});
  ASSERT_OK(method.SetInput(0, seven.view()));
  ASSERT_OK(method.SetInput(1, int64_t{3}));
  EXPECT_OK(method.Execute());
  ASSERT_OK(method.SetInput(1, int64_t{2}));
  EXPECT_THAT(method.Execute(),
              StatusIs(kInvalid, HasSubstr("makes 's' 3, input 1 's' makes it 2")));
  ASSERT_OK(method.SetInput(0, six.view()));
  EXPECT_THAT(method.Execute(), StatusIs(kInvalid, HasSubstr("6 is not 2 * 's' + 1")));
}

TEST_F(MethodTest, SymbolsDoNotWrap) {
  forward_.Input("a", kF32, {9},
                 {{.dim = 0, .min = 0, .max = 9, .symbol = "s", .offset = INT64_MIN}});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor one = TestTensor::Zeros(kF32, {1});
  ASSERT_OK(method.SetInput(0, one.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(kInvalid, HasSubstr("1 is not 1 * 's' + -9223372036854775808")));
}

TEST_F(MethodTest, ScalarsHaveKindsAndBounds) {
  const uint32_t n =
      forward_.ScalarInput("n", schema::ScalarSlot::INT, {{.dim = 0, .min = -1, .max = 5}});
  const uint32_t f = forward_.ScalarInput("f", schema::ScalarSlot::DOUBLE);
  const uint32_t b = forward_.ScalarInput("b", schema::ScalarSlot::BOOL);
  for (const uint32_t value : {n, f, b}) forward_.Output(value);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  EXPECT_THAT(method.SetInput(0, int64_t{6}),
              StatusIs(kOutOfRange, "input 0 'n': is 6, allowed are -1 to 5"));
  EXPECT_THAT(method.SetInput(0, int64_t{-2}),
              StatusIs(kOutOfRange, "input 0 'n': is -2, allowed are -1 to 5"));
  EXPECT_THAT(method.SetInput(0, 1.0),
              StatusIs(kInvalid, "input 0 'n': expected int, got float 1"));
  EXPECT_THAT(method.SetInput(1, int64_t{1}),
              StatusIs(kInvalid, "input 1 'f': expected float, got int 1"));
  EXPECT_THAT(method.SetInput(2, int64_t{1}), StatusIs(kInvalid, HasSubstr("expected bool")));
  ASSERT_OK(method.SetInput(0, int64_t{-1}));
  ASSERT_OK(method.SetInput(1, 0.25));
  ASSERT_OK(method.SetInput(2, true));
  ASSERT_OK(method.Execute());
  EXPECT_EQ(*method.GetOutput(0).get_if<int64_t>(), -1);
  EXPECT_EQ(*method.GetOutput(1).get_if<double>(), 0.25);
  EXPECT_EQ(*method.GetOutput(2).get_if<bool>(), true);
}

TEST_F(MethodTest, ConstantInputsMustBeEqual) {
  forward_.ConstantInput("i", forward_.Int(3));
  forward_.ConstantInput("d", forward_.Double(0.5));
  forward_.ConstantInput("nan", forward_.Double(std::nan("")));
  forward_.ConstantInput("b", forward_.Bool(true));
  forward_.ConstantInput("s", forward_.String("mean"));
  forward_.ConstantInput("none", forward_.None());
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  EXPECT_OK(method.Execute());  // the constants are known
  EXPECT_OK(method.SetInput(0, int64_t{3}));
  EXPECT_THAT(method.SetInput(0, int64_t{4}),
              StatusIs(kInvalid,
                       "input 0 'i': expected int 3, got int 4: the program was "
                       "specialized for that value"));
  EXPECT_OK(method.SetInput(1, 0.5));
  EXPECT_THAT(method.SetInput(1, 0.5000001), StatusIs(kInvalid));
  EXPECT_OK(method.SetInput(2, -std::nan("")));
  EXPECT_THAT(method.SetInput(2, 0.0), StatusIs(kInvalid));
  EXPECT_OK(method.SetInput(3, true));
  EXPECT_THAT(method.SetInput(3, false), StatusIs(kInvalid));
  EXPECT_THAT(method.SetInput(3, int64_t{1}), StatusIs(kInvalid));
  EXPECT_OK(method.SetInput(4, std::string_view("mean")));
  EXPECT_THAT(method.SetInput(4, std::string_view("sum")), StatusIs(kInvalid, HasSubstr("'sum'")));
  EXPECT_THAT(method.SetInput(4, int64_t{1}),
              StatusIs(kInvalid, HasSubstr("expected string 'mean', got int 1")));
  EXPECT_OK(method.SetInput(5, EValue()));
  EXPECT_THAT(method.SetInput(5, 1.0), StatusIs(kInvalid));
}

TEST_F(MethodTest, MutatedInputsAreWrittenInPlace) {
  const uint32_t m = forward_.MutatedInput("m", kF32, {2, 2});
  const uint32_t x = forward_.Input("x", kF32, {2, 2});
  forward_.Call("test.add_.Tensor", {m, x}, {m});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor m_tensor = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const TestTensor x_tensor = TestTensor::Of<float>({2, 2}, {1, 1, 1, 1});
  ASSERT_OK(method.SetInput(0, m_tensor.view()));
  ASSERT_OK(method.SetInput(1, x_tensor.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(ToVector<float>(m_tensor.view()), ElementsAre(2, 3, 4, 5));

  ASSERT_OK(method.SetInput(1, m_tensor.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(kInvalid, "input 0 'm' is written to and shares memory with input 1 'x'"));
  const TestTensor transposed = TestTensor::Dense<float>({2, 2}, {1, 0}, {1, 2, 3, 4});
  EXPECT_THAT(method.SetInput(0, transposed.view()),
              StatusIs(kInvalid, HasSubstr("the program writes to it")));
}

TEST_F(MethodTest, RejectsMutatedInputsWithSharedMemory) {
  forward_.MutatedInput("a", DType::kUint8, {4});
  forward_.Input("b", DType::kUint8, {8});
  forward_.MutatedInput("c", DType::kUint8, {2});
  forward_.Input("d", DType::kUint8, {8});
  forward_.MutatedInput("e", DType::kUint8, {0});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  struct Case {
    int a, b, c, d, e;  // their start offsets
    const char* message;
  };
  const Case cases[] = {
      {0, 4, 12, 14, 0, nullptr},
      {20, 12, 10, 2, 24, nullptr},
      // Two inputs that are only read may overlap.
      {0, 4, 12, 4, 5, nullptr},
      {0, 5, 13, 7, 6, "input 2 'c' is written to and shares memory with input 3 'd'"},
      {0, 3, 20, 12, 0, "input 0 'a' is written to and shares memory with input 1 'b'"},
      {7, 0, 20, 12, 0, "input 0 'a' is written to and shares memory with input 1 'b'"},
      {0, 8, 3, 20, 0, "input 2 'c' is written to and shares memory with input 0 'a'"},
      {2, 8, 2, 20, 0, "input 2 'c' is written to and shares memory with input 0 'a'"},
      // Inside one that starts much earlier, with another in between.
      {20, 0, 6, 1, 0, "input 2 'c' is written to and shares memory with input 3 'd'"},
      {20, 0, 6, 10, 0, "input 2 'c' is written to and shares memory with input 1 'b'"},
  };
  std::byte memory[32] = {};
  for (const Case& c : cases) {
    const int begins[] = {c.a, c.b, c.c, c.d, c.e};
    const int64_t sizes[] = {4, 8, 2, 8, 0};
    for (size_t i = 0; i < 5; ++i) {
      ASSERT_OK(method.SetInput(
          i, TensorView::Contiguous(DType::kUint8, Sizes({sizes[i]}), memory + begins[i])));
    }
    if (c.message == nullptr) {
      EXPECT_OK(method.Execute());
    } else {
      EXPECT_THAT(method.Execute(), StatusIs(kInvalid, c.message));
    }
  }
}

// Pairwise comparison of 2^20 mutated inputs would need 2^40 steps.
TEST(MethodInputsTest, OverlapCheckSortsManyMutatedInputs) {
  constexpr size_t kMany = size_t{1} << 20;
  const int64_t sizes[] = {1};
  const uint8_t order[] = {0};
  MethodPlan plan;
  TensorPlan tensor;
  tensor.dtype = DType::kUint8;
  tensor.sizes = sizes;
  tensor.dim_order = order;
  tensor.max_bytes = 1;
  plan.values.assign(kMany, tensor);
  plan.inputs.resize(kMany);
  for (uint32_t i = 0; i < kMany; ++i) {
    plan.inputs[i].value = i;
    plan.inputs[i].mutated = true;
  }
  MemoryBudget memory_budget("arena_bytes", 0);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SlotTable> slots,
                       SlotTable::Create(plan, memory_budget));
  ASSERT_OK_AND_ASSIGN(MethodInputs inputs, MethodInputs::Create(slots.get(), memory_budget));
  std::vector<std::byte> memory(kMany);
  const auto set = [&](size_t i, size_t place) {
    return inputs.Set(i, TensorView::Contiguous(DType::kUint8, Sizes({1}), memory.data() + place));
  };
  // An odd multiplier: visits each position once.
  for (size_t i = 0; i < kMany; ++i) ASSERT_OK(set(i, i * 77777 % kMany));
  EXPECT_OK(inputs.CheckReady());
  ASSERT_OK(set(5, 6 * 77777));
  EXPECT_THAT(inputs.CheckReady(),
              StatusIs(kInvalid, HasSubstr("input 6 '' is written to and shares memory with "
                                           "input 5 ''")));
}

TEST_F(MethodTest, InputCopiesAreLimited) {
  forward_.Input("x", kF32, {int64_t{1} << 50});
  EXPECT_THAT(Load(), StatusIs(kExhausted, HasSubstr("'arena_bytes'")));
  for (int i = 0; i < 3; ++i) forward_.Input("more", kF32, {int64_t{1} << 60});
  EXPECT_THAT(Load(), StatusIs(kExhausted, HasSubstr("'arena_bytes'")));
  // 2^64 bytes and more: the sum saturates.
  for (int i = 0; i < 2; ++i) forward_.Input("more", kF32, {int64_t{1} << 60});
  EXPECT_THAT(Load(), StatusIs(kExhausted, HasSubstr("of 18446744073709551615 bytes exceeds the "
                                                     "limit 'arena_bytes'")));
}

TEST_F(MethodTest, ArenaStateAndInputCopiesShareOneLimit) {
  forward_.Arena(kF32, {16});
  forward_.State("s", kF32, {16});
  forward_.Input("x", kF32, {16});
  Program::Options options;
  options.limits.arena_bytes = 3 * 64;
  ASSERT_OK_AND_ASSIGN(const Method method, Load(options));
  EXPECT_EQ(method.memory_bytes(), 3 * 64u);
  options.limits.arena_bytes = 3 * 64 - 1;
  EXPECT_THAT(Load(options),
              StatusIs(kExhausted, HasSubstr("method 'forward': memory for copies of inputs of 64 "
                                             "bytes exceeds the limit 'arena_bytes' of 191")));
}

// Any number of values may share one constant.
TEST_F(MethodTest, CopiesOfMisalignedConstantsAreLimited) {
  const uint32_t constant = program_.AddConstant<float>({1, 2, 3, 4});
  for (int i = 0; i < 4; ++i) forward_.Constant(constant, kF32, {4});
  Program::Options options;
  options.limits.arena_bytes = 63;
  EXPECT_OK(LoadFile(program_.Serialize(), options));
  ASSERT_OK_AND_ASSIGN(const Method copied, LoadFile(program_.Serialize(), {}, 2));
  EXPECT_EQ(copied.memory_bytes(), 4 * 16u);
  EXPECT_THAT(LoadFile(program_.Serialize(), options, /*misalignment=*/2),
              StatusIs(kExhausted, HasSubstr("a copy of a misaligned constant of 16 bytes exceeds "
                                             "the limit 'arena_bytes' of 63, of which 15")));
}

TEST_F(MethodTest, EmptyConstantsAreNotCopied) {
  const uint32_t none = forward_.Constant(program_.AddConstant<float>({}), kF32, {0});
  forward_.Output(none);
  ASSERT_OK_AND_ASSIGN(Method method, LoadFile(program_.Serialize(), {}, /*misalignment=*/2));
  EXPECT_EQ(method.memory_bytes(), 0u);
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre());
}

}  // namespace
}  // namespace belay
