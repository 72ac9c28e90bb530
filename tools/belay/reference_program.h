// Reference results of an archive, for `verify`.
#ifndef BELAY_TOOLS_BELAY_REFERENCE_PROGRAM_H_
#define BELAY_TOOLS_BELAY_REFERENCE_PROGRAM_H_

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/compare/call.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/constant.h"
#include "exir/ir/exported_program.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/plan.h"
#include "tools/belay/call_inputs.h"

namespace belay::tools {

// Returns the inputs of the call with this number.
using InputsOfCall = std::function<absl::StatusOr<CallInputs>(int call)>;

// Returns the edge program of the archive, converted by the first call; errors of the conversion.
// Valid as long as the function.
using EdgeProgramSource = std::function<absl::StatusOr<const exir::ExportedProgram*>()>;

// Interprets one more call. Errors of the interpreter and of `inputs`.
absl::StatusOr<exir::CallOutcome> Interpret(exir::Interpreter& interpreter,
                                            const InputsOfCall& inputs, int call);

// Returns `archive` with the operators that the interpreter has no kernel for replaced by their
// decompositions (exir/decompositions), and their names in `decomposed`. Operators without a
// decomposition stay. If all operators have kernels, the program is unchanged and `decomposed`
// empty.
exir::ExportedProgram WithoutComposites(exir::ExportedProgram archive,
                                        const KernelRegistry& kernels,
                                        std::set<std::string>& decomposed);

// Adds the runtime's fast kernels to the reference kernels, except for operators that the method
// calls as kernels: only the reference kernels judge those.
absl::Status AddIndependentKernels(const MethodPlan& judged, KernelRegistry& registry);

// Returns the constants that embeddings and gathers of the top graph read rows of, in the order of
// the nodes: a call may need few of their pages. A constant with several users may occur repeatedly.
std::vector<const exir::ConstantTensor*> LookupTables(const exir::ExportedProgram& program);

// Interprets the archive's own program, so that no lowering pass affects both sides of a
// comparison. If the interpreter cannot execute it, interprets the edge program instead, from the
// first call on. Move-only.
class ReferenceProgram {
 public:
  // Uses the preferred kernel of the registry for each call. `is_random`: lowering sets the seed of
  // the program's random numbers, so that only the edge program is comparable.
  // Calls `edge` only if the archive's program cannot be interpreted; returns its errors, and
  // kUnimplemented, as Interpreter::Create, if neither program can be interpreted. The programs and
  // the kernels must outlive the result.
  static absl::StatusOr<ReferenceProgram> Create(const exir::ExportedProgram& archive,
                                                 EdgeProgramSource edge, bool is_random,
                                                 const KernelRegistry& kernels,
                                                 InputsOfCall inputs);

  // Precondition: the calls 0 to call - 1 were run, in this order. If interpreting the archive
  // fails, returns the errors of the edge program.
  absl::StatusOr<exir::CallOutcome> Run(int call);

  // Reason for interpreting the edge program; "" if the archive's program was interpreted.
  const std::string& why_edge() const { return why_edge_; }

 private:
  ReferenceProgram(EdgeProgramSource edge, const KernelRegistry& kernels, InputsOfCall inputs,
                   exir::Interpreter interpreter, std::string why_edge)
      : edge_(std::move(edge)),
        kernels_(&kernels),
        inputs_(std::move(inputs)),
        interpreter_(std::move(interpreter)),
        why_edge_(std::move(why_edge)) {}

  EdgeProgramSource edge_;
  const KernelRegistry* kernels_;
  InputsOfCall inputs_;
  exir::Interpreter interpreter_;
  std::string why_edge_;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_REFERENCE_PROGRAM_H_
