#include "tools/belay/printing.h"

#include <algorithm>

#include "runtime/core/printable.h"

namespace belay::tools {

std::string ForTerminal(std::string_view text) {
  constexpr size_t kPiece = 16 << 10;  // of which Printable leaves nothing out
  std::string shown;
  for (; !text.empty(); text.remove_prefix(std::min(kPiece, text.size()))) {
    shown += Printable(text.substr(0, kPiece));
  }
  return shown;
}

std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : Printable(text)) {
    if (c == '\n') {
      line += "\\x0a";
    } else if (c == '\t') {
      line += "\\x09";
    } else {
      line.push_back(c);
    }
  }
  return line;
}

std::string JsonText(const nlohmann::json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace belay::tools
