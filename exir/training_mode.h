// Finds models that were exported in training mode.
#ifndef BELAY_EXIR_TRAINING_MODE_H_
#define BELAY_EXIR_TRAINING_MODE_H_

#include <string>
#include <vector>

#include "exir/backend/to_backend.h"

namespace belay::exir {

// Returns a line for each method with dropout, or with batch norms that update their statistics: its
// results change from call to call, which users rarely want. Names the first node. Methods are in
// the dialects TRAINING or ATEN; in other dialects these operators are decomposed.
std::vector<std::string> NotesOnTraining(const MethodPrograms& methods);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TRAINING_MODE_H_
