#include "runtime/backend/backend_settings.h"

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class NamedBackend : public BackendRuntime {
 public:
  NamedBackend(std::string_view id, bool has_options) : id_(id), has_options_(has_options) {}
  std::string_view id() const override { return id_; }
  BackendOptionTable options() const override {
    static const BackendOption table[] = {
        {.name = "level", .about = "", .default_value = int64_t{2}, .min = 1, .max = 9},
        {.name = "fast", .about = "", .default_value = false}};
    return has_options_ ? BackendOptionTable(table) : BackendOptionTable();
  }
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(const DelegateInitContext&,
                                                       absl::Span<const std::byte>) const override {
    return absl::UnimplementedError("not needed");
  }

 private:
  std::string_view id_;
  bool has_options_;
};

class BackendSettingsTest : public ::testing::Test {
 protected:
  BackendSettingsTest() {
    EXPECT_OK(backends_.Add(&npu_));
    EXPECT_OK(backends_.Add(&dsp_));
  }
  const NamedBackend npu_{"npu", true}, dsp_{"dsp", false};
  BackendRegistry backends_;
};

TEST_F(BackendSettingsTest, FillsInDefaults) {
  ASSERT_OK_AND_ASSIGN(const BackendSettings settings,
                       BackendSettings::Create(backends_, {{"npu", {{"fast", true}}}}));
  ASSERT_NE(settings.Find("npu"), nullptr);
  EXPECT_THAT(*settings.Find("npu"), UnorderedElementsAre(Pair("level", OptionValue(int64_t{2})),
                                                          Pair("fast", OptionValue(true))));
  EXPECT_EQ(settings.Find("dsp"), nullptr);
}

TEST_F(BackendSettingsTest, RejectsUnregisteredBackends) {
  EXPECT_THAT(BackendSettings::Create(backends_, {{"gpu", {}}}),
              StatusIs(kInvalid,
                       "options of the backend 'gpu', which is not registered; registered are "
                       "dsp, npu"));
  EXPECT_THAT(BackendSettings::Create(BackendRegistry(), {{"gpu", {}}}),
              StatusIs(kInvalid, ::testing::HasSubstr("registered are none")));
}

TEST_F(BackendSettingsTest, RejectsInvalidOptions) {
  EXPECT_THAT(BackendSettings::Create(backends_, {{"dsp", {{"x", true}}}}),
              StatusIs(kInvalid, "backend 'dsp' has no option 'x'; it has none"));
  EXPECT_THAT(BackendSettings::Create(backends_, {{"npu", {{"level", int64_t{10}}}}}),
              StatusIs(kInvalid, "option 'level' of backend 'npu': expected int, 1 to 9; got 10"));
}

}  // namespace
}  // namespace belay
