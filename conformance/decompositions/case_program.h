// Conformance vectors as programs of one call.
#ifndef BELAY_CONFORMANCE_DECOMPOSITIONS_CASE_PROGRAM_H_
#define BELAY_CONFORMANCE_DECOMPOSITIONS_CASE_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/differential/call_corpus.h"
#include "conformance/ops/op_case.h"
#include "exir/ir/exported_program.h"
#include "exir/op/op_registry.h"

namespace belay::conformance {

inline constexpr std::string_view kDecompositionCases = "conformance/decompositions/cases";

// The names of the files in the folder, without ".json" and sorted: one per operator.
std::vector<std::string> DecompositionCaseFiles();
// A name of an operator as part of the name of a test.
std::string TestNameOf(std::string op);

// The program of one node, the call, with the results that the case expects. kUnimplemented for
// results that are no tensors.
absl::StatusOr<exir::ExportedProgram> ProgramOf(const exir::OpOverload& op, const SampleCall& call,
                                                const OpCase& op_case, const exir::OpRegistry& ops);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DECOMPOSITIONS_CASE_PROGRAM_H_
