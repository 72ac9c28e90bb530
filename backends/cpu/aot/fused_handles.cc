#include "backends/cpu/aot/fused_handles.h"

#include "exir/backend/delegate_mapping_builder.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {

void FusedHandles::Fuse(exir::GraphEditor& editor, exir::NodeId into, exir::NodeId from) {
  const int64_t erased = editor.graph().node(from).debug_handle;
  if (erased == 0) return;
  if (editor.graph().node(into).debug_handle == 0) editor.SetDebugHandle(into, erased);
  const int64_t handle = editor.graph().node(into).debug_handle;
  if (handle == erased) return;
  // Includes the handles that were fused into the erased node.
  std::vector<int64_t> added;
  if (const auto it = fused_.find(erased); it != fused_.end()) added = it->second;
  added.push_back(erased);
  std::vector<int64_t>& all = fused_[handle];
  all.insert(all.end(), added.begin(), added.end());
}

absl::StatusOr<exir::DebugHandleMap> FusedHandles::MapOf(
    const exir::ExportedProgram& program) const {
  exir::DelegateMappingBuilder builder;
  for (const exir::Graph& graph : program.graphs) {
    for (exir::NodeId id : graph.nodes()) {
      const int64_t handle = graph.node(id).debug_handle;
      if (handle == 0 || builder.mapping().contains(handle)) continue;
      std::vector<int64_t> handles = {handle};
      if (const auto it = fused_.find(handle); it != fused_.end()) {
        handles.insert(handles.end(), it->second.begin(), it->second.end());
      }
      ABSL_RETURN_IF_ERROR(builder.InsertHandles(handles, handle).status());
    }
  }
  return builder.mapping();
}

}  // namespace belay::cpu
