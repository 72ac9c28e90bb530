#include "runtime/executor/method.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

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

TEST_F(DelegateTest, InitSeesTheCall) {
  ASSERT_OK_AND_ASSIGN(const Method method, Load());
  EXPECT_EQ(fake_.last_init(), "forward: mode=fast; f32[4] -> f32[4]; fake.scale of 1 bytes");
  EXPECT_EQ(fake_.live_handles(), 1);
}

TEST_F(DelegateTest, IsInitializedOnceForAllCalls) {
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

TEST_F(DelegateTest, ShareScratchMemory) {
  const uint32_t again = forward_.Arena(kF32, {4}, 1);
  const uint32_t blob = program_.AddSegment(schema::Segment::DELEGATE, "add 2");
  const uint32_t x_value = forward_.proto().instructions(0).delegate().arguments(0);
  forward_.Delegate("fake", blob, {x_value}, {again});
  forward_.Output(again);
  Program::Options options;
  options.limits.delegate_bytes = 16;  // enough for one of them
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

TEST_F(DelegateTest, AnnotatesInitErrors) {
  const std::string file = program_.Serialize();
  std::string broken = file;
  broken.replace(broken.find("add 5"), 5, "sub 5");
  EXPECT_THAT(LoadFile(broken),
              StatusIs(absl::StatusCode::kDataLoss,
                       "method 'forward', delegate 0 of backend 'fake': no blob of this backend"));
}

TEST_F(DelegateTest, NullHandleIsAnError) {
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
  EXPECT_THAT(Load(),
              StatusIs(absl::StatusCode::kInternal,
                       "method 'forward', delegate 1 of backend 'empty': the backend returned "
                       "no handle"));
}

TEST_F(DelegateTest, AnnotatesExecuteErrors) {
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  const TestTensor x = TestTensor::Of<float>({1}, {-1});
  ASSERT_OK(method.SetInput(0, x.view()));
  EXPECT_THAT(method.Execute(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "method 'forward', instruction 0 (delegate 0 of backend 'fake'): the device "
                       "rejects negative numbers"));
}

}  // namespace
}  // namespace belay
