#include "tools/belay/verified_method.h"

#include <utility>

#include "backends/aot_backends.h"
#include "exir/engine/call.h"
#include "exir/pipeline.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/program.h"

namespace belay::tools {

absl::StatusOr<std::unique_ptr<Session>> OpenVerifiedMethod(
    const VerifyOptions& options, const exir::ExportedProgram& program,
    const std::vector<const exir::Partitioner*>& partitioners) {
  if (!options.program.empty()) {
    return OpenSession(options.program, options.method, options.engine, /*threads=*/1, {},
                       {options.limits.ForPrograms(), options.data});
  }
  auto session = std::make_unique<Session>();
  ABSL_RETURN_IF_ERROR(AddEngine(options.engine, session->kernels));
  exir::MethodPrograms methods;
  methods.emplace_back(options.method, program.Clone());
  exir::PipelineOptions pipeline;
  pipeline.limits = options.limits.ForLowering();
  pipeline.partitioners.all = partitioners;
  pipeline.backends = &AotBackends();
  if (options.max_size > 0) pipeline.unbounded_size = options.max_size;
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        exir::LowerPrograms(std::move(methods), pipeline));
  ABSL_ASSIGN_OR_RETURN(Program opened, exir::OpenImage(image));
  session->program = std::make_unique<Program>(std::move(opened));
  ABSL_ASSIGN_OR_RETURN(session->method,
                        LoadMethod(*session->program, options.method, session->kernels));
  return session;
}

}  // namespace belay::tools
