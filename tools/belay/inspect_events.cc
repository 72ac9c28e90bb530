#include "tools/belay/inspect_events.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/reader/event_dump.h"
#include "nlohmann/json.hpp"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/printing.h"

namespace belay::tools {
namespace {

struct Row {
  std::string name;  // with the identifier inside a delegate
  uint64_t count = 0;
  double total = 0;
};

std::vector<Row> RowsOf(const pte::DumpedRun& run) {
  std::map<std::string, Row> by_name;
  for (const pte::DumpedEvent& event : run.events) {
    const std::string name = event.delegate_id.empty()
                                 ? event.name
                                 : absl::StrCat(event.name, " [", event.delegate_id, "]");
    Row& row = by_name[name];
    row.name = name;
    ++row.count;
    row.total += static_cast<double>(event.end - event.begin);
  }
  std::vector<Row> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.total != b.total ? a.total > b.total : a.name < b.name;
  });
  return rows;
}

}  // namespace

absl::Status InspectEvents(const InspectOptions& options) {
  if (options.graph || options.size || options.verify || !options.data.empty() ||
      !options.model_explorer.empty() || !options.dot.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        OneLine(options.file), " has profiling events: expected no option other than --json"));
  }
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(options.file));
  const absl::StatusOr<std::vector<pte::DumpedRun>> runs =
      pte::ReadEventDump(file->bytes(), options.limits.ForPrograms().limits);
  if (!runs.ok()) return Annotate(runs.status(), options.file);
  nlohmann::json blocks = nlohmann::json::array();
  for (const pte::DumpedRun& run : *runs) {
    nlohmann::json events = nlohmann::json::array();
    if (!options.json) {
      std::cout << OneLine(run.name) << ": " << run.events.size() << " events\n";
    }
    for (const Row& row : RowsOf(run)) {
      const double mean = row.total / static_cast<double>(row.count);
      events.push_back(
          {{"name", row.name}, {"count", row.count}, {"total", row.total}, {"mean", mean}});
      if (options.json) continue;
      std::cout << "  " << OneLine(row.name) << ": " << row.count << " times, total " << row.total
                << ", mean " << mean << "\n";
    }
    blocks.push_back({{"name", run.name}, {"events", std::move(events)}});
  }
  if (options.json) std::cout << JsonText({{"format", "ETDump"}, {"blocks", std::move(blocks)}});
  return absl::OkStatus();
}

}  // namespace belay::tools
