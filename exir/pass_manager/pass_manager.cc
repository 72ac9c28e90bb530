#include "exir/pass_manager/pass_manager.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "runtime/core/annotate.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

size_t CountNodes(const ExportedProgram& program) {
  size_t count = 0;
  for (const Graph& graph : program.graphs) count += graph.num_nodes();
  return count;
}

}  // namespace

absl::StatusOr<ExportedProgram> RunPasses(ExportedProgram program, absl::Span<const Pass> passes,
                                          const PassManagerOptions& options,
                                          std::vector<PassReport>* reports) {
  bool verified = false;  // since the last change
  for (const Pass& pass : passes) {
    PassReport report{.name = pass.name};
    report.nodes_before = CountNodes(program);
    const std::string before = options.check_changed ? PrintProgram(program) : "";
    const absl::Time start = absl::Now();
    const absl::StatusOr<bool> changed = pass.run(program);
    // Also detects nodes that a pass created without checking the budget.
    absl::Status status = changed.ok() ? CheckBudget() : changed.status();
    if (!status.ok()) return Annotate(status, absl::StrCat("pass ", pass.name));
    report.seconds = absl::ToDoubleSeconds(absl::Now() - start);
    report.changed = *changed;
    report.nodes_after = CountNodes(program);
    verified = verified && !*changed;
    if (const absl::Status valid = verified ? absl::OkStatus() : Verify(program); !valid.ok()) {
      return absl::InternalError(absl::StrCat(
          "pass ", pass.name, " left a program that does not verify:\n", valid.message()));
    }
    verified = true;
    if (options.check_changed && (PrintProgram(program) != before) != *changed) {
      return absl::InternalError(absl::StrCat("pass ", pass.name, " said that it changed ",
                                              *changed ? "something" : "nothing",
                                              ", but the text form shows the opposite"));
    }
    if (options.after_pass) options.after_pass(report, program);
    if (reports != nullptr) reports->push_back(std::move(report));
  }
  return program;
}

}  // namespace belay::exir
