// Reports the quality of memory plans. For each model:
// - the arena;
// - the peak of live bytes in the chosen order with the chosen sharing, a lower bound of any plan;
// - the peak of live bytes of the program as written, without sharing;
// - the arena's ratios to both.
// Geometric means over all models follow at the end.
//
// With --fast_bank=SHARE, also lowers for two memory banks and reports the share of the bytes moved
// that are in the fast one. Its capacity is this share of the arena.
//
//   tools/bazel run --config=opt //conformance/models:memory_bench -- [--zoo=DIR] [--archive=FILE]
//       [--fast_bank=SHARE]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "runtime/core/status_macros.h"

ABSL_FLAG(std::string, zoo, "conformance/models/zoo", "directory with one folder per model");
ABSL_FLAG(std::string, archive, "model.pt2", "name of the archive in each folder");
ABSL_FLAG(double, fast_bank, 0, "share of the arena that a fast bank has; 0: no banks");

namespace belay::conformance {
namespace {

// Prints the use of two banks.
absl::Status RunInBanks(const std::string& path, const exir::OpRegistry& ops, uint64_t fast,
                        uint64_t arena, double& moved_in_fast) {
  exir::PipelineOptions options;
  options.emit.memory.banks = {{.name = "fast", .bytes = fast}, {.name = "slow"}};
  exir::PipelineReport report;
  ABSL_RETURN_IF_ERROR(exir::LowerFiles({{"forward", path}}, ops, options, &report).status());
  const exir::MethodMemory& memory = report.memory.front().memory;
  const double all = static_cast<double>(memory.banks[0].moved + memory.banks[1].moved);
  moved_in_fast = all == 0 ? 1 : static_cast<double>(memory.banks[0].moved) / all;
  std::printf("    fast bank of %llu: %.4f of the bytes moved; arena %.3f; %s\n",
              static_cast<unsigned long long>(fast), moved_in_fast,
              static_cast<double>(memory.arena_bytes) / static_cast<double>(arena),
              memory.planner.c_str());
  return absl::OkStatus();
}

absl::Status Run(const std::string& zoo, const std::string& archive, double fast_share) {
  ABSL_ASSIGN_OR_RETURN(const auto ops, exir::CreateStandardOps());
  std::vector<std::string> models;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(zoo, error)) {
    if (std::filesystem::exists(entry.path() / archive, error)) {
      models.push_back(entry.path().filename().string());
    }
  }
  if (models.empty()) return absl::NotFoundError(absl::StrCat("no ", archive, " below ", zoo));
  std::sort(models.begin(), models.end());
  std::printf("%-28s %10s %10s %7s %10s %7s %8s %6s  %s\n", "model", "arena", "alive", "ratio",
              "written", "ratio", "state", "elided", "planner");
  double logarithms = 0, written_logarithms = 0, moved_in_fast = 0;
  int measured = 0, without_arena = 0, in_banks = 0;
  for (const std::string& model : models) {
    exir::PipelineReport report;
    const absl::Status status =
        exir::LowerFiles({{"forward", absl::StrCat(zoo, "/", model, "/", archive)}}, *ops, {},
                         &report)
            .status();
    if (!status.ok()) {
      std::printf("%-28s not lowered: %s\n", model.c_str(),
                  std::string(absl::StatusCodeToString(status.code())).c_str());
      if (status.code() == absl::StatusCode::kInternal) return status;
      continue;
    }
    const exir::MemoryReport& entry = report.memory.front();
    const exir::MethodMemory& memory = entry.memory;
    if (memory.lower_bound == 0 || memory.written_lower_bound == 0) {
      ++without_arena;
      continue;
    }
    const double arena = static_cast<double>(memory.arena_bytes);
    const double ratio = arena / static_cast<double>(memory.lower_bound);
    const double written = arena / static_cast<double>(memory.written_lower_bound);
    std::printf("%-28s %10llu %10llu %7.3f %10llu %7.3f %8llu %6u  %s%s\n", model.c_str(),
                static_cast<unsigned long long>(memory.arena_bytes),
                static_cast<unsigned long long>(memory.lower_bound), ratio,
                static_cast<unsigned long long>(memory.written_lower_bound), written,
                static_cast<unsigned long long>(entry.state_bytes), memory.elided_instructions,
                memory.planner.c_str(), memory.reordered ? ", reordered" : "");
    logarithms += std::log(ratio);
    written_logarithms += std::log(written);
    ++measured;
    const auto fast = static_cast<uint64_t>(arena * fast_share) / 64 * 64;
    if (fast == 0) continue;
    double moved = 0;
    ABSL_RETURN_IF_ERROR(RunInBanks(absl::StrCat(zoo, "/", model, "/", archive), *ops, fast,
                                    memory.arena_bytes, moved));
    moved_in_fast += moved;
    ++in_banks;
  }
  const auto mean = [&](double sum) { return measured == 0 ? 1.0 : std::exp(sum / measured); };
  std::printf(
      "geometric means of %d models: %.4f of the live bytes, %.4f of those as written (%d models "
      "need no arena)\n",
      measured, mean(logarithms), mean(written_logarithms), without_arena);
  if (in_banks > 0) {
    std::printf("mean of %d models: %.4f of the bytes moved in the fast bank\n", in_banks,
                moved_in_fast / in_banks);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace belay::conformance

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = belay::conformance::Run(
      absl::GetFlag(FLAGS_zoo), absl::GetFlag(FLAGS_archive), absl::GetFlag(FLAGS_fast_bank));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
