// Elements of constants as floats.
#ifndef BELAY_EXIR_IR_FLOAT_ELEMENTS_H_
#define BELAY_EXIR_IR_FLOAT_ELEMENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/constant.h"

namespace belay::exir {

// Returns a copy of the elements in row-major order. Precondition: float32. Errors of
// ConstantTensor::Dense. O(elements).
absl::StatusOr<std::vector<float>> FloatElements(const ConstantTensor& constant);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_FLOAT_ELEMENTS_H_
