// The rules by which a result is compared with the expected one (conformance/opcases/README.md, "Checks").
#ifndef BELAY_CONFORMANCE_OPS_OP_COMPARE_H_
#define BELAY_CONFORMANCE_OPS_OP_COMPARE_H_

#include <string>

#include "conformance/ops/op_case.h"
#include "runtime/core/tensor_view.h"

namespace belay::conformance {

// What a message needs: "" when all is well, otherwise what was expected and what came.
using Difference = std::string;

// dtype, shape, and the elements by index as `op_case` says.
Difference CompareTensor(const CaseTensor& want, const TensorView& got, const OpCase& op_case);
// A number or a bool against a value of the same kind. `want` is none of the tensor kinds.
Difference CompareScalar(const CaseValue& want, const EValue& got, const OpCase& op_case);
// The strides; those of dimensions of size 1 do not count, nor those of tensors with at most one
// element.
Difference CompareLayout(const CaseTensor& want, const TensorView& got);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_OPS_OP_COMPARE_H_
