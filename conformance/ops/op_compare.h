// Compares results with expected ones by the rules of conformance/opcases/README.md, "Checks".
#ifndef BELAY_CONFORMANCE_OPS_OP_COMPARE_H_
#define BELAY_CONFORMANCE_OPS_OP_COMPARE_H_

#include <string>

#include "conformance/ops/op_case.h"
#include "runtime/core/tensor_view.h"

namespace belay::conformance {

// A message with the expected and the actual value; "" if they agree.
using Difference = std::string;

// Compares dtype, shape and elements. `op_case` selects the comparison of each element by its
// index.
Difference CompareTensor(const CaseTensor& want, const TensorView& got, const OpCase& op_case);
// Compares a scalar or a bool with a value of the same kind. `want` is not one of the tensor kinds.
Difference CompareScalar(const CaseValue& want, const EValue& got, const OpCase& op_case);
// Compares strides. Ignores strides of dimensions of size 1, and all strides of tensors with at
// most one element.
Difference CompareLayout(const CaseTensor& want, const TensorView& got);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_OPS_OP_COMPARE_H_
