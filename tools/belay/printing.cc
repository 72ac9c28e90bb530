#include "tools/belay/printing.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "absl/strings/str_format.h"
#include "runtime/core/printable.h"

namespace belay::tools {

std::string ForTerminal(std::string_view text) {
  constexpr size_t kPiece = 16 << 10;  // Printable does not truncate pieces of this size
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

std::string WithUnit(double number, std::string_view unit) {
  constexpr std::string_view kSteps[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t step = 0;
  // Numbers that would be rounded to 1000.
  for (; number >= 999.5 && step + 1 < std::size(kSteps); ++step) number /= 1000;
  const int digits = step == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f %s%s", digits, number, std::string(kSteps[step]), std::string(unit));
}

std::string Duration(double seconds) {
  if (seconds >= 1) return absl::StrFormat("%.2f s", seconds);
  return seconds >= 1e-3 ? absl::StrFormat("%.1f ms", 1e3 * seconds)
                         : absl::StrFormat("%.0f µs", 1e6 * seconds);
}

std::string Bold(const std::string& text) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain = (no_color != nullptr && *no_color != 0) || isatty(STDOUT_FILENO) == 0;
  return plain ? text : "\x1b[1m" + text + "\x1b[0m";
}

namespace {

std::string OnOneLine(const nlohmann::json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

void AppendJson(const nlohmann::json& json, const std::string& line, std::string& text) {
  const auto nested = [](const nlohmann::json& part) { return part.is_structured(); };
  if (std::none_of(json.begin(), json.end(), nested)) {
    text += OnOneLine(json);
    return;
  }
  const std::string inner = line + " ";
  text += json.is_object() ? "{" : "[";
  for (auto it = json.begin(); it != json.end(); ++it) {
    text += it == json.begin() ? inner : "," + inner;
    if (json.is_object()) text += OnOneLine(it.key()) + ": ";
    AppendJson(*it, inner, text);
  }
  text += line + (json.is_object() ? "}" : "]");
}

}  // namespace

std::string JsonText(const nlohmann::json& json) {
  std::string text;
  AppendJson(json, "\n", text);
  return text + "\n";
}

}  // namespace belay::tools
