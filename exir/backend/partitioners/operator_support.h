// Composable predicates that tell which nodes a backend supports.
//
// Source: docs/lowering.md rows 37, 39.
#ifndef BELAY_EXIR_BACKEND_PARTITIONERS_OPERATOR_SUPPORT_H_
#define BELAY_EXIR_BACKEND_PARTITIONERS_OPERATOR_SUPPORT_H_

#include <functional>
#include <string>
#include <vector>

#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Returns "" if the node is supported, otherwise the reason. Thread-safe and without side
// effects.
using SupportFn = std::function<std::string(const ExportedProgram&, GraphId, NodeId)>;

// Supports operators by OpOverload::name(): "aten.add.Tensor".
SupportFn SupportOps(std::vector<std::string> names);
// Supports nodes that any of `supports` accepts; otherwise the reason of the last.
SupportFn AnySupport(std::vector<SupportFn> supports);
// Supports nodes that all of `supports` accept; otherwise the first reason.
SupportFn AllSupport(std::vector<SupportFn> supports);

// Rejections, for use in AllSupport. Names match in full, or as a substring if `substring`.
// Compared with the operator's name, with and without its dialect.
SupportFn DontPartitionOps(std::vector<std::string> op_names, bool substring = false);
// Compared with the source function of torch: "linear", or "builtin_function_or_method.linear".
SupportFn DontPartitionFunctions(std::vector<std::string> function_names, bool substring = false);
SupportFn DontPartitionNames(std::vector<std::string> node_names, bool substring = false);
// Compared with the innermost source module, by the path of its class
// ("torch.nn.modules.linear.Linear") or its own path ("layers.0.attn"). A name with a dot is
// compared with the whole path, another name with the last component.
SupportFn DontPartitionModules(std::vector<std::string> module_names, bool substring = false);

// Returns a table of name, operator, module, function and reason, one line per node (its first
// reason), in graph order; "No nodes rejected." if empty.
std::string FormatRejections(const ExportedProgram& program,
                             const std::vector<PartitionResult::Rejection>& rejections);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_OPERATOR_SUPPORT_H_
