// Builds the program of one partition. Part of the implementation of to_backend.h.
// Source: docs/lowering.md §2.8, §2.13–2.17, §11.1.
#ifndef BELAY_EXIR_BACKEND_LOWERING_SUBPROGRAM_H_
#define BELAY_EXIR_BACKEND_LOWERING_SUBPROGRAM_H_

#include "exir/backend/lowering/partition_plan.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Inputs: the owned constants (parameters, buffers, tensor constants, each in the owner's order),
// then the call's arguments. Outputs: the owned mutations, then the call's results. Tensors share
// the owner's bytes. O(partition).
ExportedProgram BuildSubprogram(const ExportedProgram& owner, const Partition& partition);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_SUBPROGRAM_H_
