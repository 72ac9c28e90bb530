// Intended differences between Belay and ExecuTorch.
//
// A difference is recognized by what a case describes and expects, not by the case's name. Such a
// case runs like any other. If its outcome is not the expected one, it passes in one of two cases.
// Either Belay's program computes what PyTorch recorded (in the interpreter and in the runtime,
// state included), matches the difference's row, and is as expected in everything the difference
// does not concern; or lowering returns the error of the row.
#ifndef BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_
#define BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "conformance/json/json.h"

namespace belay::conformance {

// Regular expressions are searched in lines; nullptr: no condition.
struct Difference {
  std::string_view reference;  // section of docs/lowering.md
  std::string_view reason;
  std::string_view test;        // shows Belay's behavior
  std::string_view cases = "";  // of this tree, separated by spaces; each of them must differ
  // Conditions on case.json and on a line of the expected document (canonical_text.h). An error is
  // the line "error <stage>: <message>" followed by case.json.
  const char* case_has = nullptr;
  const char* expected_has = nullptr;
  using Lines = std::vector<std::string>;
  bool (*applies)(const Json& description, const Lines& expected) = nullptr;
  absl::StatusCode code = absl::StatusCode::kOk;  // Belay's outcome: kOk for a lowered program
  // If both are lowered programs: what may differ in addition to the graphs, in a line "- <what> …"
  // or "+ <what> …". <what> is "operator", "signature", "state", "idle" (a delegate without
  // operators of its own) or "backend" (another one). The next two fields: what Belay's lines must
  // contain, or must not.
  const char* concerns = "^$";
  const char* actual_has = nullptr;
  const char* actual_lacks = nullptr;
  bool (*fits)(const Lines& expected, const Lines& actual) = nullptr;
};

absl::Span<const Difference> Differences();

// Returns the row that explains why the outcome of a case is not the expected one; nullptr if none.
// Appends to `notes` why each applicable row does not match. `expected` has `error` or is a
// document. `actual` is a document, or null if lowering failed with `code`.
const Difference* FindDifference(const Json& description, const Json& expected, const Json& actual,
                                 absl::StatusCode code, std::string& notes);

// Compares a status with `expected`, the object `error` of expected.json. The status must have the
// code that docs/lowering.md §10 gives for this kind of error. Its message must state the specific
// cause and name what the expected message names: tags, nodes, keys, methods, backends, and a
// backend's own message. For an unknown kind of error, the code is that of the Python class, and
// the message must name the method or backend. Returns "" if it matches, else the expectation.
std::string CompareError(const Json& description, const Json& expected, const absl::Status& status);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_DIFFERENCES_H_
