// Which operators a backend takes, as a table for people.
#ifndef BELAY_CONFORMANCE_BACKEND_BACKEND_STATUS_H_
#define BELAY_CONFORMANCE_BACKEND_BACKEND_STATUS_H_

#include <string>

#include "absl/status/statusor.h"

namespace belay::conformance {

// The text of a backend's status page: the operators with conformance vectors in `cases` (a folder,
// or a file in it), how many of their calls the default partitioner of `backend` takes, for which
// dtypes, and why not the others. `command` is said to have written it.
//   kNotFound         there is no such backend, or no vectors
//   kInvalidArgument  a vector does not parse
absl::StatusOr<std::string> BackendStatus(const std::string& backend, const std::string& cases,
                                          const std::string& command);

// "" when they are equal; otherwise the first line that differs, as it is and as it should be.
std::string FirstDifferentLine(const std::string& is, const std::string& should_be);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_BACKEND_BACKEND_STATUS_H_
