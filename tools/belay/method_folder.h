// A folder with the values of a call, and the method that is called.
#ifndef BELAY_TOOLS_BELAY_METHOD_FOLDER_H_
#define BELAY_TOOLS_BELAY_METHOD_FOLDER_H_

#include <string>

namespace belay::tools {

struct MethodFolder {
  std::string method;
  std::string folder;  // with input_<i>.npy
};

// Parses FOLDER or METHOD=FOLDER; the first if a folder has the whole name. `method` is the default.
MethodFolder ParseMethodFolder(const std::string& text, const std::string& method);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_METHOD_FOLDER_H_
