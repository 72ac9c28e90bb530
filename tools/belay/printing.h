// Texts for people and for machines, made of what files say.
#ifndef BELAY_TOOLS_BELAY_PRINTING_H_
#define BELAY_TOOLS_BELAY_PRINTING_H_

#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace belay::tools {

// `text`, of any length, with its control characters but for line feeds and tabs as \xHH
// (runtime/core/printable.h): for messages and programs of several lines.
std::string ForTerminal(std::string_view text);

// A name in a line of output: line feeds and tabs are \xHH as well, and what is beyond 16 KiB is
// cut off.
std::string OneLine(std::string_view text);

// Three digits and a unit in steps of 1000: "1.23 MB", "17 B", "0 FLOP".
std::string WithUnit(double number, std::string_view unit);

// The same for seconds: "1.23 s", "45.6 ms".
std::string Duration(double seconds);

// The text in bold where standard output is a terminal and the variable NO_COLOR is empty or not set
// (no-color.org), else as it is.
std::string Bold(const std::string& text);

// What --json prints and reports hold, with a line feed at the end. A list or object of numbers and
// texts stands on one line, others have a line for each part, indented by one space. Bytes that are not UTF-8
// (paths may have such, and names in archives) are U+FFFD.
std::string JsonText(const nlohmann::json& json);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PRINTING_H_
