#include "backends/aot_backends.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

TEST(BackendsTest, ListsNamesAndIds) {
  const Outcome text = Capture([] { return Backends({}); });
  EXPECT_EQ(text.status, kDone);
  EXPECT_THAT(text.output, ::testing::HasSubstr("xnnpack: XnnpackBackend\n"));
  const Outcome outcome = Capture([] { return Backends({.json = true}); });
  const auto list = nlohmann::json::parse(outcome.output, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(list.is_array());
  EXPECT_EQ(list.size(), AotBackendNames().size());
  EXPECT_EQ(list[0]["name"], "cpu");
}

}  // namespace
}  // namespace belay::tools
