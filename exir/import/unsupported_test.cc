#include "exir/import/unsupported.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(UnsupportedTest, EmptyReportIsOk) {
  const UnsupportedReport report;
  EXPECT_TRUE(report.empty());
  EXPECT_OK(report.ToStatus());
}

TEST(UnsupportedTest, ListsTheFirstAndCountsAll) {
  UnsupportedReport report;
  report.Add("input 'x'", "it is 0");
  EXPECT_THAT(report.ToStatus(), StatusIs(absl::StatusCode::kUnimplemented,
                                          "the program uses 1 unsupported feature:\n"
                                          "  input 'x': it is 0"));
  for (int i = 1; i < 123; ++i) report.Add("input 'x'", absl::StrCat("it is ", i));
  EXPECT_FALSE(report.empty());
  const absl::Status status = report.ToStatus();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented,
                               HasSubstr("the program uses 123 unsupported features:")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("it is 99\n  and 23 more"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("it is 100")));
}

}  // namespace
}  // namespace belay::exir
