// Imports an XnnpackBackend payload as a program of ATen operators.
#ifndef BELAY_EXECUTORCH_PAYLOAD_IMPORT_PAYLOAD_PROGRAM_H_
#define BELAY_EXECUTORCH_PAYLOAD_IMPORT_PAYLOAD_PROGRAM_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executorch/reader/delegate_conversion.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/core/memory_budget.h"
#include "runtime/core/named_data_map.h"

namespace belay::pte {

// Returns a program of dialect ATEN with the payload's semantics. Its user inputs and outputs are
// the arguments and outputs of the call, in order, without scalar arguments. Constants are
// parameters; they are views of the payload and of `named_data`, which must outlive the program,
// except for 4-bit weights and filters of convolutions, which are copied.
//
// Dimensions of dynamic arguments become symbols s0, s1, ... of [0, size] unless a node fixes them
// (dynamic_dims.h).
//
//   errors of xnnpack::ReadGraph
//   kInvalidArgument    an argument or output has another dtype or other sizes than the payload
//                       computes, or the payload uses a scalar argument; a node's parameters that
//                       ATen's operator refuses
//   kUnimplemented      a node that node_emitters.h does not support; a dim order other than
//                       row-major and channels last. Names node type and index, or the argument.
//   kResourceExhausted  `memory`, which is charged for tables and copied constants; the thread's
//                       Budget (runtime/core/budget.h)
absl::StatusOr<exir::ExportedProgram> PayloadProgram(absl::Span<const std::byte> payload,
                                                     const NamedDataMap& named_data,
                                                     absl::Span<const DelegateTensor> arguments,
                                                     absl::Span<const DelegateTensor> outputs,
                                                     const exir::OpRegistry& ops,
                                                     MemoryBudget& memory);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_PAYLOAD_IMPORT_PAYLOAD_PROGRAM_H_
