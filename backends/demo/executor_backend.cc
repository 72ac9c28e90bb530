#include "backends/demo/executor_backend.h"

#include <utility>

#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/emit/emitter.h"
#include "exir/serialize/serializer.h"
#include "runtime/core/status_macros.h"

namespace belay::demo {

absl::StatusOr<exir::PreprocessResult> ExecutorBackend::Preprocess(
    exir::ExportedProgram program, absl::Span<const exir::CompileSpec> compile_specs) const {
  if (!compile_specs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("backend ", id(), " takes no compile specs, got ", compile_specs[0].key));
  }
  exir::PreprocessResult result;
  for (exir::NodeId node : program.top().nodes()) {
    const int64_t handle = program.top().node(node).debug_handle;
    if (handle != 0) result.debug_handle_map[handle] = {handle};
  }
  exir::MethodPrograms methods;
  methods.emplace_back("forward", std::move(program));
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(methods));
  ABSL_ASSIGN_OR_RETURN(const exir::SerializedProgram file, exir::SerializeProgram(image));
  result.processed = file.ToStorage();
  return result;
}

std::unique_ptr<exir::Partitioner> CreateExecutorPartitioner() {
  const exir::SupportFn delegates = [](const exir::ExportedProgram& program, exir::GraphId graph,
                                       exir::NodeId node) -> std::string {
    return program.graphs[graph].node(node).target == program.ops->CallDelegate()
               ? ""
               : "not a delegate call";
  };
  return std::make_unique<exir::CapabilityPartitioner>(
      exir::DelegationSpec{"ExecutorBackend", {}},
      exir::AnySupport({exir::SupportOps({"aten.add.Tensor", "aten.mm.default"}), delegates}));
}

}  // namespace belay::demo
