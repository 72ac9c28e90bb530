// Formats untrusted strings and numbers for terminals, messages and JSON.
#ifndef BELAY_TOOLS_BELAY_PRINTING_H_
#define BELAY_TOOLS_BELAY_PRINTING_H_

#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace belay::tools {

// Escapes the control characters of `text` except line feeds and tabs as \xHH
// (runtime/core/printable.h), at any length: for messages and multi-line programs.
std::string ForTerminal(std::string_view text);

// Also escapes line feeds and tabs, and truncates after 16 KiB: for a name in a line of output.
std::string OneLine(std::string_view text);

// Formats three digits and a unit in steps of 1000: "1.23 MB", "17 B", "0 FLOP".
std::string WithUnit(double number, std::string_view unit);

// Formats seconds: "1.23 s", "45.6 ms".
std::string Duration(double seconds);

// Returns `text` in bold if standard output is a terminal and NO_COLOR is empty or unset
// (no-color.org), otherwise unchanged.
std::string Bold(const std::string& text);

// Formats JSON as --json prints it, with a final line feed. A list or object of numbers and strings
// is on one line; others have a line per element, indented by one space. Bytes that are not UTF-8
// (in paths and archive names) become U+FFFD.
std::string JsonText(const nlohmann::json& json);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PRINTING_H_
