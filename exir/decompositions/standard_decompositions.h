// Belay's decompositions.
#ifndef BELAY_EXIR_DECOMPOSITIONS_STANDARD_DECOMPOSITIONS_H_
#define BELAY_EXIR_DECOMPOSITIONS_STANDARD_DECOMPOSITIONS_H_

#include "exir/builder/decomposition_table.h"

namespace belay::exir {

// All families. The same table at every call.
const DecompositionTable& StandardDecompositions();

}  // namespace belay::exir

#endif  // BELAY_EXIR_DECOMPOSITIONS_STANDARD_DECOMPOSITIONS_H_
