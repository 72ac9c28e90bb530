// Outputs in caller memory: Method::SetOutputMemory, and delegates that are programs.
#include <cstdint>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"
#include "runtime/executor/testing/program_backend.h"

namespace belay {
namespace {

using ::testing::ElementsAre;

constexpr DType kF32 = DType::kFloat32;

// y = 2 x, or 2 x + 1 if the call was fixed, which requires one element.
class OutputMemoryTest : public MethodTest {
 protected:
  void Build(const Sizes& sizes) {
    const uint32_t x = forward_.Input("x", kF32, sizes), y = forward_.Arena(kF32, sizes);
    forward_.Call("test.twice.default", {x}, {y});
    forward_.Output(y);
  }
  static const void* DataOf(const Method& method, size_t output) {
    return method.GetOutput(output).get_if<TensorView>()->data;
  }
};

TEST_F(OutputMemoryTest, OutputsAreWrittenToCallerMemory) {
  Build({2});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Of<float>({2}, {3, 4}), y = TestTensor::Of<float>({2}, {0, 0});
  ASSERT_OK(method.SetInput(0, x.view()));
  EXPECT_TRUE(method.SetOutputMemory(0, y.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(ToVector<float>(y.view()), ElementsAre(6, 8));
  EXPECT_EQ(DataOf(method, 0), y.view().data);
}

TEST_F(OutputMemoryTest, FixedCallsUseCallerMemory) {
  Build({1});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Of<float>({1}, {3});
  ASSERT_OK(method.SetInput(0, x.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(7));
  for (int i = 0; i < 2; ++i) {
    const TestTensor y = TestTensor::Of<float>({1}, {0});
    EXPECT_TRUE(method.SetOutputMemory(0, y.view()));
    ASSERT_OK(method.Execute());
    EXPECT_THAT(ToVector<float>(y.view()), ElementsAre(7));
  }
}

TEST_F(OutputMemoryTest, CallsThatOnlyHaveAMovableOutputAreFixed) {
  const uint32_t c = forward_.Constant(program_.AddConstant<float>({5}), kF32, {1});
  const uint32_t y = forward_.Arena(kF32, {1});
  forward_.Call("test.twice.default", {c}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(11));
}

TEST_F(OutputMemoryTest, NullRestoresMethodMemory) {
  Build({2});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Of<float>({2}, {3, 4}), y = TestTensor::Of<float>({2}, {0, 0});
  ASSERT_OK(method.SetInput(0, x.view()));
  const void* own = DataOf(method, 0);
  EXPECT_TRUE(method.SetOutputMemory(0, y.view()));
  EXPECT_FALSE(method.SetOutputMemory(0, TensorView::Contiguous(kF32, {2}, nullptr)));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(ToVector<float>(y.view()), ElementsAre(0, 0));
  EXPECT_EQ(DataOf(method, 0), own);
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(6, 8));
}

TEST_F(OutputMemoryTest, RejectsMismatchedTensors) {
  Build({2, 2});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const TestTensor y = TestTensor::Of<float>({4, 2}, {0, 0, 0, 0, 0, 0, 0, 0});
  ASSERT_OK(method.SetInput(0, x.view()));
  const TensorView fits = TensorView::Contiguous(kF32, {2, 2}, y.view().data);
  ASSERT_TRUE(method.SetOutputMemory(0, fits));
  TensorView other_dtype = fits, other_sizes = fits, other_order = fits, misaligned = fits;
  other_dtype.dtype = DType::kInt32;
  other_sizes.sizes = Sizes({2, 1});
  other_order.strides = Strides({1, 2});
  misaligned.data = static_cast<char*>(fits.data) + 1;
  for (const TensorView& view : {other_dtype, other_sizes, other_order, misaligned}) {
    EXPECT_FALSE(method.SetOutputMemory(0, view)) << view.ToString();
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(2, 4, 6, 8));
    EXPECT_THAT(ToVector<float>(y.view()), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  }
}

TEST_F(OutputMemoryTest, RejectsUnknownOutputs) {
  Build({2});
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor y = TestTensor::Of<float>({2}, {0, 0});
  EXPECT_FALSE(method.SetOutputMemory(1, y.view()));
}

TEST_F(OutputMemoryTest, RejectsOutputsThatAreRead) {
  const uint32_t x = forward_.Input("x", kF32, {2});
  const uint32_t a = forward_.Arena(kF32, {2}), b = forward_.Arena(kF32, {2});
  forward_.Call("test.twice.default", {x}, {a});
  forward_.Call("test.twice.default", {a}, {b});
  forward_.Output(a);
  forward_.Output(b);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor y = TestTensor::Of<float>({2}, {0, 0});
  EXPECT_FALSE(method.SetOutputMemory(0, y.view()));
  EXPECT_TRUE(method.SetOutputMemory(1, y.view()));
}

// After a kernel overwrote the slot, it is restored with the moved address.
TEST_F(OutputMemoryTest, RestoredSlotsUseCallerMemory) {
  const uint32_t y = forward_.Arena(kF32, {2});
  forward_.Call("test.wrong_kind.default", {}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor memory = TestTensor::Of<float>({2}, {0, 0});
  EXPECT_TRUE(method.SetOutputMemory(0, memory.view()));
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(DataOf(method, 0), memory.view().data);
}

// The program in the blob computes y = 2 x of two elements.
class DelegateOutputTest : public OutputMemoryTest {
 protected:
  DelegateOutputTest() : program_backend_(kernels_, no_backends_) {
    EXPECT_OK(backends_.Add(&program_backend_));
    TestMethod inner = blob_.AddMethod("forward");
    const uint32_t x = inner.Input("x", kF32, {2}), y = inner.Arena(kF32, {2});
    inner.Call("test.twice.default", {x}, {y});
    inner.Output(y);
    segment_ = program_.AddSegment(schema::Segment::DELEGATE, blob_.Serialize());
  }

  BackendRegistry no_backends_;
  ProgramBackend program_backend_;
  TestProgram blob_;
  uint32_t segment_ = 0;
};

TEST_F(DelegateOutputTest, ResultsAreWrittenInPlace) {
  const uint32_t x = forward_.Input("x", kF32, {2}), y = forward_.Arena(kF32, {2});
  forward_.Delegate("program", segment_, {x}, {y});
  forward_.Output(y);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor three = TestTensor::Of<float>({2}, {3, 4});
  const TestTensor memory = TestTensor::Of<float>({2}, {0, 0});
  ASSERT_OK(method.SetInput(0, three.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(6, 8));
  EXPECT_TRUE(method.SetOutputMemory(0, memory.view()));
  ASSERT_OK(method.Execute());
  EXPECT_THAT(ToVector<float>(memory.view()), ElementsAre(6, 8));
}

// One handle serves both calls, whose results have different addresses.
TEST_F(DelegateOutputTest, EachCallHasItsOwnOutput) {
  const uint32_t x = forward_.Input("x", kF32, {2});
  const uint32_t a = forward_.Arena(kF32, {2}), b = forward_.Arena(kF32, {2});
  forward_.Delegate("program", segment_, {x}, {a});
  forward_.Delegate("program", segment_, {a}, {b});
  forward_.Output(a);
  forward_.Output(b);
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor three = TestTensor::Of<float>({2}, {3, 4});
  ASSERT_OK(method.SetInput(0, three.view()));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(method.Execute());
    EXPECT_THAT(Floats(method.GetOutput(0)), ElementsAre(6, 8));
    EXPECT_THAT(Floats(method.GetOutput(1)), ElementsAre(12, 16));
  }
}

}  // namespace
}  // namespace belay
