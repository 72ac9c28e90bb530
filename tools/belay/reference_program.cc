#include "tools/belay/reference_program.h"

#include "absl/strings/str_cat.h"
#include "exir/passes/seed_random_ops.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::tools {
namespace {

absl::StatusOr<exir::Interpreter> CreateInterpreter(const exir::ExportedProgram& program,
                                                    const KernelRegistry& kernels) {
  absl::StatusOr<exir::Interpreter> interpreter = exir::Interpreter::Create(program, kernels);
  if (!interpreter.ok()) return Annotate(interpreter.status(), "interpreter");
  return interpreter;
}

}  // namespace

absl::StatusOr<exir::CallOutcome> Interpret(exir::Interpreter& interpreter,
                                            const InputsOfCall& inputs, int call) {
  ABSL_ASSIGN_OR_RETURN(const CallInputs given, inputs(call));
  exir::CallOutcome done = exir::RunCall(interpreter, given.values);
  ABSL_RETURN_IF_ERROR(Annotate(done.status, "interpreter"));
  return done;
}

absl::StatusOr<ReferenceProgram> ReferenceProgram::Create(const exir::ExportedProgram& archive,
                                                          const exir::ExportedProgram& edge,
                                                          const KernelRegistry& kernels,
                                                          InputsOfCall inputs) {
  absl::StatusOr<exir::Interpreter> interpreter =
      edge.state_dict.contains(std::string(exir::kRandomState))
          ? absl::UnimplementedError("it asks for random numbers, which lowering seeds")
          : CreateInterpreter(archive, kernels);
  std::string why_edge;
  if (!interpreter.ok()) {
    why_edge = std::string(FromAbsl(interpreter.status().message()));
    interpreter = CreateInterpreter(edge, kernels);
    if (!interpreter.ok()) return interpreter.status();
  }
  return ReferenceProgram(edge, kernels, std::move(inputs), *std::move(interpreter),
                          std::move(why_edge));
}

absl::StatusOr<exir::CallOutcome> ReferenceProgram::Run(int call) {
  absl::StatusOr<exir::CallOutcome> done = Interpret(interpreter_, inputs_, call);
  if (done.ok() || !why_edge_.empty()) return done;
  why_edge_ = std::string(FromAbsl(done.status().message()));
  ABSL_ASSIGN_OR_RETURN(interpreter_, CreateInterpreter(*edge_, *kernels_));
  for (int earlier = 0; earlier < call; ++earlier) {
    ABSL_RETURN_IF_ERROR(Interpret(interpreter_, inputs_, earlier).status());
  }
  return Interpret(interpreter_, inputs_, call);
}

}  // namespace belay::tools
