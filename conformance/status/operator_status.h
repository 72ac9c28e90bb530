// What each operator has, as a table for people.
#ifndef BELAY_CONFORMANCE_STATUS_OPERATOR_STATUS_H_
#define BELAY_CONFORMANCE_STATUS_OPERATOR_STATUS_H_

#include <string>

#include "absl/types/span.h"
#include "conformance/ops/op_case.h"
#include "exir/op/op_registry.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::conformance {

// The text of conformance/STATUS.md: one row per operator overload of the vectors, made from the
// registries: whether it has shape inference and kernels, and the dtypes of its first tensor in
// vectors that expect a result. In the order of `files`.
std::string OperatorStatus(absl::Span<const OpCaseFile> files, const exir::OpRegistry& ops,
                           const KernelRegistry& kernels);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_STATUS_OPERATOR_STATUS_H_
