// The pages of `belay lower --html`, `belay profile --html` and `belay quantize --html`: one
// self-contained file each.
#ifndef BELAY_TOOLS_GRAPH_REPORT_PAGE_H_
#define BELAY_TOOLS_GRAPH_REPORT_PAGE_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tools/graph/drawn_program.h"

namespace belay::tools {

// Returns the page's data of a program: "colors" by backend, and "methods", a list of {"name",
// "graphs", "delegates", "constants"} with the fields of drawn_program.h. Empty fields are omitted.
// Edges are [node, output, argument], results [name, type].
nlohmann::json DrawnProgramJson(const DrawnProgram& program);

// Returns page/page.html with its style, its script and `data`: DrawnProgramJson, and
//   "title", "subtitle"  strings
//   "memory" of methods  MemoryPicture, if known
//   "report"             of `lower --report`, or null
//   "profile"            of `profile --json`, or null
// Strings cannot break out of the data: all non-ASCII characters and all HTML markup characters are
// escaped. Bytes that are not UTF-8 become U+FFFD.
std::string ReportPage(const nlohmann::json& data);

// Returns page/quantization.html with its style, its script and `data`, escaped likewise:
//   "title", "subtitle"  strings
//   "report"             of `quantize --json`
std::string QuantizationPage(const nlohmann::json& data);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_REPORT_PAGE_H_
