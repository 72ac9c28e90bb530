// Tags the constants that move into delegates. Called after the nodes are tagged.
//
// Source: docs/lowering.md rows 34, 35, §11.2.
#ifndef BELAY_EXIR_BACKEND_PARTITIONERS_TAG_CONSTANTS_H_
#define BELAY_EXIR_BACKEND_PARTITIONERS_TAG_CONSTANTS_H_

#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Tags every parameter, buffer and tensor constant that tagged nodes use and that is not mutated,
// with the smallest of its users' tags. Inputs that already have a tag keep it. O(uses + tags).
void TagConstantData(const ExportedProgram& program, PartitionResult& result);

// Tags the inputs of subgraphs that tagged nodes use and that are the same constant in every call
// (FindConstantSubgraphInputs), with the smallest of their users' tags. Inputs that already have a
// tag keep it. O(program).
void TagSubgraphConstants(const ExportedProgram& program, PartitionResult& result);

// Same as TagConstantData, for buffers that the program mutates.
void TagMutatedBuffers(const ExportedProgram& program, PartitionResult& result);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_TAG_CONSTANTS_H_
