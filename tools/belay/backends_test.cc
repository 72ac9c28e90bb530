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

TEST(BackendsTest, ListsOptions) {
  const Outcome text = Capture([] { return Backends({}); });
  EXPECT_THAT(text.output,
              ::testing::HasSubstr("cpu: cpu\n"
                                   "  cpu.threads: int, 1 to 256, default 256: maximum "
                                   "number of the method's threads that work on a "
                                   "delegate\n"));
  const Outcome outcome = Capture([] { return Backends({.json = true}); });
  const auto list = nlohmann::json::parse(outcome.output, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(list.is_array());
  const nlohmann::json option = {
      {"backend", "cpu"},
      {"name", "threads"},
      {"about", "maximum number of the method's threads that work on a delegate"},
      {"description", "threads: int, 1 to 256, default 256"},
      {"default", 256},
      {"changeable", true}};
  EXPECT_EQ(list[0]["options"], nlohmann::json::array({option}));
}

}  // namespace
}  // namespace belay::tools
