// Several partitioners in order of priority, and operators that were kept for them.
//
// Source: docs/lowering.md rows 18, 19.
#ifndef BELAY_EXIR_BACKEND_PARTITIONER_SEQUENCE_H_
#define BELAY_EXIR_BACKEND_PARTITIONER_SEQUENCE_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/backend/to_backend.h"

namespace belay::exir {

// Applies each round to what the one before it left; earlier delegates are ordinary nodes to later
// partitioners.
//   kFailedPrecondition  an operator that a partitioner asked to preserve, at a node that its
//                        filter accepts, is neither decomposed nor delegated after the last round;
//                        lists all such nodes, bodies included. Quantization primitives may stay.
//   whatever ToBackend returns, or `check` says about what a round gave, annotated with the round
//   when there are several
absl::StatusOr<MethodPrograms> ToBackendInSequence(
    const MethodPrograms& methods, absl::Span<const MethodPartitioners> rounds,
    const BackendSet& backends, const ToBackendOptions& options = {},
    const std::function<absl::Status(const MethodPrograms&)>& check = nullptr);

// The operators of a request that are kept: all, or with a filter those that can be kept at some
// nodes and decomposed at others, as ExecuTorch has it. Those write to nothing, return no aliases,
// and are not on a list of operators that conversions of dtypes and numbers make.
std::vector<const OpOverload*> OpsToKeep(const PreservedOps& preserved);

// The check alone.
absl::Status CheckPreservedOps(const MethodPrograms& methods,
                               const MethodPartitioners& partitioners);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONER_SEQUENCE_H_
