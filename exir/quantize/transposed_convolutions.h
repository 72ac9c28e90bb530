// Writes transposed convolutions as convolutions, which backends compute on integers.
#ifndef BELAY_EXIR_QUANTIZE_TRANSPOSED_CONVOLUTIONS_H_
#define BELAY_EXIR_QUANTIZE_TRANSPOSED_CONVOLUTIONS_H_

#include <string>

#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Rewrites the transposed convolutions of the top graph that `selects` accepts:
//
//   convolution(x, w, b, [s], [p], [1], transposed)
//     -> slice(pixel_shuffle(convolution(x, w', b', [1], [P], [1]), s))
//
// Conditions: weight and bias are float32 constants, only the convolution uses the weight, and a
// PhaseConvolution (exir/passes/phase_convolution.h) exists and has at most 3 times the
// multiply-adds. The weight "up.weight" becomes "up.weight_phases". The shuffle is decomposed to
// views and a permutation. A shuffle by 1 and a slice of all elements are left out. Tensors in
// `changing` are not constant. O(nodes + elements of the new weights). Errors of OpBuilder and
// ConstantTensor::Dense.
absl::Status WriteTransposedConvolutions(ExportedProgram& program,
                                         const absl::btree_set<std::string>& changing,
                                         absl::FunctionRef<bool(const Node&)> selects);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_TRANSPOSED_CONVOLUTIONS_H_
