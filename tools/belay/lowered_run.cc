#include "tools/belay/lowered_run.h"

#include <utility>

#include "exir/interpreter/interpreter.h"
#include "exir/pipeline.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/method.h"
#include "runtime/program/program.h"

namespace belay::tools {

absl::StatusOr<BothOutcomes> RunBoth(const exir::ExportedProgram& program,
                                     absl::Span<const EValue> inputs, const LoweringSetup& setup) {
  ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter,
                        exir::Interpreter::Create(program, *setup.reference));
  BothOutcomes both{.expected = {}, .got = {}, .lowered = exir::ExportedProgram(nullptr)};
  both.expected = exir::RunCall(interpreter, inputs);
  ABSL_RETURN_IF_ERROR(both.expected.status);

  exir::MethodPrograms methods;
  methods.emplace_back("forward", program.Clone());
  exir::PipelineOptions pipeline;
  pipeline.partitioners.all = setup.partitioners;
  pipeline.backends = setup.aot;
  pipeline.unbounded_size = setup.max_sizes.unbounded;
  for (const auto& [symbol, most] : setup.max_sizes.by_symbol) {
    if (program.ranges.contains(symbol)) pipeline.size_bounds[symbol] = most;
  }
  pipeline.passes = {{"keep_lowered", [&](exir::ExportedProgram& lowered) -> absl::StatusOr<bool> {
                        both.lowered = lowered.Clone();
                        return false;
                      }}};
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        exir::LowerPrograms(std::move(methods), pipeline));
  ABSL_ASSIGN_OR_RETURN(const Program file, exir::OpenImage(image));
  ABSL_ASSIGN_OR_RETURN(Method method,
                        Method::Load(file, "forward", *setup.kernels, *setup.runtime));
  both.got = exir::RunCall(method, inputs);
  ABSL_RETURN_IF_ERROR(both.got.status);
  if (both.expected.outputs.size() != both.got.outputs.size()) {
    return absl::InternalError("lowering dropped outputs of the program");
  }
  return both;
}

}  // namespace belay::tools
