// Whether two paths lead to one file.
#ifndef BELAY_TOOLS_BELAY_SAME_FILE_H_
#define BELAY_TOOLS_BELAY_SAME_FILE_H_

#include <string>

namespace belay::tools {

// Compares device and inode of files that are there, whatever leads to them; of files that are not
// there yet, the paths without dots and links. False for an empty path.
bool IsSameFile(const std::string& a, const std::string& b);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_SAME_FILE_H_
