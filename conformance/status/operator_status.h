// Generates the page of operators with their shape inference and kernels.
#ifndef BELAY_CONFORMANCE_STATUS_OPERATOR_STATUS_H_
#define BELAY_CONFORMANCE_STATUS_OPERATOR_STATUS_H_

#include <string>

#include "absl/types/span.h"
#include "conformance/ops/op_case.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::conformance {

// Returns the contents of conformance/STATUS.md: one row per operator overload that has vectors, in
// the order of `files`. Columns from the registries: shape inference and kernels. From the vectors:
// the dtypes of the first tensor in vectors that expect a result.
std::string OperatorStatus(absl::Span<const OpCaseFile> files, const exir::OpRegistry& ops,
                           const KernelRegistry& kernels);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_STATUS_OPERATOR_STATUS_H_
