// A small registry for tests of the IR: schemas only, no meta kernels. It has no dependencies, so
// that tests of lower layers need no operator library.
#ifndef BELAY_EXIR_TESTING_TEST_OPS_H_
#define BELAY_EXIR_TESTING_TEST_OPS_H_

#include "exir/op_definition/op_registry.h"

namespace belay::exir {

// Returns about forty operators that cover all kinds of schemas: defaults, keyword-only arguments,
// lists, optional lists, multiple returns, list returns, no returns, mutation, views, scalar
// functions, data-dependent shapes. Every call returns the same registry.
const OpRegistry& TestOps();

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_TEST_OPS_H_
