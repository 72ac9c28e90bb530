// What conformance/lowering compares with; everything else asks exir/engine/compare.h itself.
#ifndef BELAY_CONFORMANCE_MODELS_COMPARE_H_
#define BELAY_CONFORMANCE_MODELS_COMPARE_H_

#include "exir/engine/compare.h"

namespace belay::conformance {

inline absl::Status CompareTensors(const TensorView& want, const TensorView& got, double atol,
                                   double rtol) {
  return exir::CompareTensors(want, got, {.atol = atol, .rtol = rtol});
}

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_MODELS_COMPARE_H_
