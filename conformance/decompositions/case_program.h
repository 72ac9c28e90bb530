// Converts conformance vectors to single-call programs.
#ifndef BELAY_CONFORMANCE_DECOMPOSITIONS_CASE_PROGRAM_H_
#define BELAY_CONFORMANCE_DECOMPOSITIONS_CASE_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/differential/call_corpus.h"
#include "conformance/ops/op_case.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"

namespace belay::conformance {

inline constexpr std::string_view kDecompositionCases = "conformance/decompositions/cases";

// Returns the names of the files in the folder, without ".json", sorted. One file per operator.
std::vector<std::string> DecompositionCaseFiles();
// Converts an operator's name to a part of a test's name.
std::string TestNameOf(std::string op);

// Returns a program of one node, the call, with the results that the case expects. kUnimplemented
// if a result is not a tensor.
absl::StatusOr<exir::ExportedProgram> ProgramOf(const exir::OpOverload& op, const SampleCall& call,
                                                const OpCase& op_case, const exir::OpRegistry& ops);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DECOMPOSITIONS_CASE_PROGRAM_H_
