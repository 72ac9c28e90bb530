// Compares the identity of two files.
#ifndef BELAY_TOOLS_BELAY_SAME_FILE_H_
#define BELAY_TOOLS_BELAY_SAME_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace belay::tools {

// Compares device and inode of existing files, through links. For files that do not exist, compares
// the normalized paths. False for an empty path.
bool IsSameFile(const std::string& a, const std::string& b);

// Returns kInvalidArgument if an output file is one of the input archives.
absl::Status CheckOutputsDifferFromArchives(const std::vector<std::string>& outputs,
                                            const std::vector<std::string>& archives);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_SAME_FILE_H_
