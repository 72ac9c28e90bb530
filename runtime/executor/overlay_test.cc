// Outputs of elementwise operators placed over an argument: correct results, or an error.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr DType kF32 = DType::kFloat32;
constexpr int64_t kBound = 1000;

// a = relu(x); b = relu(y); out = a + b, placed over a or over b.
class OverlayTest : public ::testing::Test {
 protected:
  OverlayTest() { EXPECT_OK(AddStandardKernels(kernels_)); }

  absl::StatusOr<Method> Load(bool over_first) {
    TestProgram made;
    TestMethod method = made.AddMethod("forward");
    const TestConstraint any = {.dim = 0, .min = 0, .max = kBound};
    const uint32_t x = method.Input("x", kF32, {kBound}, {any});
    const uint32_t y = method.Input("y", kF32, {kBound}, {any});
    const uint32_t a = method.Arena(kF32, {kBound}, 1), b = method.Arena(kF32, {kBound}, 1);
    const uint32_t out = method.Arena(kF32, {kBound}, 1);
    const auto tensor = [&](uint32_t value) {
      return method.proto().mutable_values(static_cast<int>(value))->mutable_tensor();
    };
    tensor(out)->set_arena_offset(tensor(over_first ? a : b)->arena_offset());
    method.Call("aten.relu.default", {x}, {a});
    method.Call("aten.relu.default", {y}, {b});
    method.Call("aten.add.Tensor", {a, b, method.Int(1)}, {out});
    method.Output(out);
    ABSL_ASSIGN_OR_RETURN(Program program, OpenFileBytes(made.Serialize()));
    program_.emplace(std::move(program));
    return Method::Load(*program_, "forward", kernels_, backends_);
  }

  KernelRegistry kernels_;
  BackendRegistry backends_;
  std::optional<Program> program_;
};

TEST_F(OverlayTest, SizesMustBeEqualAtEachCall) {
  for (const bool over_first : {true, false}) {
    ASSERT_OK_AND_ASSIGN(Method method, Load(over_first));
    // Alternates, so that neither operand has the sizes of the previous call.
    const std::pair<int64_t, int64_t> sizes[] = {
        {kBound, kBound}, {1, kBound}, {kBound, 1}, {3, 3}, {1, 3},
        {1, 1},           {3, 1},      {0, 1},      {1, 0}, {kBound, kBound}};
    for (const auto& [m, n] : sizes) {
      std::vector<float> x, y, sum;
      for (int64_t i = 0; i < m; ++i) x.push_back(static_cast<float>(i + 2));
      for (int64_t i = 0; i < n; ++i) y.push_back(static_cast<float>(10 * i + 1));
      const int64_t count = m == 1 ? n : m;
      for (int64_t i = 0; i < count; ++i) sum.push_back(x[m == 1 ? 0 : i] + y[n == 1 ? 0 : i]);
      const TestTensor x_tensor = TestTensor::Of<float>({m}, x);
      const TestTensor y_tensor = TestTensor::Of<float>({n}, y);
      ASSERT_OK(method.SetInput(0, x_tensor.view()));
      ASSERT_OK(method.SetInput(1, y_tensor.view()));
      if ((over_first ? m : n) != count) {
        EXPECT_THAT(method.Execute(),
                    StatusIs(absl::StatusCode::kInvalidArgument,
                             HasSubstr(over_first ? "value 4, the output, overlaps value 2, an "
                                                    "argument, and their sizes differ: f32["
                                                  : "value 4, the output, overlaps value 3")));
        continue;
      }
      ASSERT_OK(method.Execute());
      EXPECT_THAT(ToVector<float>(*method.GetOutput(0).get_if<TensorView>()),
                  ElementsAreArray(sum));
    }
  }
}

// The kernel's error takes precedence over the overlay check.
TEST_F(OverlayTest, MismatchedSizesAreTheKernelsError) {
  ASSERT_OK_AND_ASSIGN(Method method, Load(/*over_first=*/true));
  const TestTensor three = TestTensor::Zeros(kF32, {3}), two = TestTensor::Zeros(kF32, {2});
  ASSERT_OK(method.SetInput(0, three.view()));
  ASSERT_OK(method.SetInput(1, two.view()));
  EXPECT_THAT(method.Execute(), StatusIs(absl::StatusCode::kInvalidArgument,
                                         AllOf(HasSubstr("instruction 2 ('aten.add.Tensor')"),
                                               Not(HasSubstr("overlaps")))));
}

// Empty tensors are never overlays, whatever their offset: a + b of other sizes is valid.
TEST_F(OverlayTest, EmptyTensorsAreNotOverlays) {
  struct Case {
    Sizes a, b, out;
    uint32_t dynamic_dims;
  };
  for (const Case& c : {Case{{0}, {2, 1}, {2, 4}, 2}, Case{{2, 1}, {0}, {2, 0}, 1}}) {
    TestProgram made;
    TestMethod method = made.AddMethod("forward");
    const uint32_t x = method.Input("x", kF32, c.a), y = method.Input("y", kF32, c.b);
    const uint32_t a = method.Arena(kF32, c.a), b = method.Arena(kF32, c.b);
    const uint32_t out = method.Arena(kF32, c.out, c.dynamic_dims);
    const auto tensor = [&](uint32_t value) {
      return method.proto().mutable_values(static_cast<int>(value))->mutable_tensor();
    };
    tensor(a)->set_arena_offset(tensor(out)->arena_offset());
    method.Call("aten.relu.default", {x}, {a});
    method.Call("aten.relu.default", {y}, {b});
    method.Call("aten.add.Tensor", {a, b, method.Int(1)}, {out});
    method.Output(out);
    method.proto().set_arena_bytes(1024);
    ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(made.Serialize()));
    ASSERT_OK_AND_ASSIGN(Method loaded, Method::Load(program, "forward", kernels_, backends_));
    const TestTensor x_tensor = TestTensor::Zeros(kF32, c.a);
    const TestTensor y_tensor = TestTensor::Zeros(kF32, c.b);
    ASSERT_OK(loaded.SetInput(0, x_tensor.view()));
    ASSERT_OK(loaded.SetInput(1, y_tensor.view()));
    ASSERT_OK(loaded.Execute());
    EXPECT_EQ(loaded.GetOutput(0).get_if<TensorView>()->sizes, Sizes({2, 0}));
  }
}

// State and mutated inputs are outside the arena.
TEST_F(OverlayTest, OutputsOutsideTheArenaAreNotOverlays) {
  TestProgram made;
  TestMethod method = made.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {2}), m = method.MutatedInput("m", kF32, {2});
  const uint32_t a = method.Arena(kF32, {2});
  method.Call("aten.relu.default", {x}, {a});
  method.Call("aten.relu.default", {a}, {m});
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(made.Serialize()));
  ASSERT_OK_AND_ASSIGN(Method loaded, Method::Load(program, "forward", kernels_, backends_));
  const TestTensor two = TestTensor::Of<float>({2}, {1, -1});
  const TestTensor written = TestTensor::Of<float>({2}, {7, 7});
  ASSERT_OK(loaded.SetInput(0, two.view()));
  ASSERT_OK(loaded.SetInput(1, written.view()));
  ASSERT_OK(loaded.Execute());
  EXPECT_THAT(ToVector<float>(written.view()), ElementsAreArray({1.0f, 0.0f}));
}

// The loader looks for arguments under the output, which is dropped.
TEST_F(OverlayTest, DroppedOutputIsNotAnOverlay) {
  TestProgram made;
  TestMethod method = made.AddMethod("forward");
  const uint32_t x = method.Input("x", kF32, {2});
  const uint32_t a = method.Arena(kF32, {2}), none = method.None();
  method.Call("aten.relu.default", {x}, {a});
  method.Call("aten.relu.default", {a}, {none});
  ASSERT_OK_AND_ASSIGN(const Program program, OpenFileBytes(made.Serialize()));
  ASSERT_OK_AND_ASSIGN(Method loaded, Method::Load(program, "forward", kernels_, backends_));
  const TestTensor two = TestTensor::Of<float>({2}, {1, -1});
  ASSERT_OK(loaded.SetInput(0, two.view()));
  EXPECT_THAT(loaded.Execute(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("instruction 1")));
}

}  // namespace
}  // namespace belay
