// Random programs on every engine: interpreter and runtime, reference kernels and Highway kernels,
// the program as it was made and lowered.
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
#include "exir/engine/call.h"
#include "exir/op/op_registry.h"
#include "exir/testing/generator/random_program.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::conformance {

// What all programs of a process share.
struct DifferentialSetup {
  std::unique_ptr<exir::OpRegistry> ops;
  KernelRegistry reference;  // reference kernels alone
  KernelRegistry standard;   // all
  CallCorpus corpus;

  // `cases`: the folder of the conformance vectors.
  static absl::StatusOr<std::unique_ptr<DifferentialSetup>> Create(const std::string& cases);
};

// What became of one program.
struct Verdict {
  std::string problem;  // "" when all engines agree
  std::string refusal;  // kUnimplemented of the lowering
};
// The program runs on the interpreter (operators that write replaced by their functional variants
// and copy_), on the interpreter as an edge program, and lowered in the runtime. Bits must be equal,
// but for the preferred kernels against the reference kernels (each operator's tolerance, node by
// node), for what decompositions compute differently, and for the results of operators without
// specified contents.
Verdict CheckProgram(const DifferentialSetup& setup, const exir::ExportedProgram& program,
                     const exir::CallSequence& calls);

struct DifferentialOptions {
  uint64_t seed = 1;
  int programs = 250;
  bool training = false;
  // Of which operators calls are dealt: all when empty.
  std::set<std::string> only;
  int max_problems = 5;  // then it stops
  bool shrink = true;
};
struct DifferentialReport {
  int programs = 0, refused = 0, dynamic = 0, mutating = 0, control_flow = 0, calls = 0;
  std::map<std::string, int> refusals;  // message → programs
  std::set<std::string> called;         // operators of programs on which all engines agree
  std::vector<std::string> problems;    // each with its seed and the program's text
  std::string ToString() const;
};
DifferentialReport RunDifferential(const DifferentialSetup& setup,
                                   const DifferentialOptions& options);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_DIFFERENTIAL_H_
