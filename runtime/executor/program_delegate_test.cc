#include "runtime/executor/program_delegate.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend/backend_settings.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"
#include "runtime/executor/testing/program_backend.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// `inner_` is the method of the program in the blob.
class ProgramDelegateTest : public MethodTest {
 protected:
  ProgramDelegateTest()
      : program_backend_(kernels_, no_backends_), inner_(blob_.AddMethod("forward")) {
    EXPECT_OK(backends_.Add(&program_backend_));
  }

  // Loads a call of the current blob on these arguments.
  absl::StatusOr<Method> LoadCall(const std::vector<uint32_t>& arguments,
                                  const std::vector<uint32_t>& outputs) {
    const uint32_t segment = program_.AddSegment(schema::Segment::DELEGATE, blob_.Serialize());
    forward_.Delegate("program", segment, arguments, outputs);
    for (const uint32_t output : outputs) forward_.Output(output);
    return Load();
  }

  BackendRegistry no_backends_;
  ProgramBackend program_backend_;
  TestProgram blob_;
  TestMethod inner_;
};

TEST_F(ProgramDelegateTest, CallMustMatchProgramArity) {
  const uint32_t a = inner_.Input("a", kF32, {1}), b = inner_.Arena(kF32, {1});
  inner_.Call("test.add.Tensor", {a, a}, {b});
  inner_.Output(b);
  const uint32_t x = forward_.Input("x", kF32, {1}), y = forward_.Arena(kF32, {1});
  EXPECT_THAT(
      LoadCall({x, x}, {y}),
      StatusIs(kInvalid, HasSubstr("the program in the blob has 1 inputs and 1 outputs, the "
                                   "call has 2 and 1")));
}

TEST_F(ProgramDelegateTest, CallMustMatchProgramOutputs) {
  inner_.Input("a", kF32, {1});
  const uint32_t x = forward_.Input("x", kF32, {1}), y = forward_.Arena(kF32, {1});
  EXPECT_THAT(
      LoadCall({x}, {y}),
      StatusIs(kInvalid, HasSubstr("the program in the blob has 1 inputs and 0 outputs, the "
                                   "call has 1 and 1")));
}

TEST_F(ProgramDelegateTest, RejectsMutatedInputs) {
  inner_.Input("a", kF32, {1});
  inner_.MutatedInput("m", kF32, {1});
  const uint32_t x = forward_.Input("x", kF32, {1});
  EXPECT_THAT(LoadCall({x, x}, {}),
              StatusIs(kInvalid, HasSubstr("the program in the blob mutates its input 1")));
}

TEST_F(ProgramDelegateTest, PassesScalars) {
  const uint32_t n = inner_.ScalarInput("n", schema::ScalarSlot::INT);
  const uint32_t sum = inner_.Slot(schema::ScalarSlot::INT);
  inner_.Call("test.add_int.default", {n, inner_.Int(4)}, {sum});
  inner_.Output(sum);
  const uint32_t x = forward_.ScalarInput("x", schema::ScalarSlot::INT);
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {forward_.Slot(schema::ScalarSlot::INT)}));
  ASSERT_OK(method.SetInput(0, int64_t{38}));
  ASSERT_OK(method.Execute());
  EXPECT_EQ(*method.GetOutput(0).get_if<int64_t>(), 42);
}

// In place: the inner program reads and writes the memory of the call.
TEST_F(ProgramDelegateTest, ReshapesOperands) {
  const uint32_t a = inner_.Input("a", kF32, {6}), b = inner_.Arena(kF32, {6});
  inner_.Call("test.add.Tensor", {a, a}, {b});
  inner_.Output(b);
  const uint32_t x = forward_.Input("x", kF32, {2, 3}), y = forward_.Arena(kF32, {3, 1, 2});
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {y}));
  std::vector<float> in = {1, 2, 3, 4, 5, 6}, out(6);
  const int64_t sizes[] = {2, 3}, result_sizes[] = {3, 1, 2};
  ASSERT_OK(method.SetInput(0, TensorView::Contiguous(kF32, sizes, in.data())));
  EXPECT_TRUE(method.SetOutputMemory(0, TensorView::Contiguous(kF32, result_sizes, out.data())));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(out, ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(method.GetOutput(0).get_if<TensorView>()->sizes, ElementsAre(3, 1, 2));
}

// Dimensions of size 1 do not change the order of elements.
TEST_F(ProgramDelegateTest, ReshapesResultsThatAreContiguousInAnotherDimOrder) {
  const uint32_t a = inner_.Input("a", kF32, {1, 6, 1, 1});
  const uint32_t b = inner_.ArenaInOrder(kF32, {1, 6, 1, 1}, {0, 2, 3, 1});
  inner_.Call("test.add.Tensor", {a, a}, {b});
  inner_.Output(b);
  const uint32_t x = forward_.Input("x", kF32, {1, 6, 1, 1}), y = forward_.Arena(kF32, {1, 6});
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {y}));
  std::vector<float> in = {1, 2, 3, 4, 5, 6};
  const int64_t sizes[] = {1, 6, 1, 1};
  ASSERT_OK(method.SetInput(0, TensorView::Contiguous(kF32, sizes, in.data())));
  ASSERT_OK(method.Execute());
  const TensorView& result = *method.GetOutput(0).get_if<TensorView>();
  EXPECT_THAT(result.sizes, ElementsAre(1, 6));
  EXPECT_EQ(result.as<float>()[5], 12);
}

// An output that is an input is copied.
TEST_F(ProgramDelegateTest, ReshapesCopiedResults) {
  inner_.Output(inner_.Input("a", kF32, {6}));
  const uint32_t x = forward_.Input("x", kF32, {6}), y = forward_.Arena(kF32, {2, 3});
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {y}));
  std::vector<float> in = {1, 2, 3, 4, 5, 6};
  const int64_t sizes[] = {6};
  ASSERT_OK(method.SetInput(0, TensorView::Contiguous(kF32, sizes, in.data())));
  ASSERT_OK(method.Execute());
  const TensorView& result = *method.GetOutput(0).get_if<TensorView>();
  EXPECT_THAT(result.sizes, ElementsAre(2, 3));
  EXPECT_EQ(result.as<float>()[5], 6);
}

TEST_F(ProgramDelegateTest, RejectsOtherNumbersOfElements) {
  const uint32_t a = inner_.Input("a", kF32, {6}), b = inner_.Arena(kF32, {6});
  inner_.Call("test.add.Tensor", {a, a}, {b});
  inner_.Output(b);
  const uint32_t x = forward_.Input("x", kF32, {2, 2}), y = forward_.Arena(kF32, {6});
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {y}));
  std::vector<float> in = {1, 2, 3, 4};
  const int64_t sizes[] = {2, 2};
  ASSERT_OK(method.SetInput(0, TensorView::Contiguous(kF32, sizes, in.data())));
  EXPECT_THAT(method.Execute(), StatusIs(kInvalid, HasSubstr("f32[2,2]")));
}

TEST_F(ProgramDelegateTest, OptionLimitsTheThreads) {
  const uint32_t threads = inner_.Slot(schema::ScalarSlot::INT);
  inner_.Call("test.num_threads.default", {}, {threads});
  inner_.Output(threads);
  const uint32_t result = forward_.Slot(schema::ScalarSlot::INT);
  ASSERT_OK(LoadCall({}, {result}).status());
  ThreadPool pool(3);
  for (const int64_t most : {1, 2, 256}) {
    ASSERT_OK_AND_ASSIGN(const BackendSettings settings,
                         BackendSettings::Create(backends_, {{"program", {{"threads", most}}}}));
    ASSERT_OK_AND_ASSIGN(Method method,
                         Method::Load(*opened_.back(), "forward", kernels_, backends_,
                                      {.threads = &pool, .backend_options = &settings}));
    ASSERT_OK(method.Execute());
    EXPECT_EQ(*method.GetOutput(0).get_if<int64_t>(), most < 3 ? most : 3);
    ASSERT_OK(method.SetBackendOption("program", "threads", int64_t{1}));
    ASSERT_OK(method.Execute());
  }
}

TEST_F(ProgramDelegateTest, RejectsResultsOfOtherKinds) {
  const uint32_t n = inner_.ScalarInput("n", schema::ScalarSlot::INT);
  inner_.Output(n);
  const uint32_t x = forward_.ScalarInput("x", schema::ScalarSlot::INT);
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {forward_.Arena(kF32, {1})}));
  ASSERT_OK(method.SetInput(0, int64_t{1}));
  EXPECT_THAT(method.Execute(),
              StatusIs(kInvalid, HasSubstr("result 0 of the program in the blob is int, the call "
                                           "expects tensor f32[1]")));
}

TEST_F(ProgramDelegateTest, RejectsResultsOfOtherDTypes) {
  const uint32_t a = inner_.Input("a", DType::kInt64, {1});
  inner_.Output(a);
  const uint32_t x = forward_.Input("x", DType::kInt64, {1});
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {forward_.Arena(kF32, {1})}));
  const TestTensor one = TestTensor::Of<int64_t>({1}, {1});
  ASSERT_OK(method.SetInput(0, one.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(kInvalid, HasSubstr("result 0 of the program in the blob is tensor i64[1], "
                                           "the call expects tensor f32[1]")));
}

TEST_F(ProgramDelegateTest, RejectsResultsOfOtherSizes) {
  const uint32_t a = inner_.Input("a", kF32, {2});
  inner_.Output(a);
  const uint32_t x = forward_.Input("x", kF32, {2});
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {forward_.Arena(kF32, {1})}));
  const TestTensor two = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, two.view()));
  EXPECT_THAT(method.Execute(), StatusIs(kInvalid, HasSubstr("expected 1, got 2 ([2])")));
}

// Values that are not an output of a call in the program are stored elsewhere and copied.
TEST_F(ProgramDelegateTest, InputsPassThrough) {
  const uint32_t a = inner_.Input("a", kF32, {2});
  inner_.Output(a);
  const uint32_t x = forward_.Input("x", kF32, {2});
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {forward_.Arena(kF32, {2})}));
  const TestTensor two = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, two.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(1, 2));
}

TEST_F(ProgramDelegateTest, RejectsBlobsThatCanNotBeLoaded) {
  forward_.Delegate("program", program_.AddSegment(schema::Segment::DELEGATE, "blob"), {}, {});
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kDataLoss,
                               HasSubstr("delegate 0 of backend 'program': not a program file")));
  inner_.Call("test.unknown.default", {}, {});
  program_ = TestProgram();
  forward_ = program_.AddMethod("forward");
  EXPECT_THAT(LoadCall({}, {}), StatusIs(absl::StatusCode::kNotFound,
                                         HasSubstr("operator 'test.unknown.default' (1 call)")));
}

TEST_F(ProgramDelegateTest, ProgramIsChargedToDelegateMemory) {
  Program::Options options;
  options.limits.delegate_bytes = 100;
  const uint32_t segment = program_.AddSegment(schema::Segment::DELEGATE, blob_.Serialize());
  forward_.Delegate("program", segment, {}, {});
  EXPECT_THAT(Load(options), StatusIs(absl::StatusCode::kResourceExhausted,
                                      HasSubstr("the plan of the program in the blob of ")));
}

TEST_F(ProgramDelegateTest, ReturnsErrorsOfTheProgram) {
  const uint32_t n =
      inner_.ScalarInput("n", schema::ScalarSlot::INT, {{.dim = 0, .min = 0, .max = 5}});
  inner_.Call("test.add_int.default", {n, inner_.Int(INT64_MAX)},
              {inner_.Slot(schema::ScalarSlot::INT)});
  const uint32_t x = forward_.ScalarInput("x", schema::ScalarSlot::INT);
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {}));
  ASSERT_OK(method.SetInput(0, int64_t{6}));
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kOutOfRange,
                                         HasSubstr("input 0 'n': is 6, allowed are 0 to 5")));
  ASSERT_OK(method.SetInput(0, int64_t{5}));
  EXPECT_THAT(method.Execute(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("does not fit in an int64")));
  ASSERT_OK(method.SetInput(0, int64_t{0}));
  EXPECT_OK(method.Execute());
}

TEST_F(ProgramDelegateTest, RejectsInconsistentInputs) {
  for (const char* name : {"a", "b"}) {
    inner_.Input(name, kF32, {4}, {{.dim = 0, .min = 0, .max = 4, .symbol = "s"}});
  }
  const uint32_t x = forward_.Input("x", kF32, {4}), y = forward_.Input("y", kF32, {3});
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x, y}, {}));
  const TestTensor four = TestTensor::Zeros(kF32, {4}), three = TestTensor::Zeros(kF32, {3});
  ASSERT_OK(method.SetInput(0, four.view()));
  ASSERT_OK(method.SetInput(1, three.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(kInvalid, HasSubstr("the sizes of two inputs are inconsistent")));
}

// Calls the handle without a method, with its own operands.
TEST_F(ProgramDelegateTest, RejectsCallsWithOtherOperands) {
  inner_.Output(inner_.ScalarInput("n", schema::ScalarSlot::INT));
  const std::string blob = blob_.Serialize();
  EValue n = int64_t{7}, result = int64_t{0};
  EValue *const arguments[] = {&n}, *const outputs[] = {&result};
  const EValue *const first_arguments[] = {&n}, *const first_outputs[] = {&result};
  MemoryBudget memory("delegate_bytes", 1 << 20);
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<DelegateHandle> handle,
      program_backend_.Init(
          {.method = "forward",
           .compile_specs = {},
           .named_data = nullptr,
           .arguments = first_arguments,
           .outputs = first_outputs,
           .memory = &memory},
          absl::MakeConstSpan(reinterpret_cast<const std::byte*>(blob.data()), blob.size())));
  KernelContext without({}, outputs, nullptr, {});
  EXPECT_THAT(handle->Execute(without), StatusIs(kInvalid));
  KernelContext context(arguments, outputs, nullptr, {});
  ASSERT_OK(handle->Execute(context));
  EXPECT_EQ(*result.get_if<int64_t>(), 7);
}

TEST_F(ProgramDelegateTest, MemoryOfDynamicSizesIsChargedToDelegates) {
  constexpr int64_t kBound = int64_t{1} << 40;
  const TestConstraint rows = {.dim = 0, .min = 0, .max = kBound, .symbol = "n"};
  const uint32_t a = inner_.Input("a", kF32, {kBound}, {rows});
  const uint32_t twice = inner_.Arena(kF32, {kBound}, 1), b = inner_.Arena(kF32, {kBound}, 1);
  inner_.Call("test.add.Tensor", {a, a}, {twice});
  inner_.Call("test.add.Tensor", {twice, a}, {b});
  inner_.Output(b);
  const uint32_t x = forward_.Input("x", kF32, {kBound}, {rows});
  const uint32_t y = forward_.Arena(kF32, {kBound}, 1);
  const uint32_t segment = program_.AddSegment(schema::Segment::DELEGATE, blob_.Serialize());
  forward_.Delegate("program", segment, {x}, {y});
  forward_.Output(y);
  Program::Options options;
  options.limits.delegate_bytes = 1 << 20;
  ASSERT_OK_AND_ASSIGN(Method method, Load(options));
  const TestTensor small = TestTensor::Of<float>({2}, {1, 2});
  const TestTensor large = TestTensor::Zeros(kF32, {300'000});
  for (int k = 0; k < 2; ++k) {
    ASSERT_OK(method.SetInput(0, small.view()));
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(3, 6));
    ASSERT_OK(method.SetInput(0, large.view()));
    EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kResourceExhausted,
                                           HasSubstr("exceeds the limit 'delegate_bytes'")));
  }
}

// The program's inputs have the addresses of the call's arguments.
TEST_F(ProgramDelegateTest, InnerCallsAreFixedAtArgumentAddresses) {
  const uint32_t a = inner_.Input("a", kF32, {1}), b = inner_.Arena(kF32, {1});
  inner_.Call("test.twice.default", {a}, {b});
  inner_.Output(b);
  const uint32_t x = forward_.Input("x", kF32, {1});
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {forward_.Arena(kF32, {1})}));
  const TestTensor three = TestTensor::Of<float>({1}, {3}), five = TestTensor::Of<float>({1}, {5});
  for (const auto& [given, expected] : {std::pair(&three, 7.0f), {&five, 11.0f}, {&three, 7.0f}}) {
    ASSERT_OK(method.SetInput(0, given->view()));
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(expected));
  }
}

// Each delegate computes (a + a) + a.
TEST_F(ProgramDelegateTest, DelegatesShareMemoryForActivations) {
  const uint32_t a = inner_.Input("a", kF32, {2}), b = inner_.Arena(kF32, {2});
  const uint32_t c = inner_.Arena(kF32, {2});
  inner_.Call("test.add.Tensor", {a, a}, {b});
  inner_.Call("test.add.Tensor", {b, a}, {c});
  inner_.Output(c);
  const uint32_t segment = program_.AddSegment(schema::Segment::DELEGATE, blob_.Serialize());
  const uint32_t x = forward_.Input("x", kF32, {2});
  const uint32_t y = forward_.Arena(kF32, {2}), z = forward_.Arena(kF32, {2});
  forward_.Delegate("program", segment, {x}, {y});
  forward_.Delegate("program", segment, {y}, {z});
  forward_.Output(y);
  forward_.Output(z);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor input = TestTensor::Of<float>({2}, {1, 2});
  ASSERT_OK(method.SetInput(0, input.view()));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(3, 6));
    EXPECT_THAT(Floats(method.GetOutput(1)), ElementsAre(9, 18));
  }
}

}  // namespace
}  // namespace belay
