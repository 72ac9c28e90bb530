#include "conformance/lowering/case_delegation.h"

#include <string>
#include <utility>
#include <vector>

#include "backends/aot_backends.h"
#include "backends/runtime_backends.h"
#include "conformance/lowering/case_numerics.h"
#include "exir/backend/to_backend.h"
#include "exir/import/import.h"
#include "exir/pipeline.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

absl::Status Run(ChosenBackends& backends, const LoweringCase& lowering_case,
                 const exir::OpRegistry& ops, std::vector<std::string>& not_executed) {
  exir::MethodPrograms source, lowered;
  for (const auto& [name, file] : Elements(Member(lowering_case.description, "methods")).items()) {
    ABSL_ASSIGN_OR_RETURN(exir::ExportedProgram program,
                          exir::ImportFile(lowering_case.directory + "/" + Text(file), ops));
    exir::ToEdgeOptions options;
    options.decompose = exir::KeepFor(program, backends.partitioners());
    ABSL_ASSIGN_OR_RETURN(program, exir::ToEdge(std::move(program), options));
    lowered.emplace_back(name, program.Clone());
    source.emplace_back(name, std::move(program));
  }
  for (const exir::Partitioner* partitioner : backends.partitioners()) {
    exir::MethodPartitioners by_method;
    for (const auto& [name, program] : source) by_method.emplace_back(name, partitioner);
    absl::StatusOr<exir::MethodPrograms> next = exir::ToBackend(lowered, by_method, AotBackends());
    if (!next.ok()) return Annotate(next.status(), "to_backend");
    lowered = *std::move(next);
  }
  for (const auto& [name, program] : lowered) backends.Count(program);
  return Annotate(CheckNumerics(lowering_case.directory, Member(lowering_case.description, "after"),
                                source, lowered, not_executed, &RuntimeBackends()),
                  "numerics");
}

}  // namespace

std::optional<CaseOutcome> RunLoweringCaseOn(ChosenBackends& backends,
                                             const LoweringCase& lowering_case,
                                             const exir::OpRegistry& ops) {
  if (lowering_case.expected.contains("error") ||
      Member(lowering_case.description, "methods").empty()) {
    return std::nullopt;
  }
  CaseOutcome outcome;
  const absl::Status status = Run(backends, lowering_case, ops, outcome.not_executed);
  if (!status.ok()) outcome.failure = status.ToString();
  return outcome;
}

}  // namespace belay::conformance
