// The option --max-size: upper bounds of dynamic sizes.
#ifndef BELAY_TOOLS_BELAY_MAX_SIZES_H_
#define BELAY_TOOLS_BELAY_MAX_SIZES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "exir/pipeline.h"

namespace belay::tools {

struct MaxSizes {
  std::optional<int64_t> unbounded;                 // PipelineOptions::unbounded_size
  absl::btree_map<std::string, int64_t> by_symbol;  // PipelineOptions::size_bounds

  void SetIn(exir::PipelineOptions& options) const {
    options.unbounded_size = unbounded;
    options.size_bounds = by_symbol;
  }
};

// Parses "VALUE" and "SYMBOL=VALUE"; of repeated ones the last counts. kInvalidArgument for a VALUE
// that is not a positive integer.
absl::StatusOr<MaxSizes> ParseMaxSizes(const std::vector<std::string>& options);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_MAX_SIZES_H_
