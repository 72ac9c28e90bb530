#include "backends/null/null_backend.h"

#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::null {

absl::StatusOr<exir::PreprocessResult> NullBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec> compile_specs) const {
  for (const exir::CompileSpec& spec : compile_specs) {
    return absl::InvalidArgumentError(absl::StrCat("unknown compile spec '", spec.key, "'"));
  }
  const exir::Graph& graph = program.top();
  for (exir::NodeId node : graph.nodes()) {
    // Compile the node here.
    return absl::UnimplementedError(
        absl::StrCat("the operator is not supported: ", exir::DescribeNode(graph, node)));
  }
  return exir::PreprocessResult();
}

}  // namespace belay::null
