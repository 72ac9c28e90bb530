// `belay inspect` of an archive.
#ifndef BELAY_TOOLS_BELAY_INSPECT_ARCHIVE_H_
#define BELAY_TOOLS_BELAY_INSPECT_ARCHIVE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/belay/command.h"

namespace belay::tools {

// Returns the report of `inspect --json`. A model that can't be imported has the message "error".
// Errors of InspectArchiveFile.
absl::StatusOr<nlohmann::json> ArchiveJson(const std::string& path);

// Prints every model of the archive to standard output: its header and, if it can be imported, its
// program. If a model can't be imported, the others are still printed and the first model's error
// is returned. Also returns errors of InspectArchiveFile and, with --verify, kDataLoss for a
// damaged entry. The message names the path once.
absl::Status InspectArchive(const InspectOptions& options);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_INSPECT_ARCHIVE_H_
