// Compares two program files part by part.
#ifndef BELAY_TOOLS_BELAY_PROGRAM_DIFF_H_
#define BELAY_TOOLS_BELAY_PROGRAM_DIFF_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "runtime/program/program.h"

namespace belay::tools {

// Facts about one part of a program by name: numbers and strings.
struct ProgramPart {
  std::string name;  // "file", "method 'forward'", "method 'forward', delegate 0"
  std::map<std::string, nlohmann::json> facts;
};

// Describes a program in parts:
//   file           format, producer, bytes, bytes by owner, digest of the debug information
//   constants      how many constants have a type and content (the first 16 digits of their SHA-256)
//   named data     type and content by key
//   each method    inputs, outputs, state, memory, instructions, calls by operator, delegates; then
//                  its delegates that contain a program, with the same facts
// Reads all bytes. kResourceExhausted: not enough memory for the description; errors of opening a
// delegate's program.
absl::StatusOr<std::vector<ProgramPart>> DescribeParts(const Program& program);

// A fact that differs. null: the program does not have it.
struct PartDifference {
  std::string name;
  nlohmann::json before, after;
};
struct PartDiff {
  std::string name;
  bool only_before = false, only_after = false;  // then without differences
  std::vector<PartDifference> differences = {};
};
// Returns the parts that differ, in the order of `before`, followed by those only in `after`.
std::vector<PartDiff> DiffParts(const std::vector<ProgramPart>& before,
                                const std::vector<ProgramPart>& after);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRAM_DIFF_H_
