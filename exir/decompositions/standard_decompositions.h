// Belay's standard decompositions.
#ifndef BELAY_EXIR_DECOMPOSITIONS_STANDARD_DECOMPOSITIONS_H_
#define BELAY_EXIR_DECOMPOSITIONS_STANDARD_DECOMPOSITIONS_H_

#include "exir/builder/decomposition_table.h"

namespace belay::exir {

// Returns the table of all families; every call returns the same object.
const DecompositionTable& StandardDecompositions();

}  // namespace belay::exir

#endif  // BELAY_EXIR_DECOMPOSITIONS_STANDARD_DECOMPOSITIONS_H_
