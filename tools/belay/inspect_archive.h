// `belay inspect` of an archive.
#ifndef BELAY_TOOLS_BELAY_INSPECT_ARCHIVE_H_
#define BELAY_TOOLS_BELAY_INSPECT_ARCHIVE_H_

#include "absl/status/status.h"
#include "tools/belay/command.h"

namespace belay::tools {

// Prints to standard output: every model of the archive, with what its header says and, where it
// can be imported, its program. Where one can't be imported, everything is printed nonetheless and
// the first model's error is the result. Besides, whatever InspectArchiveFile returns, and with
// --verify kDataLoss for an entry that is damaged. The message names the path once.
absl::Status InspectArchive(const InspectOptions& options);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_INSPECT_ARCHIVE_H_
