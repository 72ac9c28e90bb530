// Decomposes operators that Belay executes directly, but ExecuTorch 1.5.1 lacks (or implements
// wrongly or slowly), into operators that it has.
#ifndef BELAY_EXECUTORCH_WRITER_PORTABLE_DECOMPOSITIONS_H_
#define BELAY_EXECUTORCH_WRITER_PORTABLE_DECOMPOSITIONS_H_

#include "absl/types/span.h"
#include "exir/builder/decomposition_table.h"
#include "exir/ir/exported_program.h"

namespace belay::pte {

// Rows by category, one file each.
absl::Span<const exir::Decomposition> ArithmeticDecompositions();
absl::Span<const exir::Decomposition> BesselDecompositions();
absl::Span<const exir::Decomposition> OrderDecompositions();
absl::Span<const exir::Decomposition> ResizeDecompositions();
absl::Span<const exir::Decomposition> ScatterDecompositions();
absl::Span<const exir::Decomposition> WindowDecompositions();

// All of them. Thread-safe.
const exir::DecompositionTable& PortableDecompositions();

// Returns whether a node that the table covers stays unchanged: either ExecuTorch's kernel is
// correct and fast for this call, or no decomposition covers it and the writer refuses it by name.
bool IsBetterKept(const exir::ExportedProgram& program, exir::GraphId graph, exir::NodeId id);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_PORTABLE_DECOMPOSITIONS_H_
