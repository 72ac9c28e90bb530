#include "backends/aot_backends.h"

#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AotBackendsTest, FoundByFolderName) {
  EXPECT_THAT(AotBackendNames(), ElementsAre("cpu", "demo", "null", "xnnpack"));
  EXPECT_THAT(AotBackendIds("xnnpack"), ElementsAre("XnnpackBackend"));
  EXPECT_THAT(AotBackendIds("demo"), Contains("demo"));
  EXPECT_GT(AotBackendIds("demo").size(), 1u);
  EXPECT_THAT(AotBackendIds("Demo"), IsEmpty());
  // The set contains all of them.
  for (std::string_view name : AotBackendNames()) {
    for (std::string_view id : AotBackendIds(name)) {
      ASSERT_OK_AND_ASSIGN(const exir::Backend* backend, AotBackends().Find(id));
      EXPECT_EQ(backend->id(), id);
    }
  }
}

TEST(AotBackendsTest, EachCreatesAPartitioner) {
  for (std::string_view name : AotBackendNames()) EXPECT_OK(CreatePartitioner(name, {}).status());
  EXPECT_THAT(CreatePartitioner("gpu", {}),
              StatusIs(absl::StatusCode::kNotFound,
                       "unknown backend 'gpu'; this build has: cpu, demo, null, xnnpack"));
}

}  // namespace
}  // namespace belay
