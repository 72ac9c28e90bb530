// Evaluates the functions of tables.
#ifndef BELAY_EXIR_QUANTIZE_TABLE_FUNCTION_H_
#define BELAY_EXIR_QUANTIZE_TABLE_FUNCTION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// Returns the results of the last of the pointwise `nodes` if each of `roots`, the values that the
// nodes use, has the elements `points`. Preconditions: all other tensors among the operands are
// constants of one element; results are float32. kInvalidArgument for other nodes; errors of
// CallOperator.
absl::StatusOr<std::vector<float>> EvaluateTable(const ExportedProgram& program,
                                                 absl::Span<const NodeId> nodes,
                                                 absl::Span<const ValueId> roots,
                                                 absl::Span<const float> points,
                                                 const KernelRegistry& kernels);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_TABLE_FUNCTION_H_
