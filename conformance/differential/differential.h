// Runs random programs on every engine: interpreter and runtime, reference and Highway kernels,
// original and lowered program.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_DIFFERENTIAL_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_DIFFERENTIAL_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "conformance/differential/call_corpus.h"
#include "exir/compare/call.h"
#include "exir/op_definition/op_registry.h"
#include "exir/testing/generator/random_program.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::conformance {

// State shared by all programs of a process.
struct DifferentialSetup {
  std::unique_ptr<exir::OpRegistry> ops;
  KernelRegistry reference;  // reference kernels only
  KernelRegistry standard;   // all kernels
  CallCorpus corpus;

  // `cases`: the folder of conformance vectors.
  static absl::StatusOr<std::unique_ptr<DifferentialSetup>> Create(const std::string& cases);
};

// The outcome of one program.
struct Verdict {
  std::string problem;  // "" when all engines agree
  std::string refusal;  // kUnimplemented from lowering
};
// Executes the program three ways: in the interpreter (with operators that write replaced by
// functional variants and copy_), in the interpreter as an edge program, and lowered in the
// runtime. Results must be bitwise equal, with three exceptions:
// - preferred kernels against reference kernels: each operator's tolerance, node by node;
// - results that decompositions compute differently;
// - results of operators without specified contents.
Verdict CheckProgram(const DifferentialSetup& setup, const exir::ExportedProgram& program,
                     const exir::CallSequence& calls);

struct DifferentialOptions {
  uint64_t seed = 1;
  int programs = 250;
  bool training = false;
  // Operators to generate calls of; empty: all.
  std::set<std::string> only;
  int max_problems = 5;  // stops after this many
  bool shrink = true;
};
struct DifferentialReport {
  int programs = 0, refused = 0, dynamic = 0, mutating = 0, control_flow = 0, calls = 0;
  std::map<std::string, int> refusals;  // message → number of programs
  std::set<std::string> called;         // operators of programs on which all engines agree
  std::vector<std::string> problems;    // each with its seed and the program's text form
  std::string ToString() const;
};
DifferentialReport RunDifferential(const DifferentialSetup& setup,
                                   const DifferentialOptions& options);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_DIFFERENTIAL_H_
