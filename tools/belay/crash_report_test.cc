#include "tools/belay/crash_report.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CrashReportDeathTest, ReportsMutationsOnlyWhileArmed) {
  EXPECT_DEATH(
      {
        InstallCrashReport("mutation ");
        SetCurrentMutation(17);
        std::abort();
      },
      HasSubstr("mutation 17\n"));
  EXPECT_DEATH(
      {
        InstallCrashReport("mutation ");
        DisarmCrashReport();
        std::abort();
      },
      Not(HasSubstr("mutation")));
}

}  // namespace
}  // namespace belay::tools
