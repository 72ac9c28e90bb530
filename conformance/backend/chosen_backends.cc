#include "conformance/backend/chosen_backends.h"

#include <utility>

#include "backends/aot_backends.h"
#include "exir/backend/introspection.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {

absl::StatusOr<ChosenBackends> ChosenBackends::Create(const std::vector<std::string>& names) {
  ChosenBackends chosen;
  for (const std::string& name : names) {
    ABSL_ASSIGN_OR_RETURN(chosen.owned_.emplace_back(), CreatePartitioner(name, {}));
    chosen.partitioners_.push_back(chosen.owned_.back().get());
    const std::vector<std::string_view> ids = AotBackendIds(name);
    chosen.chosen_.push_back({name, {ids.begin(), ids.end()}});
  }
  return chosen;
}

void ChosenBackends::AddTo(exir::PipelineOptions& options) {
  options.backends = &AotBackends();
  options.partitioners.all = partitioners_;
  if (partitioners_.empty()) return;
  options.passes.push_back({"count_delegated", [this](exir::ExportedProgram& program) {
                              Count(program);
                              return absl::StatusOr<bool>(false);
                            }});
}

void ChosenBackends::Count(const exir::ExportedProgram& lowered) {
  for (const exir::DelegateCall& call : exir::DelegateCalls(lowered)) {
    for (const exir::Graph& graph : call.module->original.graphs) {
      nodes_[call.module->backend_id] += graph.num_nodes();
    }
  }
}

bool ChosenBackends::Report(std::ostream& out, bool allow_undelegated) const {
  bool enough = true;
  for (const Chosen& chosen : chosen_) {
    size_t nodes = 0;
    for (const std::string& id : chosen.ids) {
      const auto counted = nodes_.find(id);
      if (counted != nodes_.end()) nodes += counted->second;
    }
    const bool too_few = nodes == 0 && chosen.name != "null" && !allow_undelegated;
    out << (too_few ? "FAIL " : "") << "backend " << chosen.name << ": accepted " << nodes
        << " nodes" << (too_few ? "; use --allow_undelegated to permit this" : "") << "\n";
    enough &= !too_few;
  }
  return enough;
}

}  // namespace belay::conformance
