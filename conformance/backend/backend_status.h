// Generates the page of operators that a backend supports.
#ifndef BELAY_CONFORMANCE_BACKEND_BACKEND_STATUS_H_
#define BELAY_CONFORMANCE_BACKEND_BACKEND_STATUS_H_

#include <string>

#include "absl/status/statusor.h"

namespace belay::conformance {

// Returns a backend's status page. It lists the operators with conformance vectors in `cases` (a
// folder, or a file in it). For each, it shows how many calls the default partitioner of `backend`
// accepts, for which dtypes, and why it rejects the others. The page names `command` as its
// generator.
//   kNotFound         unknown backend, or no vectors
//   kInvalidArgument  a vector does not parse
absl::StatusOr<std::string> BackendStatus(const std::string& backend, const std::string& cases,
                                          const std::string& command);

// Returns "" if the strings are equal; otherwise the first line that differs, actual and expected.
std::string FirstDifferentLine(const std::string& is, const std::string& should_be);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_BACKEND_BACKEND_STATUS_H_
