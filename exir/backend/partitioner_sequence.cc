#include "exir/backend/partitioner_sequence.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "exir/ir/text.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

std::vector<const OpOverload*> OpsToKeep(const PreservedOps& preserved) {
  if (preserved.filter == nullptr) return preserved.ops;
  std::vector<const OpOverload*> kept;
  for (const OpOverload* op : preserved.ops) {
    const FunctionSchema* schema = op->schema();
    if (schema == nullptr || schema->IsMutable() || op->has_trait(kAlwaysDecomposed)) continue;
    if (std::any_of(schema->returns.begin(), schema->returns.end(),
                    [](const auto& result) { return result.alias.has_value(); })) {
      continue;
    }
    kept.push_back(op);
  }
  return kept;
}

absl::Status CheckPreservedOps(const MethodPrograms& methods,
                               const MethodPartitioners& partitioners) {
  std::string problems;
  for (const auto& [name, partitioner] : partitioners) {
    for (const auto& [method, program] : methods) {
      if (method != name) continue;
      const PreservedOps preserved = partitioner->OpsToNotDecompose(program);
      absl::flat_hash_set<const OpOverload*> ops;
      for (const OpOverload* op : OpsToKeep(preserved)) ops.insert(op->aten());
      if (ops.empty()) continue;
      for (uint32_t g = 0; g < program.graphs.size(); ++g) {
        const Graph& graph = program.graphs[GraphId(g)];
        for (NodeId node : graph.nodes()) {
          const OpOverload* target = graph.node(node).target;
          if (!ops.contains(target->aten()) || target->has_trait(kQuantization)) continue;
          if (preserved.filter != nullptr && !preserved.filter(program, GraphId(g), node)) continue;
          absl::StrAppend(&problems, "\n  method '", method, "': node ", graph.node(node).name,
                          " with operator ", target->name(),
                          " was not decomposed or delegated: ", DescribeNode(graph, node));
        }
      }
    }
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("operators that were preserved for a partitioner are not delegated:", problems));
}

absl::StatusOr<MethodPrograms> ToBackendInSequence(
    const MethodPrograms& methods, absl::Span<const MethodPartitioners> rounds,
    const BackendSet& backends, const ToBackendOptions& options,
    const std::function<absl::Status(const MethodPrograms&)>& check) {
  MethodPrograms current = Clone(methods);
  for (size_t i = 0; i < rounds.size(); ++i) {
    absl::StatusOr<MethodPrograms> next = ToBackend(current, rounds[i], backends, options);
    absl::Status status = next.status();
    if (status.ok() && check != nullptr) status = check(*next);
    if (!status.ok()) {
      if (rounds.size() == 1) return status;
      return Annotate(status, absl::StrCat("round ", i));
    }
    current = *std::move(next);
  }
  for (const MethodPartitioners& round : rounds) {
    ABSL_RETURN_IF_ERROR(CheckPreservedOps(current, round));
  }
  return current;
}

}  // namespace belay::exir
