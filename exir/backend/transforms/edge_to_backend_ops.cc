#include "exir/backend/transforms/edge_to_backend_ops.h"

#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

constexpr std::string_view kPrimNamespace = "executorch_prim";
constexpr std::string_view kPrimOverload = "Scalar";

// Returns the backend overload for the target, or `target` if it has none.
const OpOverload* BackendOf(const OpRegistry& ops, const OpOverload* target) {
  if (target->dialect() == Dialect::kScalar) {
    // executorch_prim operators have the names of the functions.
    const absl::StatusOr<const OpOverload*> found =
        ops.LookupIn(Dialect::kBackend, kPrimNamespace, target->op(), kPrimOverload);
    // Operators with a kernel and functions have schemas; opaque operators are of another dialect.
    const bool fits =
        found.ok() && (*found)->schema()->arguments.size() == target->schema()->arguments.size();
    return fits ? *found : target;
  }
  if (target->dialect() != Dialect::kAten && target->dialect() != Dialect::kEdge) return target;
  const absl::StatusOr<const OpOverload*> found = ops.ToBackend(target);
  return found.ok() ? *found : target;
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  absl::flat_hash_map<const OpOverload*, const OpOverload*> known;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const OpOverload* target = graph.node(id).target;
      const auto [it, added] = known.emplace(target, target);
      if (added) it->second = BackendOf(*program.ops, target);
      if (it->second == target) continue;
      editor.SetTarget(id, it->second);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Pass EdgeToBackendOps() { return {"edge_to_backend_ops", Run}; }

}  // namespace belay::exir
