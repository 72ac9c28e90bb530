// What kind of error a number of the system is.
#ifndef BELAY_RUNTIME_CORE_ERRNO_CODE_H_
#define BELAY_RUNTIME_CORE_ERRNO_CODE_H_

#include "absl/status/status.h"

namespace belay {

// Of an errno that an operation on a file left: kNotFound, kPermissionDenied, kResourceExhausted
// (a full disk), or kUnavailable for all others.
absl::StatusCode CodeOfErrno(int error);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_ERRNO_CODE_H_
