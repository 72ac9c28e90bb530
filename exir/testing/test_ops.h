// A small registry for tests of the IR: schemas only, no meta kernels. It stands alone, so that
// tests of lower layers need no operator library.
#ifndef BELAY_EXIR_TESTING_TEST_OPS_H_
#define BELAY_EXIR_TESTING_TEST_OPS_H_

#include "exir/op/op_registry.h"

namespace belay::exir {

// Some forty operators of every shape of schema: defaults, keyword-only arguments, lists, optional
// lists, several returns, lists as returns, no returns, mutation, views, scalar functions,
// data-dependent shapes. The same registry at every call.
const OpRegistry& TestOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_TEST_OPS_H_
