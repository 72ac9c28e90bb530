// Maps errno values to status codes.
#ifndef BELAY_RUNTIME_CORE_ERRNO_CODE_H_
#define BELAY_RUNTIME_CORE_ERRNO_CODE_H_

#include "absl/status/status.h"

namespace belay {

// For the errno of a failed file operation: kNotFound, kPermissionDenied, kResourceExhausted (a
// full disk), or kUnavailable for all others.
absl::StatusCode CodeOfErrno(int error);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_ERRNO_CODE_H_
