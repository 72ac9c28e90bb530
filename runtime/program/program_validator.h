// Converts the bytes of a program file to a Program, or returns the rule of
// runtime/schema/file_format.md that they violate.
#ifndef BELAY_RUNTIME_PROGRAM_PROGRAM_VALIDATOR_H_
#define BELAY_RUNTIME_PROGRAM_PROGRAM_VALIDATOR_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/program/program.h"
#include "runtime/program/program_parts.h"

namespace belay {

class ProgramValidator {
 public:
  // `owner` keeps `file` alive. Errors as Program::Open's.
  static absl::StatusOr<Program> Validate(std::shared_ptr<const void> owner,
                                          absl::Span<const std::byte> file,
                                          const Program::Options& options, const std::string& path);
  // Errors as Program::FromParts'.
  static absl::StatusOr<Program> Validate(ProgramParts parts, const Limits& limits);
};

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_PROGRAM_VALIDATOR_H_
