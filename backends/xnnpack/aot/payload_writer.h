// Serializes a sub-program to a payload in the format of ExecuTorch 1.5.1.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_PAYLOAD_WRITER_H_
#define BELAY_BACKENDS_XNNPACK_AOT_PAYLOAD_WRITER_H_

#include "absl/status/statusor.h"
#include "backends/xnnpack/aot/operation.h"
#include "exir/backend/backend.h"
#include "exir/ir/exported_program.h"

namespace belay::xnnpack {

// Emits nodes in the program's order. Inputs and outputs keep their dim order in the program.
//
// Images (NHWC in payloads) keep their order through nodes that accept either. If a node requires
// another order, a transpose is inserted, once per value. relu, clamp and hardtanh become bounds of
// the sum, multiplication, convolution or linear layer whose sole consumer they are. Constants are
// named data under their SHA-256 in hexadecimal. Step ids of the debug handle map are the debug
// handles of the nodes.
//   kUnimplemented  a node that ReadOperation rejects, an output that is not a user output tensor,
//                   or an argument that is returned; names it
absl::StatusOr<exir::PreprocessResult> WritePayload(const exir::ExportedProgram& program,
                                                    Target target);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_PAYLOAD_WRITER_H_
