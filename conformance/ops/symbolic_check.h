// Whether a meta kernel is right for sizes that are symbols.
#ifndef BELAY_CONFORMANCE_OPS_SYMBOLIC_CHECK_H_
#define BELAY_CONFORMANCE_OPS_SYMBOLIC_CHECK_H_

#include <vector>

#include "conformance/ops/op_compare.h"
#include "exir/op/meta_context.h"
#include "exir/op/op_registry.h"

namespace belay::conformance {

// Runs the meta kernel once more with every size above 1 replaced by a symbol (equal sizes by one
// symbol) and compares the results, evaluated at the sizes, with `outputs`, those for numbers. Only
// for arguments whose tensors are contiguous. A meta kernel may refuse symbols beside numbers that
// it can't relate to them; what it accepts must be right. "" when it is.
Difference CheckSymbolicSizes(const exir::OpOverload& op,
                              const std::vector<exir::MetaValue>& arguments,
                              const std::vector<exir::MetaValue>& outputs);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_OPS_SYMBOLIC_CHECK_H_
