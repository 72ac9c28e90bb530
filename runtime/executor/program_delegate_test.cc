#include "runtime/executor/program_delegate.h"

#include <cstdint>
#include <string>
#include <vector>

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

  // A call of the blob, as it is now, on these arguments.
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

TEST_F(ProgramDelegateTest, TheCallHasTheProgramsInputsAndOutputs) {
  const uint32_t a = inner_.Input("a", kF32, {1}), b = inner_.Arena(kF32, {1});
  inner_.Call("test.add.Tensor", {a, a}, {b});
  inner_.Output(b);
  const uint32_t x = forward_.Input("x", kF32, {1}), y = forward_.Arena(kF32, {1});
  EXPECT_THAT(
      LoadCall({x, x}, {y}),
      StatusIs(kInvalid, HasSubstr("the program in the blob has 1 inputs and 1 outputs, the "
                                   "call has 2 and 1")));
}

TEST_F(ProgramDelegateTest, TheCallHasTheProgramsOutputs) {
  inner_.Input("a", kF32, {1});
  const uint32_t x = forward_.Input("x", kF32, {1}), y = forward_.Arena(kF32, {1});
  EXPECT_THAT(
      LoadCall({x}, {y}),
      StatusIs(kInvalid, HasSubstr("the program in the blob has 1 inputs and 0 outputs, the "
                                   "call has 1 and 1")));
}

TEST_F(ProgramDelegateTest, TheProgramMutatesNoInput) {
  inner_.Input("a", kF32, {1});
  inner_.MutatedInput("m", kF32, {1});
  const uint32_t x = forward_.Input("x", kF32, {1});
  EXPECT_THAT(LoadCall({x, x}, {}),
              StatusIs(kInvalid, HasSubstr("the program in the blob mutates its input 1")));
}

TEST_F(ProgramDelegateTest, ScalarsAreHandedOver) {
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

TEST_F(ProgramDelegateTest, ResultsAreOfThePlannedKind) {
  const uint32_t n = inner_.ScalarInput("n", schema::ScalarSlot::INT);
  inner_.Output(n);
  const uint32_t x = forward_.ScalarInput("x", schema::ScalarSlot::INT);
  ASSERT_OK_AND_ASSIGN(Method method, LoadCall({x}, {forward_.Arena(kF32, {1})}));
  ASSERT_OK(method.SetInput(0, int64_t{1}));
  EXPECT_THAT(method.Execute(),
              StatusIs(kInvalid, HasSubstr("result 0 of the program in the blob is int, the call "
                                           "expects tensor f32[1]")));
}

TEST_F(ProgramDelegateTest, ResultsAreOfThePlannedDType) {
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

// The program's inputs lie where the arguments of the call do.
TEST_F(ProgramDelegateTest, CallsOnItsInputsAreFixedWhereTheArgumentsLie) {
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

}  // namespace
}  // namespace belay
