#include "tools/belay/method_folder.h"

#include <cstddef>
#include <filesystem>

namespace belay::tools {

MethodFolder ParseMethodFolder(const std::string& text, const std::string& method) {
  const size_t split = text.find('=');
  if (split == std::string::npos || std::filesystem::exists(text)) return {method, text};
  return {text.substr(0, split), text.substr(split + 1)};
}

}  // namespace belay::tools
