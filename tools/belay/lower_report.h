// What `lower` says of its work.
#ifndef BELAY_TOOLS_BELAY_LOWER_REPORT_H_
#define BELAY_TOOLS_BELAY_LOWER_REPORT_H_

#include <cstdint>
#include <string>

#include "exir/pipeline.h"
#include "nlohmann/json.hpp"

namespace belay::tools {

// The share of the methods' floating-point operations (exir/flop_count.h) that delegates compute; 1
// when there are none.
double DelegatedFlops(const exir::PipelineReport& report);

// The report of --report and --json.
nlohmann::json LowerReportJson(const exir::PipelineReport& report, uint64_t file_bytes);

// The short one, to standard output, in words: the file, and of each method its memory, who computes
// how much, and the most frequent reasons why not a backend. `path` is the program's.
void PrintLowerReport(const exir::PipelineReport& report, uint64_t file_bytes,
                      const std::string& path);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_LOWER_REPORT_H_
