// The options --bank and --memory-planner: memories for the activations of methods.
#ifndef BELAY_TOOLS_BELAY_MEMORY_BANKS_H_
#define BELAY_TOOLS_BELAY_MEMORY_BANKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exir/emit/emitter.h"
#include "exir/emit/memory_bank.h"

namespace belay::tools {

// Parses "NAME=SIZE" and "NAME=SIZE:ALIGNMENT". SIZE is a number of bytes, of KiB with the suffix K
// or MiB with the suffix M, or "unlimited". kInvalidArgument: another form, or CheckBanks.
absl::StatusOr<std::vector<exir::MemoryBank>> ParseMemoryBanks(
    const std::vector<std::string>& options);

// Parses "NAME", for all methods, and "METHOD:NAME" into `emit`. kInvalidArgument: a method, or all
// methods, twice; an empty method or name.
absl::Status ParseMemoryPlanners(const std::vector<std::string>& options, exir::EmitOptions& emit);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_MEMORY_BANKS_H_
