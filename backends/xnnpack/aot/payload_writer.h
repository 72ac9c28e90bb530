// A sub-program → a payload, as ExecuTorch 1.5.0 writes it.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_PAYLOAD_WRITER_H_
#define BELAY_BACKENDS_XNNPACK_AOT_PAYLOAD_WRITER_H_

#include "absl/status/statusor.h"
#include "backends/xnnpack/aot/operation.h"
#include "exir/backend/backend.h"
#include "exir/ir/exported_program.h"

namespace belay::xnnpack {

// Nodes in the program's order. Inputs and outputs lie in the dim order that they have in the program.
// Images (NHWC in payloads) stay as they are through what does not care; a transpose comes where one
// order is there and the other is wanted, once for each value. relu, clamp and hardtanh become bounds of the sum, product, convolution or linear layer that they
// alone read. Constants are named data, under the SHA-256 of their bytes in hexadecimal. Step ids of
// the debug handle map are the nodes' debug handles.
//   kUnimplemented  a node that ReadOperation refuses, an output that is not a tensor that is
//                   returned, or an argument that is returned; names it
absl::StatusOr<exir::PreprocessResult> WritePayload(const exir::ExportedProgram& program,
                                                    Target target);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_PAYLOAD_WRITER_H_
