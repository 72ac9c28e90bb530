// What an archive means, for `verify`.
#ifndef BELAY_TOOLS_BELAY_REFERENCE_PROGRAM_H_
#define BELAY_TOOLS_BELAY_REFERENCE_PROGRAM_H_

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "exir/engine/call.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/exported_program.h"
#include "runtime/kernel/kernel_registry.h"
#include "tools/belay/call_inputs.h"

namespace belay::tools {

// The inputs of the call with this number.
using InputsOfCall = std::function<absl::StatusOr<CallInputs>(int call)>;

// One more call. The error is the interpreter's, or that of making the inputs.
absl::StatusOr<exir::CallOutcome> Interpret(exir::Interpreter& interpreter,
                                            const InputsOfCall& inputs, int call);

// `archive` with those operators replaced by their decompositions (exir/decompositions) that the
// interpreter has no kernel for, and the names of these in `decomposed`; unchanged, and none, where
// all can be executed. What can't be replaced stays.
exir::ExportedProgram WithoutComposites(exir::ExportedProgram archive,
                                        const KernelRegistry& kernels,
                                        std::set<std::string>& decomposed);

// Interprets the program as the archive has it, so that nothing that lowering does stands on both
// sides of a comparison. Where the interpreter does not execute that one, the edge program made of
// it stands for it, from the first call on. Move-only.
class ReferenceProgram {
 public:
  // kUnimplemented, as Interpreter::Create, where neither program can be interpreted. The programs
  // and the kernels must outlive the result.
  static absl::StatusOr<ReferenceProgram> Create(const exir::ExportedProgram& archive,
                                                 const exir::ExportedProgram& edge,
                                                 const KernelRegistry& kernels,
                                                 InputsOfCall inputs);

  // Precondition: the calls 0 to call - 1 were run, in this order. What interpreting the edge
  // program returns, when that of the archive fails.
  absl::StatusOr<exir::CallOutcome> Run(int call);

  // Why the edge program was interpreted; "" when the archive's was.
  const std::string& why_edge() const { return why_edge_; }

 private:
  ReferenceProgram(const exir::ExportedProgram& edge, const KernelRegistry& kernels,
                   InputsOfCall inputs, exir::Interpreter interpreter, std::string why_edge)
      : edge_(&edge),
        kernels_(&kernels),
        inputs_(std::move(inputs)),
        interpreter_(std::move(interpreter)),
        why_edge_(std::move(why_edge)) {}

  const exir::ExportedProgram* edge_;
  const KernelRegistry* kernels_;
  InputsOfCall inputs_;
  exir::Interpreter interpreter_;
  std::string why_edge_;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_REFERENCE_PROGRAM_H_
