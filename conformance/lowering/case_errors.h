// Compares an error of Belay with the one that a case expects.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_ERRORS_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "conformance/lowering/json_value.h"

namespace belay::conformance {

// `expected` is the object `error` of expected.json. The status must have a code that docs/lowering.md
// §10 gives this kind of error, and its message must name what the expected message names: tags,
// nodes, keys, methods, backends, and what the backend itself said. Node names are compared by the
// operator in them. "" when it fits, else what was expected and what came.
std::string CompareError(const Json& description, const Json& expected, const absl::Status& status);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_ERRORS_H_
