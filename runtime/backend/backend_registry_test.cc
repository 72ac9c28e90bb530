#include "runtime/backend/backend_registry.h"

#include <memory>

#include "runtime/core/testing.h"

namespace belay {
namespace {

class NamedBackend : public BackendRuntime {
 public:
  explicit NamedBackend(std::string_view id) : id_(id) {}
  std::string_view id() const override { return id_; }
  absl::StatusOr<std::unique_ptr<DelegateHandle>> Init(
      const DelegateInitContext& context, absl::Span<const std::byte> blob) const override {
    return absl::UnimplementedError("not needed");
  }

 private:
  std::string_view id_;
};

TEST(BackendRegistryTest, FindsBackendsById) {
  const NamedBackend npu("npu"), dsp("dsp");
  BackendRegistry registry;
  ASSERT_OK(registry.Add(&npu));
  ASSERT_OK(registry.Add(&dsp));
  EXPECT_EQ(registry.Find("npu"), &npu);
  EXPECT_EQ(registry.Find("dsp"), &dsp);
  EXPECT_EQ(registry.Find("gpu"), nullptr);
  EXPECT_THAT(registry.Ids(), ::testing::ElementsAre("dsp", "npu"));
}

TEST(BackendRegistryTest, RejectsDuplicateBackendIds) {
  const NamedBackend one("npu"), two("npu");
  BackendRegistry registry;
  ASSERT_OK(registry.Add(&one));
  EXPECT_THAT(registry.Add(&two),
              StatusIs(absl::StatusCode::kAlreadyExists, ::testing::HasSubstr("'npu'")));
  EXPECT_EQ(registry.Find("npu"), &one);
}

}  // namespace
}  // namespace belay
