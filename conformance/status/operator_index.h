// Generates the page of conformance vectors by operator.
#ifndef BELAY_CONFORMANCE_STATUS_OPERATOR_INDEX_H_
#define BELAY_CONFORMANCE_STATUS_OPERATOR_INDEX_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "conformance/ops/op_case.h"
#include "runtime/core/dtype.h"

namespace belay::conformance {

// Reads all vectors of a folder, sorted by operator. Errors of OpCaseFiles and ReadOpCaseFile.
absl::StatusOr<std::vector<OpCaseFile>> ReadOpCaseFiles(const std::string& folder);

// Returns the first tensor among the arguments; null if no argument is a tensor.
const CaseTensor* FirstTensor(const OpCase& op_case);
const CaseTensor* FirstTensor(const CaseValue& value);

// Returns the contents of conformance/opcases/INDEX.md, identical to the output of make_opcases.py:
// families, and one row per operator with its numbers of cases and errors, dtypes of first tensors,
// and tags.
std::string OperatorIndex(absl::Span<const OpCaseFile> files);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_STATUS_OPERATOR_INDEX_H_
