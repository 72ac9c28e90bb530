// Adds context to error messages.
#ifndef BELAY_RUNTIME_CORE_ANNOTATE_H_
#define BELAY_RUNTIME_CORE_ANNOTATE_H_

#include <string_view>

#include "absl/status/status.h"

namespace belay {

// Returns the error with "what: " before its message, where `what` is the file, method or input
// concerned. Keeps payloads. An OK status is returned unchanged.
absl::Status Annotate(const absl::Status& status, std::string_view what);
// Returns the error with another message. Keeps the code and payloads. An OK status is returned
// unchanged.
absl::Status WithMessage(const absl::Status& status, std::string_view message);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_ANNOTATE_H_
