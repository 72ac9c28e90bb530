// Writes 1-D convolutions as 2-D ones, which backends compute on integers.
#ifndef BELAY_EXIR_QUANTIZE_IMAGE_CONVOLUTIONS_H_
#define BELAY_EXIR_QUANTIZE_IMAGE_CONVOLUTIONS_H_

#include <string>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Rewrites the convolutions of the top graph whose weight [n, c, k] is a float32 constant without
// other users, and not transposed:
//
//   convolution(x, w, b, [s], [p], [d])
//     -> squeeze(convolution(unsqueeze(x, 2), w [n, c, 1, k], b, [1, s], [0, p], [1, d]), [2])
//
// The weight "conv.weight" becomes "conv.weight_2d" and shares the bytes. Tensors in `changing` are
// not constant. O(nodes). Errors of OpBuilder.
absl::Status WriteConvolutionsAsImages(ExportedProgram& program,
                                       const absl::btree_set<std::string>& changing);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_IMAGE_CONVOLUTIONS_H_
