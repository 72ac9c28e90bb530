// Checks meta kernels on symbolic sizes.
#ifndef BELAY_CONFORMANCE_OPS_SYMBOLIC_CHECK_H_
#define BELAY_CONFORMANCE_OPS_SYMBOLIC_CHECK_H_

#include <vector>

#include "conformance/ops/op_compare.h"
#include "exir/op_definition/meta_context.h"
#include "exir/op_definition/op_registry.h"

namespace belay::conformance {

// Runs the meta kernel again with every size above 1 replaced by a symbol; equal sizes share a
// symbol. Evaluates the results at the sizes and compares them with `outputs`, the results for
// concrete sizes. Only for arguments whose tensors are contiguous. A meta kernel may reject symbols
// mixed with numbers that it cannot relate to them. Results that it returns must be right. Returns
// "" if they are.
Difference CheckSymbolicSizes(const exir::OpOverload& op,
                              const std::vector<exir::MetaValue>& arguments,
                              const std::vector<exir::MetaValue>& outputs);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_OPS_SYMBOLIC_CHECK_H_
