// The operators that pass tests rewrite.
#ifndef BELAY_EXIR_PASSES_PASS_TESTING_H_
#define BELAY_EXIR_PASSES_PASS_TESTING_H_

#include "exir/op/op_registry.h"

namespace belay::exir {

// The standard operators; the same registry at every call.
const OpRegistry& PassTestOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_PASS_TESTING_H_
