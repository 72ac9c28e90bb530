#include "runtime/core/status_macros.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

absl::Status ReturnIfError(const absl::Status& status, bool* reached) {
  ABSL_RETURN_IF_ERROR(status);
  *reached = true;
  return absl::OkStatus();
}

absl::StatusOr<int> Twice(absl::StatusOr<std::unique_ptr<int>> value) {
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<int> v, std::move(value));
  int sum = 0;
  ABSL_ASSIGN_OR_RETURN(sum, absl::StatusOr<int>(*v));
  return sum + *v;
}

TEST(StatusMacrosTest, ReturnIfErrorReturnsErrorsOnly) {
  bool reached = false;
  EXPECT_THAT(ReturnIfError(absl::InternalError("x"), &reached),
              StatusIs(absl::StatusCode::kInternal, "x"));
  EXPECT_FALSE(reached);
  EXPECT_OK(ReturnIfError(absl::OkStatus(), &reached));
  EXPECT_TRUE(reached);
}

TEST(StatusMacrosTest, AssignOrReturnMovesTheValue) {
  ASSERT_OK_AND_ASSIGN(const int twice, Twice(std::make_unique<int>(4)));
  EXPECT_EQ(twice, 8);
  EXPECT_THAT(Twice(absl::NotFoundError("y")), StatusIs(absl::StatusCode::kNotFound, "y"));
}

TEST(StatusMacrosDeathTest, CheckNamesTheCondition) {
  EXPECT_DEATH(ABSL_CHECK(1 + 1 == 3), "1 \\+ 1 == 3");
  ABSL_CHECK(true);
}

}  // namespace
}  // namespace belay
