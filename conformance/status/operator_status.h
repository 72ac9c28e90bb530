// What each operator has, as a table for people.
#ifndef BELAY_CONFORMANCE_STATUS_OPERATOR_STATUS_H_
#define BELAY_CONFORMANCE_STATUS_OPERATOR_STATUS_H_

#include <string>

#include "absl/status/statusor.h"

namespace belay::conformance {

// The text of conformance/STATUS.md: one row per operator overload of the vectors in `cases` (a
// folder), made from the registries: whether it has shape inference and kernels, and the dtypes of
// its first tensor in vectors that expect a result. Sorted by name.
//   kNotFound         there are no vectors
//   kInvalidArgument  a vector does not parse
absl::StatusOr<std::string> OperatorStatus(const std::string& cases);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_STATUS_OPERATOR_STATUS_H_
