// Where Belay does something else than ExecuTorch on purpose.
//
// A difference is recognised in a case's description and expectation, not by the case's name. Such
// a case is run like any other; when it comes out otherwise than expected, it passes only if what
// came computes what PyTorch recorded (in the interpreter and in the runtime, state included), is
// as expected in all that the difference does not concern (case_besides.h), and is what Belay makes
// of such a case on purpose; or is the error that Belay gives instead.
#ifndef BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_
#define BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "conformance/lowering/case_besides.h"
#include "conformance/lowering/json_value.h"

namespace belay::conformance {

struct Difference {
  // The weak point of docs/lowering.md that is repaired.
  std::string_view reference;
  std::string_view reason;
  // The test that shows what Belay does.
  std::string_view test;
  // The cases of this tree in which it shows, separated by spaces: each of them must differ.
  std::string_view cases;
  // `expected` lacks single_program_entry.
  bool (*applies)(const Json& description, const Json& expected);
  // What Belay gives: kOk for a lowered program.
  absl::StatusCode code = absl::StatusCode::kOk;
  // Where both are lowered programs: what may differ, and whether what came (as
  // CaseComparison::document() has it) is what `reason` says; nullptr: it may be anything else.
  Concerns concerns = {};
  bool (*fits)(const Json& expected, const Json& came) = nullptr;
};

absl::Span<const Difference> Differences();

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_
