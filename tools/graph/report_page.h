// The page of `belay lower --html` and `belay profile --html`: one file that needs no other.
#ifndef BELAY_TOOLS_GRAPH_REPORT_PAGE_H_
#define BELAY_TOOLS_GRAPH_REPORT_PAGE_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tools/graph/drawn_program.h"

namespace belay::tools {

// What the page draws of a program: "colors" by backend, and "methods", a list of {"name", "graphs",
// "delegates", "constants"} with the fields of drawn_program.h; a field that is empty is left out.
// Edges are [node, output, argument], results [name, type].
nlohmann::json DrawnProgramJson(const DrawnProgram& program);

// page/page.html with its style and script, and `data` in it: DrawnProgramJson, and
//   "title", "subtitle"  texts
//   "memory" of methods  MemoryPicture, where it is known
//   "report"             of `lower --report`, or null
//   "profile"            of `profile --json`, or null
// Whatever the texts hold, the data end where they should: all but ASCII, and what HTML might take for
// markup, is escaped. Bytes that are not UTF-8 are U+FFFD.
std::string ReportPage(const nlohmann::json& data);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_REPORT_PAGE_H_
