// Whatever a kernel or delegate leaves in its outputs, and whether it fails or not, every slot
// holds a value of its kind afterwards. Later calls and all other readers of slots rely on it.
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;

struct Case {
  bool fails;
  absl::StatusCode code;
  const char* message;
};
const Case kCases[] = {
    {false, absl::StatusCode::kInvalidArgument, "output 0: expected tensor f32[1]"},
    {true, absl::StatusCode::kInternal, "out of luck"},
};

class SlotKindsTest : public MethodTest {
 protected:
  static void ExpectTheSameTwice(Method& method, const Case& c) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(method.Execute(), StatusIs(c.code, HasSubstr(c.message)));
    }
  }
};

TEST_F(SlotKindsTest, MoveSeesRestoredTensors) {
  for (const Case& c : kCases) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    std::vector<uint32_t> tensors;
    for (int i = 0; i < 4; ++i) tensors.push_back(method.Arena(kF32, {1}));
    method.Move(tensors[1], tensors[3]);
    method.Call("test.unset.default", {method.Bool(c.fails)}, {tensors[0], tensors[1], tensors[2]});
    ASSERT_OK_AND_ASSIGN(Method loaded, LoadFile(program.Serialize()));
    ExpectTheSameTwice(loaded, c);
  }
}

TEST_F(SlotKindsTest, StateSlotIsRestored) {
  for (const Case& c : kCases) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    const uint32_t other = method.Arena(kF32, {1});
    const uint32_t state = method.State("s", kF32, {1}, program.AddConstant<float>({3}) + 1);
    method.Call("test.unset.default", {method.Bool(c.fails)}, {other, state});
    ASSERT_OK_AND_ASSIGN(Method loaded, LoadFile(program.Serialize()));
    ExpectTheSameTwice(loaded, c);
    ASSERT_OK_AND_ASSIGN(const TensorView view, loaded.GetState("s"));
    EXPECT_THAT(ToVector<float>(view), ElementsAre(3));
  }
}

TEST_F(SlotKindsTest, JumpSeesRestoredCondition) {
  for (const Case& c : kCases) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    const uint32_t other = method.Arena(kF32, {1});
    const uint32_t flag = method.Slot(schema::ScalarSlot::BOOL);
    method.LandHere(method.JumpIfFalse(flag));
    method.Call("test.unset.default", {method.Bool(c.fails)}, {other, flag});
    ASSERT_OK_AND_ASSIGN(Method loaded, LoadFile(program.Serialize()));
    ExpectTheSameTwice(loaded, c);
  }
}

TEST_F(SlotKindsTest, DelegateOutputsAreRestored) {
  class UnsetHandle final : public DelegateHandle {
   public:
    explicit UnsetHandle(bool fails) : fails_(fails) {}
    absl::Status Execute(KernelContext& context) override {
      for (int i = 0; i < context.num_outputs(); ++i) context.SetScalarOutput(i, None{});
      return fails_ ? absl::InternalError("out of luck") : absl::OkStatus();
    }

   private:
    const bool fails_;
  };
  class UnsetBackend final : public BackendRuntime {
   public:
    explicit UnsetBackend(bool fails) : fails_(fails) {}
    std::string_view id() const override { return fails_ ? "fails" : "succeeds"; }
    absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
        const DelegateInitContext&, absl::Span<const std::byte>) const override {
      return std::make_unique<UnsetHandle>(fails_);
    }

   private:
    const bool fails_;
  };
  const UnsetBackend fails(true), succeeds(false);
  ASSERT_OK(backends_.Add(&fails));
  ASSERT_OK(backends_.Add(&succeeds));
  for (const Case& c : kCases) {
    TestProgram program;
    TestMethod method = program.AddMethod("forward");
    const uint32_t a = method.Arena(kF32, {1}), b = method.Arena(kF32, {1});
    const uint32_t target = method.Arena(kF32, {1});
    method.Move(b, target);
    method.Delegate(c.fails ? "fails" : "succeeds",
                    program.AddSegment(schema::Segment::DELEGATE, "x"), {}, {a, b});
    ASSERT_OK_AND_ASSIGN(Method loaded, LoadFile(program.Serialize()));
    ExpectTheSameTwice(loaded, c);
  }
}

}  // namespace
}  // namespace belay
