// Finds and checks calls of lowered modules that keep state between calls. Part of the
// implementation of to_backend.h. Source: docs/lowering.md §8(a), §11.6.
#ifndef BELAY_EXIR_BACKEND_LOWERING_MODULE_STATE_H_
#define BELAY_EXIR_BACKEND_LOWERING_MODULE_STATE_H_

#include <vector>

#include "absl/status/status.h"
#include "exir/backend/lowering/partition_plan.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// A node that calls a module that keeps state (introspection.h), itself or in its subgraphs.
struct StatefulCall {
  NodeId node;
  ModuleId module;
  bool direct = false;
};
// Indexed by graph: its stateful calls in node order; empty if no module of the program keeps
// state.
using StatefulCalls = std::vector<std::vector<StatefulCall>>;
StatefulCalls FindStatefulCalls(const ExportedProgram& program);

// Checks that all calls of a stateful module are in one delegate, or that none is delegated.
// Otherwise the module would be duplicated, and each copy would have its own state.
//   kInvalidArgument  a module is called from two places: names both
absl::Status CheckStatefulCalls(const ExportedProgram& program, const StatefulCalls& calls,
                                const MethodPlan& plan);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_MODULE_STATE_H_
