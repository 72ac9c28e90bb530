// The method that `verify` looks at.
#ifndef BELAY_TOOLS_BELAY_VERIFIED_METHOD_H_
#define BELAY_TOOLS_BELAY_VERIFIED_METHOD_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"
#include "tools/belay/command.h"
#include "tools/belay/session.h"

namespace belay::tools {

// The method of the program file, or, where `options` name none, of `program` lowered in memory
// with the partitioners. Errors are those of opening, of lowering and of loading, and
//   kInvalidArgument  the file was not made of the program: other inputs. Says so, and which
absl::StatusOr<std::unique_ptr<Session>> OpenVerifiedMethod(
    const VerifyOptions& options, const exir::ExportedProgram& program,
    const std::vector<const exir::Partitioner*>& partitioners);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_VERIFIED_METHOD_H_
