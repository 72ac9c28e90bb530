// Finds operators that have a node by the operators to which they were decomposed.
#ifndef BELAY_BACKENDS_XNNPACK_AOT_COMPOSITE_FORM_H_
#define BELAY_BACKENDS_XNNPACK_AOT_COMPOSITE_FORM_H_

#include <optional>

#include "absl/status/status.h"
#include "backends/xnnpack/aot/operation.h"
#include "backends/xnnpack/aot/operation_reader.h"
#include "exir/ir/exported_program.h"

namespace belay::xnnpack {

// Returns the operation of a composite operator whose last operator is `node`:
//
//   x * clamp(x + 3, 0, 6) / 6     ->  Hardswish(x)
//   where(x > 0, x, x * weight)    ->  PReLU(x, weight)
//
// nullopt if it is another one, if inner operators have other users, and for tensors and slopes
// that payloads do not support.
std::optional<Operation> CompositeOperationOf(const exir::ExportedProgram& program,
                                              exir::NodeId node);

// Returns the last operator of the composite operator that `node` is an inner operator of; nullopt
// for other nodes.
std::optional<exir::NodeId> CompositeUserOf(const exir::ExportedProgram& program,
                                            exir::NodeId node);

// Reads x > 0 ? x : x * weight as PReLU, or with a single slope as LeakyReLU. The weight is
// [channels] or, if it `broadcasts`, [1, channels, 1, …].
//   kUnimplemented  slopes that are not finite constants per channel, or more than one slope for an
//                   input that has neither rank 2 nor rank 4
absl::Status ReadSlopes(const OperationReader& reader, const exir::Argument& input,
                        const exir::Argument& weight, bool broadcasts, Operation& operation);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_AOT_COMPOSITE_FORM_H_
