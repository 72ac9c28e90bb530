// The operator registry of pass tests.
#ifndef BELAY_EXIR_PASSES_PASS_TESTING_H_
#define BELAY_EXIR_PASSES_PASS_TESTING_H_

#include "exir/op_definition/op_registry.h"

namespace belay::exir {

// Returns the standard operators; the same registry in every call.
const OpRegistry& PassTestOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_PASS_TESTING_H_
