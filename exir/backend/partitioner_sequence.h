// Lowers with several partitioners in order of priority, and checks operators that were preserved
// for them.
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

// Applies each round to the result of the previous one. Earlier delegate calls are ordinary nodes
// to later partitioners.
//   kFailedPrecondition  an operator that a partitioner asked to preserve, at a node that its
//                        filter accepts, is neither decomposed nor delegated after the last round;
//                        lists all such nodes, subgraphs included. Quantization primitives may
//                        remain.
//   errors of ToBackend, and of `check` on the result of a round, annotated with the round if there
//   are several
absl::StatusOr<MethodPrograms> ToBackendInSequence(
    const MethodPrograms& methods, absl::Span<const MethodPartitioners> rounds,
    const BackendSet& backends, const ToBackendOptions& options = {},
    const std::function<absl::Status(const MethodPrograms&)>& check = nullptr);

// Returns the operators of a request that decomposition keeps. Without a filter: all. With a
// filter, as in ExecuTorch: only operators that can be kept at some nodes and decomposed at others.
// Those do not write, return no aliases, and are not always decomposed (kAlwaysDecomposed:
// operators that dtype and scalar conversions emit).
std::vector<const OpOverload*> OpsToKeep(const PreservedOps& preserved);

// Only the check of ToBackendInSequence for preserved operators that remain.
absl::Status CheckPreservedOps(const MethodPrograms& methods,
                               const MethodPartitioners& partitioners);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONER_SEQUENCE_H_
