// Compares what a program computed with what PyTorch recorded.
#ifndef BELAY_CONFORMANCE_MODELS_COMPARE_H_
#define BELAY_CONFORMANCE_MODELS_COMPARE_H_

#include "absl/status/status.h"
#include "runtime/core/tensor_view.h"

namespace belay::conformance {

// OK when dtype and sizes are equal and every element is: |got - want| <= atol + rtol * |want| for
// floating point (both NaN, or the same infinity, also count), exactly for integers and bools.
// Otherwise kFailedPrecondition with the number of differing elements, and the first of them: its
// index, what was expected, what came.
absl::Status CompareTensors(const TensorView& want, const TensorView& got, double atol,
                            double rtol);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_MODELS_COMPARE_H_
