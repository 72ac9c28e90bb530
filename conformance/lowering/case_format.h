// Which fields and words the format of the cases has (FORMAT.md). What a harness does not know it
// would skip, and a case that it half skips proves nothing.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_FORMAT_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_FORMAT_H_

#include "absl/status/status.h"
#include "conformance/lowering/json_value.h"

namespace belay::conformance {

// kInvalidArgument with the place of the first field or word that the format does not have, at
// whatever level. That fields are there is not checked, nor their values.
absl::Status CheckCaseFormat(const Json& description);   // case.json
absl::Status CheckExpectedFormat(const Json& expected);  // expected.json
absl::Status CheckRoundFormat(const Json& round);        // one of `rounds`

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_FORMAT_H_
