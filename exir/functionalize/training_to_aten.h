// Pass list that converts a TRAINING program to a functional ATEN program.
#ifndef BELAY_EXIR_FUNCTIONALIZE_TRAINING_TO_ATEN_H_
#define BELAY_EXIR_FUNCTIONALIZE_TRAINING_TO_ATEN_H_

#include <vector>

#include "exir/decompositions/decompose.h"
#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Runs in this order: inline regions; decompose operators, so that only true views are aliases;
// rebase as_strided to the owner of its storage; functionalize writes; decompose the results of
// functional variants; set the dialect to ATEN.
std::vector<Pass> TrainingToAtenPasses(const DecomposeOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_FUNCTIONALIZE_TRAINING_TO_ATEN_H_
