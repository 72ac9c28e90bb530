// Which nodes a backend takes, said by functions that are put together.
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

// "" when the node is taken, else why not. Thread-safe and without side effects.
using SupportFn = std::function<std::string(const ExportedProgram&, GraphId, NodeId)>;

// Operators by OpOverload::name(): "aten.add.Tensor".
SupportFn SupportOps(std::vector<std::string> names);
// What any of them takes; the reason of the last otherwise.
SupportFn AnySupport(std::vector<SupportFn> supports);
// What all of them take; the first reason otherwise.
SupportFn AllSupport(std::vector<SupportFn> supports);

// Rejections, to be combined by AllSupport. Names match in full, or, with `substring`, in part.
// What is compared is the operator's name, with its dialect or without.
SupportFn DontPartitionOps(std::vector<std::string> op_names, bool substring = false);
// The function of torch that the node comes from: "linear", or "builtin_function_or_method.linear".
SupportFn DontPartitionFunctions(std::vector<std::string> function_names, bool substring = false);
SupportFn DontPartitionNames(std::vector<std::string> node_names, bool substring = false);
// The innermost module of the source, by the path of its class ("torch.nn.modules.linear.Linear")
// or of itself ("layers.0.attn"). A name with a dot is compared with the whole path, another one
// with its last component.
SupportFn DontPartitionModules(std::vector<std::string> module_names, bool substring = false);

// A table of name, operator, module, function and reason, one line per node (the first reason of
// each), in graph order; "No nodes rejected." when there are none.
std::string FormatRejections(const ExportedProgram& program,
                             const std::vector<PartitionResult::Rejection>& rejections);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_OPERATOR_SUPPORT_H_
