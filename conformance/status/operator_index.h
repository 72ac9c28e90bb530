// Which vectors each operator has, as a table for people.
#ifndef BELAY_CONFORMANCE_STATUS_OPERATOR_INDEX_H_
#define BELAY_CONFORMANCE_STATUS_OPERATOR_INDEX_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "conformance/ops/op_case.h"
#include "runtime/core/dtype.h"

namespace belay::conformance {

// All vectors of a folder, sorted by operator. Errors as OpCaseFiles and ReadOpCaseFile.
absl::StatusOr<std::vector<OpCaseFile>> ReadOpCaseFiles(const std::string& folder);

// The first tensor among the arguments; null without.
const CaseTensor* FirstTensor(const OpCase& op_case);
const CaseTensor* FirstTensor(const CaseValue& value);

// The text of conformance/opcases/INDEX.md, as make_opcases.py writes it: families, and one row per
// operator with the number of its cases and errors, the dtypes of first tensors, and its tags.
std::string OperatorIndex(absl::Span<const OpCaseFile> files);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_STATUS_OPERATOR_INDEX_H_
