#include "runtime/core/errno_code.h"

#include <cerrno>

namespace belay {
namespace {

struct Row {
  int error;
  absl::StatusCode code;
};
constexpr Row kRows[] = {
    {ENOENT, absl::StatusCode::kNotFound},          {ENOTDIR, absl::StatusCode::kNotFound},
    {EACCES, absl::StatusCode::kPermissionDenied},  {EPERM, absl::StatusCode::kPermissionDenied},
    {EROFS, absl::StatusCode::kPermissionDenied},   {ENOSPC, absl::StatusCode::kResourceExhausted},
    {EDQUOT, absl::StatusCode::kResourceExhausted}, {EFBIG, absl::StatusCode::kResourceExhausted},
};

}  // namespace

absl::StatusCode CodeOfErrno(int error) {
  for (const Row& row : kRows) {
    if (row.error == error) return row.code;
  }
  return absl::StatusCode::kUnavailable;
}

}  // namespace belay
