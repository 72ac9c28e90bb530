// Inserts a lowered module into other programs, or wraps it as a program of its own.
//
// Source: docs/lowering.md rows 22, 23, 25.
#ifndef BELAY_EXIR_BACKEND_COMPOSE_H_
#define BELAY_EXIR_BACKEND_COMPOSE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

// Inserts a call of the module into a graph of the edge program, before `before` (at the end if
// that is invalid), and returns the node. The arguments are values of the graph, one for each user
// input of the module's original program, in order.
//
// The node's results are the outputs of that program without the mutations of its own buffers and
// parameters. In their types, the module's symbols are replaced by the corresponding expressions of
// the arguments' shapes. The module is shared; if the program already has it, it is not added
// again. The call gets a new debug handle.
//   kInvalidArgument  a wrong number of arguments, an argument that is not a value of the graph or
//                     has another type than the input: names the input, the expected and the actual
//                     type; the program is not of the edge dialect, or has no such graph
//   kUnimplemented    the original program has inputs or outputs that a call cannot pass (tokens,
//                     custom objects, gradients)
// On error the program is unchanged. O(module's signature + nodes of the program and its
// delegates).
absl::StatusOr<NodeId> InsertDelegateCall(ExportedProgram& program, GraphId graph, NodeId before,
                                          std::shared_ptr<const LoweredBackendModule> module,
                                          std::vector<Argument> arguments,
                                          std::string name = "executorch_call_delegate");

// Returns a program that only calls the module. Its inputs are the user inputs of the original
// program, its outputs are the results of the call, with their original names and pytree specs.
// Mutations of user inputs remain mutations. Errors as InsertDelegateCall.
absl::StatusOr<ExportedProgram> ProgramOfModule(std::shared_ptr<const LoweredBackendModule> module);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_COMPOSE_H_
