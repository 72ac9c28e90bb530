// Calls of lowered modules that remember something from one call to the next. Part of the
// implementation of to_backend.h. Source: docs/lowering.md §8(a), §11.6.
#ifndef BELAY_EXIR_BACKEND_LOWERING_MODULE_STATE_H_
#define BELAY_EXIR_BACKEND_LOWERING_MODULE_STATE_H_

#include <vector>

#include "absl/status/status.h"
#include "exir/backend/lowering/partition_plan.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// A node that calls a module that keeps state (introspection.h), itself or in its bodies.
struct StatefulCall {
  NodeId node;
  ModuleId module;
  bool direct = false;
};
// By graph: its calls in order of the nodes; empty when no module of the program keeps state.
using StatefulCalls = std::vector<std::vector<StatefulCall>>;
StatefulCalls FindStatefulCalls(const ExportedProgram& program);

// All calls of a module with state go to one delegate, or all of them stay: a module whose calls
// come from two places would be two modules, each with a state of its own.
//   kInvalidArgument  a module's calls are in two places: names both
absl::Status CheckStatefulCalls(const ExportedProgram& program, const StatefulCalls& calls,
                                const MethodPlan& plan);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_MODULE_STATE_H_
