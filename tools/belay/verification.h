// Compares the results of a program file with those of its archive or with recorded results,
// without output: for the command and for bindings.
#ifndef BELAY_TOOLS_BELAY_VERIFICATION_H_
#define BELAY_TOOLS_BELAY_VERIFICATION_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/compare/call.h"
#include "exir/compare/compare.h"
#include "nlohmann/json.hpp"
#include "runtime/program/program.h"
#include "tools/belay/chosen_backends.h"
#include "tools/belay/command.h"
#include "tools/belay/first_difference.h"
#include "tools/belay/max_sizes.h"
#include "tools/belay/node_gaps.h"
#include "tools/belay/value_dump.h"

namespace belay::tools {

// A difference in a call.
struct Finding {
  int call = 0;
  exir::CallDifference difference;
};

// Origin of a difference, if it could be located.
struct Origin {
  std::optional<NodeDifference> node;  // introduced by lowering
  std::string reduced;                 // result of reducing it; "" if not requested
  std::optional<Finding> edge;         // introduced before lowering
  std::string unknown;                 // reason if not located; "" without a difference
};

// The result of a comparison.
struct Verification {
  int calls = 1;
  size_t num_outputs = 0;
  bool recorded = false;  // compared with files
  exir::Closeness closeness;
  // Reason for converting the archive's program to an edge program; "" if it was interpreted.
  std::string why_edge;
  std::set<std::string> decomposed;  // operators without an interpreter kernel
  std::vector<Finding> findings;     // of the first call that differs
  Origin origin;
  std::vector<exir::Deviation> deviations;  // of each output, over all calls
  std::optional<int> dumped;                // files that were written
  std::optional<DumpComparison> against;
  std::optional<std::vector<NodeGap>> gaps;  // the largest first; if requested

  // Returns whether nothing differs.
  bool equal() const {
    return findings.empty() && !(against.has_value() && against->node.has_value());
  }
};

// Compares output i of a call with `want`. Adds the deviation, and a difference as a finding, whose
// position is `prefix` followed by "output <i>".
void CompareOutput(int call, size_t i, const TensorView& want, const EValue& value,
                   std::string_view prefix, Verification& result);

// Called once the program is open: adds its companions to the limits.
using OnProgramOpened = std::function<void(const Program&)>;

// Compares `options.program` with `options.archive`, or without a program the archive lowered with
// the partitioners. Errors of importing, opening, lowering, loading and executing.
absl::StatusOr<Verification> VerifyWithArchive(const VerifyOptions& options,
                                               const MaxSizes& max_sizes,
                                               const Partitioners& partitioners,
                                               const OnProgramOpened& opened);

// Compares `options.program` with the files `options.expected`. kInvalidArgument: not one file per
// output. Errors of opening, loading, executing and reading the files.
absl::StatusOr<Verification> VerifyWithRecorded(const VerifyOptions& options,
                                                const OnProgramOpened& opened);

// Returns the report of `verify --json`.
nlohmann::json VerificationJson(const Verification& result);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_VERIFICATION_H_
