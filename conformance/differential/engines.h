// Runs a program on the interpreter and, lowered, in the runtime; and compares what they give.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_ENGINES_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_ENGINES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "conformance/differential/call_corpus.h"
#include "exir/interpreter/interpreter.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/exported_program.h"
#include "runtime/kernel/kernel_registry.h"
#include "runtime/program/program.h"

namespace belay::conformance {

// What one call left behind. Everything is a copy.
struct RunOutcome {
  absl::Status status;
  std::vector<exir::OwnedValue> outputs;
  std::vector<exir::OwnedValue> inputs;  // after the call
  absl::btree_map<std::string, exir::OwnedValue> state;
};

using Runs = std::vector<std::vector<SampleTensor>>;  // the user inputs of each call

// Calls the program once for each of `runs`, on the same state, until one fails.
//   what Interpreter::Create returns
absl::StatusOr<std::vector<RunOutcome>> Interpret(const exir::ExportedProgram& program,
                                                  const KernelRegistry& kernels,
                                                  const exir::InterpreterOptions& options,
                                                  const Runs& runs);

// Interprets with the kernels that the runtime prefers, and compares every result of every node of
// the top graph with that of the reference kernel on the same arguments, within the operator's
// tolerance (OpDef::tolerance, scaled to the dtype).
//   kFailedPrecondition  names the first node that differs, with the element
absl::StatusOr<std::vector<RunOutcome>> InterpretAndCheckKernels(
    const exir::ExportedProgram& program, const KernelRegistry& kernels,
    const KernelRegistry& reference, const Runs& runs);

// The program as a file, opened. What emission, serialization and opening return.
absl::StatusOr<Program> LowerEdgeProgram(const exir::ExportedProgram& edge);

absl::StatusOr<std::vector<RunOutcome>> Execute(const Program& program,
                                                const KernelRegistry& kernels, const Runs& runs);

struct Closeness {
  double rtol = 0;
  double atol = 0;
  // Equal bits (but that a NaN equals any NaN); otherwise zeros of both signs are equal, and a
  // number is close to another.
  bool bits = true;
  // Where one is infinite or NaN, the other may be anything.
  bool finite_only = false;
};
// "" or the first difference, with the call and the place. Outputs that are `unspecified` need the
// same type only. Two calls that failed are equal.
std::string FirstDifference(absl::Span<const RunOutcome> want, absl::Span<const RunOutcome> got,
                            const std::vector<bool>& unspecified, Closeness closeness);
// "" or what differs.
std::string OwnedValueDifference(const exir::OwnedValue& want, const exir::OwnedValue& got,
                                 Closeness closeness);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_ENGINES_H_
