#include "conformance/status/operator_status.h"

#include <fstream>
#include <sstream>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

TEST(StatusTest, TheTableIsUpToDate) {
  ASSERT_OK_AND_ASSIGN(const std::string expected, OperatorStatus("conformance/opcases"));
  std::ifstream file("conformance/STATUS.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == expected) << "run tools/bazel run //conformance/status; it should be\n"
                                      << expected;
}

TEST(StatusTest, AFolderWithoutVectorsIsAnError) {
  EXPECT_THAT(OperatorStatus("conformance/status"), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace belay::conformance
