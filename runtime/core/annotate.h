// Errors that say what they are about.
#ifndef BELAY_RUNTIME_CORE_ANNOTATE_H_
#define BELAY_RUNTIME_CORE_ANNOTATE_H_

#include <string_view>

#include "absl/status/status.h"

namespace belay {

// The error with "what: " before its message: the file, method or input that it concerns. What is
// no error stays as it is.
absl::Status Annotate(const absl::Status& status, std::string_view what);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_ANNOTATE_H_
