// The page of `lower --html`.
#ifndef BELAY_TOOLS_BELAY_LOWER_PAGE_H_
#define BELAY_TOOLS_BELAY_LOWER_PAGE_H_

#include <string>

#include "exir/emit/program_image.h"
#include "nlohmann/json.hpp"
#include "tools/graph/drawn_program.h"

namespace belay::tools {

// `report` is the result of LowerReportJson, `drawn` the programs after delegation, `image` the
// emitted program. Deterministic except for times; does not depend on the output folder.
std::string LowerPage(const std::string& output, const nlohmann::json& report,
                      const DrawnProgram& drawn, const exir::ProgramImage& image);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_LOWER_PAGE_H_
