// Runs passes in order, verifying after each change.
#ifndef BELAY_EXIR_PASS_MANAGER_PASS_MANAGER_H_
#define BELAY_EXIR_PASS_MANAGER_PASS_MANAGER_H_

#include <functional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"
#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Statistics of one pass, for reports.
struct PassReport {
  std::string name;
  double seconds = 0;
  bool changed = false;
  size_t nodes_before = 0, nodes_after = 0;  // of all graphs
};

struct PassManagerOptions {
  // Compares the text form before and after each pass with the pass's return value. Costs two
  // prints per pass; on in tests and debug builds.
  bool check_changed = false;
  // Called after each pass with the current program (--dump-after, progress).
  std::function<void(const PassReport&, const ExportedProgram&)> after_pass;
};

// Runs `passes` on the program and returns the result. Verifies the program after the first pass and
// after each one that changes it.
//   errors of a pass, annotated with its name
//   kInternal  the program does not verify after a pass (Verify's message), or check_changed found
//              a wrong return value
absl::StatusOr<ExportedProgram> RunPasses(ExportedProgram program, absl::Span<const Pass> passes,
                                          const PassManagerOptions& options = {},
                                          std::vector<PassReport>* reports = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASS_MANAGER_PASS_MANAGER_H_
