// Tags the constants that move into delegates. Called after the nodes are tagged.
//
// Source: docs/lowering.md rows 34, 35, §11.2.
#ifndef BELAY_EXIR_BACKEND_PARTITIONERS_TAG_CONSTANTS_H_
#define BELAY_EXIR_BACKEND_PARTITIONERS_TAG_CONSTANTS_H_

#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Replaceable tensors: whether delegates own them. A backend that owns them looks up their values
// when it initializes a delegate; for others they are arguments of the call.
enum class Replaceable : bool { kAreArguments = false, kAreOwned = true };

// Tags every parameter, buffer and tensor constant that tagged nodes use and that is not mutated,
// with the smallest of its users' tags. Inputs that already have a tag keep it. O(uses + tags).
void TagConstantData(const ExportedProgram& program, PartitionResult& result,
                     Replaceable replaceable = Replaceable::kAreArguments);

// Tags the inputs of subgraphs that tagged nodes use and that are the same constant in every call
// (FindConstantSubgraphInputs), with the smallest of their users' tags. Inputs that already have a
// tag keep it. Replaceable tensors are not tagged. O(program).
void TagSubgraphConstants(const ExportedProgram& program, PartitionResult& result);

// Same as TagConstantData, for buffers that the program mutates.
void TagMutatedBuffers(const ExportedProgram& program, PartitionResult& result);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_TAG_CONSTANTS_H_
