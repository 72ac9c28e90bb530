// Where Belay does something else than ExecuTorch on purpose.
//
// A difference is recognized by what a case says and expects, not by the case's name. Such a case
// is run like any other; when it comes out otherwise than expected, it passes only if what Belay
// made computes what PyTorch recorded (in the interpreter and in the runtime, state included), is
// what the difference says, and is as expected in all that the difference does not concern; or is
// the error that Belay gives instead.
#ifndef BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_
#define BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "conformance/json/json.h"

namespace belay::conformance {

// Regular expressions are searched in lines; nullptr: not asked.
struct Difference {
  std::string_view reference;  // where docs/lowering.md has it
  std::string_view reason;
  std::string_view test;        // shows what Belay does
  std::string_view cases = "";  // of this tree, separated by spaces: each of them must differ
  // What it looks like: in case.json, and in a line of what is expected (canonical_text.h). An
  // error is the line "error <stage>: <message>" followed by case.json.
  const char* case_has = nullptr;
  const char* expected_has = nullptr;
  using Lines = std::vector<std::string>;
  bool (*applies)(const Json& description, const Lines& expected) = nullptr;
  absl::StatusCode code = absl::StatusCode::kOk;  // what Belay gives: kOk for a lowered program
  // Where both are lowered programs: what may differ besides the graphs, in a line "- <what> …" or
  // "+ <what> …", where what is there is "operator", "signature", "state", "idle" (a delegate without
  // operators of its own) or "backend" (another one); and what Belay's lines have, or lack.
  const char* concerns = "^$";
  const char* actual_has = nullptr;
  const char* actual_lacks = nullptr;
  bool (*fits)(const Lines& expected, const Lines& actual) = nullptr;
};

absl::Span<const Difference> Differences();

// The row that explains why a case comes out otherwise than expected; nullptr for none, and why
// each row that applies does not is appended to `notes`. `expected` has `error`, or is a document,
// as `actual` is, which is null where lowering gave an error of this code.
const Difference* FindDifference(const Json& description, const Json& expected, const Json& actual,
                                 absl::StatusCode code, std::string& notes);

// `expected` is the object `error` of expected.json. The status must have the one code that
// docs/lowering.md §10 gives this kind of error, and its message must say what is particular about
// it and name what the expected message names: tags, nodes, keys, methods, backends, and what a
// backend itself said. Of errors of no known kind, the code is that of the class in Python, and the
// message must say in which method or backend. "" when it fits, else what was expected.
std::string CompareError(const Json& description, const Json& expected, const absl::Status& status);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_
