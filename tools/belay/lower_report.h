// Reports of `belay lower`.
#ifndef BELAY_TOOLS_BELAY_LOWER_REPORT_H_
#define BELAY_TOOLS_BELAY_LOWER_REPORT_H_

#include <cstdint>
#include <iosfwd>
#include <string>

#include "exir/pipeline.h"
#include "nlohmann/json.hpp"

namespace belay::tools {

// Returns the share of the methods' floating-point operations (exir/flop_count.h) that delegates
// compute; 1 without such operations.
double DelegatedFlops(const exir::PipelineReport& report);

// Returns the report of --report and --json.
nlohmann::json LowerReportJson(const exir::PipelineReport& report, uint64_t file_bytes);

// Writes the short report: the file, and per method its memory, the share of each backend, and the
// most frequent reasons against delegation. `path` is the program's. Names are bold on a terminal.
void WriteLowerReport(const exir::PipelineReport& report, uint64_t file_bytes,
                      const std::string& path, std::ostream& out);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_LOWER_REPORT_H_
