// Of operators that Belay runs as they are and ExecuTorch 1.5.0 does not have (or has wrong or slow):
// what they are in operators that it has.
#ifndef BELAY_EXECUTORCH_WRITER_PORTABLE_DECOMPOSITIONS_H_
#define BELAY_EXECUTORCH_WRITER_PORTABLE_DECOMPOSITIONS_H_

#include "absl/types/span.h"
#include "exir/builder/decomposition_table.h"
#include "exir/ir/exported_program.h"

namespace belay::pte {

// Rows of one kind, a file each.
absl::Span<const exir::Decomposition> ArithmeticDecompositions();
absl::Span<const exir::Decomposition> BesselDecompositions();
absl::Span<const exir::Decomposition> OrderDecompositions();
absl::Span<const exir::Decomposition> ScatterDecompositions();
absl::Span<const exir::Decomposition> WindowDecompositions();

// All of them. Thread-safe.
const exir::DecompositionTable& PortableDecompositions();

// Of a node that the table has: whether it stays as it is, since ExecuTorch's kernel does this call
// right and fast, or since no decomposition covers it, so that the writer refuses it by name.
bool IsBetterKept(const exir::ExportedProgram& program, exir::GraphId graph, exir::NodeId id);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_PORTABLE_DECOMPOSITIONS_H_
