// Opens the method that `verify` checks.
#ifndef BELAY_TOOLS_BELAY_VERIFIED_METHOD_H_
#define BELAY_TOOLS_BELAY_VERIFIED_METHOD_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"
#include "tools/belay/command.h"
#include "tools/belay/max_sizes.h"
#include "tools/belay/session.h"

namespace belay::tools {

// Opens the method of the program file. If `options` name no file, lowers `program` in memory with
// the partitioners and `max_sizes`. Errors of opening, lowering and loading, and
//   kInvalidArgument  the file was not created from the program: its inputs differ. Names them
absl::StatusOr<std::unique_ptr<Session>> OpenVerifiedMethod(
    const VerifyOptions& options, const MaxSizes& max_sizes, const exir::ExportedProgram& program,
    const std::vector<const exir::Partitioner*>& partitioners);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_VERIFIED_METHOD_H_
