// How much memory plans take: for each model the arena, the most bytes alive at once (no plan is
// smaller), and their ratio; the geometric mean over all models at the end.
//
//   tools/bazel run --config=opt //conformance/models:memory_bench -- [--zoo=DIR] [--archive=FILE]
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

namespace belay::conformance {
namespace {

absl::Status Run(const std::string& zoo, const std::string& archive) {
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
  std::printf("%-28s %12s %12s %7s %12s  %s\n", "model", "arena", "alive", "ratio", "state",
              "planner");
  double logarithms = 0;
  int measured = 0, without_arena = 0;
  for (const std::string& model : models) {
    exir::PipelineReport report;
    const absl::Status status =
        exir::LowerFiles({{"forward", absl::StrCat(zoo, "/", model, "/", archive)}}, *ops, {},
                         &report)
            .status();
    if (!status.ok()) {
      std::printf("%-28s not lowered: %s\n", model.c_str(),
                  std::string(absl::StatusCodeToString(status.code())).c_str());
      continue;
    }
    const exir::MemoryReport& memory = report.memory.front();
    if (memory.lower_bound == 0) {
      ++without_arena;
      continue;
    }
    const double ratio =
        static_cast<double>(memory.arena_bytes) / static_cast<double>(memory.lower_bound);
    std::printf("%-28s %12llu %12llu %7.3f %12llu  %s\n", model.c_str(),
                static_cast<unsigned long long>(memory.arena_bytes),
                static_cast<unsigned long long>(memory.lower_bound), ratio,
                static_cast<unsigned long long>(memory.state_bytes), memory.planner.c_str());
    logarithms += std::log(ratio);
    ++measured;
  }
  std::printf("geometric mean of %d models: %.4f (%d models need no arena)\n", measured,
              measured == 0 ? 1.0 : std::exp(logarithms / measured), without_arena);
  return absl::OkStatus();
}

}  // namespace
}  // namespace belay::conformance

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const absl::Status status =
      belay::conformance::Run(absl::GetFlag(FLAGS_zoo), absl::GetFlag(FLAGS_archive));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
