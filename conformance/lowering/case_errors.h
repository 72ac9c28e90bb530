// Compares an error of Belay with the one that a case expects.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_ERRORS_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "conformance/lowering/json.h"

namespace belay::conformance {

// `expected` is the object `error` of expected.json. The status must have the one code that
// docs/lowering.md §10 gives this kind of error, and its message must say what is particular about
// it and name what the expected message names: tags, nodes, keys, methods, backends, and what a
// backend itself said. Of errors of no known kind, the code is that of the class in Python, and the
// message must say in which method or backend. "" when it fits, else what was expected.
std::string CompareError(const Json& description, const Json& expected, const absl::Status& status);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_ERRORS_H_
