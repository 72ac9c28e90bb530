#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend/backend_settings.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/method_fixture.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// y = factor * x
class ScaleHandle final : public DelegateHandle {
 public:
  explicit ScaleHandle(const OptionValues& options) : options_(options) {}
  absl::Status Execute(KernelContext& context) override {
    ABSL_ASSIGN_OR_RETURN(const TensorView* x, context.Tensor(0));
    ABSL_ASSIGN_OR_RETURN(const TensorView* y, context.Output(0, x->sizes));
    const auto factor = static_cast<float>(std::get<int64_t>(GetOption("factor")));
    for (int64_t i = 0; i < x->numel(); ++i) y->as<float>()[i] = factor * x->as<float>()[i];
    return absl::OkStatus();
  }
  OptionValue GetOption(std::string_view name) const override {
    return options_.find(name)->second;
  }
  void SetOption(std::string_view name, const OptionValue& value) override {
    options_.find(name)->second = value;
  }

 private:
  OptionValues options_;
};

class ScaleBackend final : public BackendRuntime {
 public:
  std::string_view id() const override { return "scale"; }
  BackendOptionTable options() const override {
    static const BackendOption table[] = {
        {.name = "factor",
         .about = "of x",
         .default_value = int64_t{2},
         .min = 1,
         .max = 9,
         .changeable = true},
        {.name = "device", .about = "a name", .default_value = std::string("any")}};
    return table;
  }
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(const DelegateInitContext& context,
                                                       absl::Span<const std::byte>) const override {
    if (context.options != nullptr) return std::make_unique<ScaleHandle>(*context.options);
    ABSL_ASSIGN_OR_RETURN(const OptionValues defaults, ResolveOptions(id(), options(), {}));
    return std::make_unique<ScaleHandle>(defaults);
  }
};

// y, z: two delegates of "scale" on x.
class MethodBackendOptionsTest : public MethodTest {
 protected:
  MethodBackendOptionsTest() {
    EXPECT_OK(backends_.Add(&scale_));
    const uint32_t x = forward_.Input("x", kF32, {2});
    for (const std::string_view blob : {"a", "b"}) {
      const uint32_t y = forward_.Arena(kF32, {2});
      forward_.Delegate("scale", program_.AddSegment(schema::Segment::DELEGATE, std::string(blob)),
                        {x}, {y});
      forward_.Output(y);
    }
  }
  absl::StatusOr<Method> LoadWith(const BackendOptions& options) {
    ABSL_ASSIGN_OR_RETURN(Program opened, OpenFileBytes(program_.Serialize(), {}, 0));
    opened_.push_back(std::make_unique<Program>(std::move(opened)));
    ABSL_ASSIGN_OR_RETURN(const BackendSettings settings,
                          BackendSettings::Create(backends_, options));
    return Method::Load(*opened_.back(), "forward", kernels_, backends_,
                        {.backend_options = &settings});
  }
  // Both outputs for x = {1, 2}.
  static std::vector<float> Results(Method& method) {
    const TestTensor x = TestTensor::Of<float>({2}, {1, 2});
    EXPECT_OK(method.SetInput(0, x.view()));
    EXPECT_OK(method.Execute());
    std::vector<float> results = Floats(method.GetOutput(0));
    for (const float value : Floats(method.GetOutput(1))) results.push_back(value);
    return results;
  }
  ScaleBackend scale_;
};

TEST_F(MethodBackendOptionsTest, DelegatesGetTheDefaults) {
  ASSERT_OK_AND_ASSIGN(Method method, Load());
  EXPECT_THAT(Results(method), ElementsAre(2, 4, 2, 4));
  EXPECT_EQ(method.GetBackendOption("scale", "factor").value(), OptionValue(int64_t{2}));
}

TEST_F(MethodBackendOptionsTest, DelegatesGetTheOptionsOfTheLoad) {
  ASSERT_OK_AND_ASSIGN(
      Method method,
      LoadWith({{"scale", {{"factor", int64_t{3}}, {"device", std::string("gpu")}}}}));
  EXPECT_THAT(Results(method), ElementsAre(3, 6, 3, 6));
  EXPECT_EQ(method.GetBackendOption("scale", "device").value(), OptionValue(std::string("gpu")));
}

TEST_F(MethodBackendOptionsTest, OptionsChangeAfterwards) {
  ASSERT_OK_AND_ASSIGN(Method method, LoadWith({}));
  ASSERT_OK(method.SetBackendOption("scale", "factor", int64_t{5}));
  EXPECT_THAT(Results(method), ElementsAre(5, 10, 5, 10));
  EXPECT_EQ(method.GetBackendOption("scale", "factor").value(), OptionValue(int64_t{5}));
}

TEST_F(MethodBackendOptionsTest, FailedChangeKeepsTheValue) {
  ASSERT_OK_AND_ASSIGN(Method method, LoadWith({}));
  EXPECT_THAT(method.SetBackendOption("scale", "factor", int64_t{10}),
              StatusIs(kInvalid, HasSubstr("expected int, 1 to 9; got 10")));
  EXPECT_THAT(method.SetBackendOption("scale", "factor", true), StatusIs(kInvalid));
  EXPECT_THAT(method.SetBackendOption("scale", "speed", int64_t{1}),
              StatusIs(kInvalid, HasSubstr("it has factor: int, 1 to 9, default 2; device:")));
  EXPECT_THAT(method.SetBackendOption("scale", "device", std::string("gpu")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "option 'device' of backend 'scale' can only be set when the method is "
                       "loaded"));
  EXPECT_THAT(Results(method), ElementsAre(2, 4, 2, 4));
  EXPECT_EQ(method.GetBackendOption("scale", "device").value(), OptionValue(std::string("any")));
}

TEST_F(MethodBackendOptionsTest, RejectsBackendsWithoutDelegates) {
  ASSERT_OK_AND_ASSIGN(Method method, LoadWith({}));
  const std::string_view message =
      "method 'forward' has no delegate of the backend 'fake'; it has delegates of scale";
  EXPECT_THAT(method.SetBackendOption("fake", "x", true), StatusIs(kInvalid, message));
  EXPECT_THAT(method.GetBackendOption("fake", "x"), StatusIs(kInvalid, message));
  EXPECT_THAT(method.GetBackendOption("scale", "x"), StatusIs(kInvalid));
}

TEST_F(MethodBackendOptionsTest, OptionsOfUnusedBackendsHaveNoEffect) {
  ASSERT_OK_AND_ASSIGN(Method method, LoadWith({{"fake", {}}}));
  EXPECT_THAT(Results(method), ElementsAre(2, 4, 2, 4));
}

}  // namespace
}  // namespace belay
