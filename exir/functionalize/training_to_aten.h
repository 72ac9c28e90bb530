// The list of passes that make a functional ATEN program of a TRAINING one.
#ifndef BELAY_EXIR_FUNCTIONALIZE_TRAINING_TO_ATEN_H_
#define BELAY_EXIR_FUNCTIONALIZE_TRAINING_TO_ATEN_H_

#include <vector>

#include "exir/decompositions/decompose.h"
#include "exir/pass/pass.h"

namespace belay::exir {

// In this order: regions are inlined; operators decomposed, so that only real views are aliases;
// as_strided based on the owner of its memory; writes replaced; what the functional variants brought
// decomposed; and the dialect is ATEN.
std::vector<Pass> TrainingToAtenPasses(const DecomposeOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_TRAINING_TO_ATEN_H_
