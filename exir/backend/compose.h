// Puts a lowered module into other programs, or makes it a program of its own.
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

// Calls the module: inserts a node into the graph of the edge program, before `before` (at the end
// when that is invalid), and returns it. The arguments are values of the graph, one for each user
// input of the module's original program, in order; the node's results are its outputs but for the
// mutations of its own buffers and parameters, with their types, the module's symbols replaced by
// what stands in their places in the arguments' shapes. The module is shared, and one that the
// program has already is not added again. The call gets a debug handle of its own.
//   kInvalidArgument  another number of arguments, an argument that is no value of the graph, or of
//                     another type than the input: names the input, what was expected and what
//                     came; the program is not of the edge dialect, or has no such graph
//   kUnimplemented    the original program has inputs or outputs that no call can pass (tokens,
//                     custom objects, gradients)
// On error nothing changed. O(module's signature + nodes of the program and its delegates).
absl::StatusOr<NodeId> InsertDelegateCall(ExportedProgram& program, GraphId graph, NodeId before,
                                          std::shared_ptr<const LoweredBackendModule> module,
                                          std::vector<Argument> arguments,
                                          std::string name = "executorch_call_delegate");

// The program that does nothing but call the module: its inputs are the user inputs of the original
// program, its outputs what the call returns, with the names and the pytree specs that they had.
// Mutations of user inputs stay mutations. Errors as InsertDelegateCall.
absl::StatusOr<ExportedProgram> ProgramOfModule(std::shared_ptr<const LoweredBackendModule> module);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_COMPOSE_H_
