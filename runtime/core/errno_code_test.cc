#include "runtime/core/errno_code.h"

#include <cerrno>

#include "gtest/gtest.h"

namespace belay {
namespace {

TEST(ErrnoCodeTest, MapsErrnoToStatusCode) {
  for (const int error : {ENOENT, ENOTDIR}) {
    EXPECT_EQ(CodeOfErrno(error), absl::StatusCode::kNotFound) << error;
  }
  for (const int error : {EACCES, EPERM, EROFS}) {
    EXPECT_EQ(CodeOfErrno(error), absl::StatusCode::kPermissionDenied) << error;
  }
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    EXPECT_EQ(CodeOfErrno(error), absl::StatusCode::kResourceExhausted) << error;
  }
  for (const int error : {0, EIO, EMFILE, ENAMETOOLONG, -1}) {
    EXPECT_EQ(CodeOfErrno(error), absl::StatusCode::kUnavailable) << error;
  }
}

}  // namespace
}  // namespace belay
