#include "tools/profile/roof.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"

namespace belay::tools {
namespace {

using nlohmann::json;

struct Level {
  double bytes = 0, bytes_per_ns = 0;
};
struct Machine {
  double f32 = 0, int8 = 0, bf16 = 0;  // operations per ns
  std::array<Level, 4> levels;         // the last is memory
};

absl::Status Missing(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected '", what, "' in the output of //tools/bench:limits"));
}

// Reads a positive number at limits[first][second].
absl::StatusOr<double> Number(const json& limits, std::string_view first, std::string_view second) {
  const auto outer = limits.find(first);
  if (outer == limits.end() || !outer->is_object()) return Missing(first);
  const auto inner = outer->find(second);
  if (inner == outer->end() || !inner->is_number() || !(inner->get<double>() >= 0)) {
    return Missing(absl::StrCat(first, ".", second));
  }
  return inner->get<double>();
}

absl::StatusOr<Machine> ReadMachine(const json& limits, int threads) {
  if (!limits.is_object()) return Missing("f32_fma_gflops_t1");
  // A machine with one CPU has no two-thread figures.
  const std::string team = threads > 1 && limits.contains("f32_fma_gflops_t2") ? "_t2" : "_t1";
  Machine machine;
  ABSL_ASSIGN_OR_RETURN(machine.f32, Number(limits, "f32_fma_gflops" + team, "best"));
  if (machine.f32 == 0) return Missing("f32_fma_gflops" + team);
  const auto dots = [&](const std::string& name) {
    const double rate = Number(limits, name + team, "best").value_or(0);
    return rate > 0 ? rate : machine.f32;  // null if the CPU has no such instruction
  };
  machine.int8 = dots("int8_dot_gops");
  machine.bf16 = dots("bf16_dot_gflops");
  constexpr const char* kLevels[] = {"l1", "l2", "l3", "memory"};
  for (size_t k = 0; k < machine.levels.size(); ++k) {
    const bool is_memory = k + 1 == machine.levels.size();
    Level& level = machine.levels[k];
    if (!is_memory) {
      ABSL_ASSIGN_OR_RETURN(level.bytes, Number(limits, "cache_bytes", kLevels[k]));
      if (level.bytes == 0) continue;  // the machine does not have this level
    }
    ABSL_ASSIGN_OR_RETURN(level.bytes_per_ns,
                          Number(limits, absl::StrCat("read_", kLevels[k], "_gbs", team), "best"));
    if (level.bytes_per_ns == 0) return Missing(absl::StrCat("read_", kLevels[k], "_gbs"));
  }
  return machine;
}

}  // namespace

absl::Status AddRoofs(const json& limits, int threads, json& profile) {
  ABSL_ASSIGN_OR_RETURN(const Machine machine, ReadMachine(limits, threads));
  for (json& row : profile["instructions"]) {
    const double took = 1e6 * row["p50_ms"].get<double>();
    const double count = row["count"].get<double>();
    const double operations = count * row.value("operations", 0.0);
    const double bytes = row.value("bytes_read", 0.0) + row.value("bytes_written", 0.0);
    if (took <= 0 || (operations == 0 && bytes == 0)) continue;
    const std::string operands = row.value("operands", "");
    const double rate = absl::StartsWith(operands, "i8[") || absl::StartsWith(operands, "u8[")
                            ? machine.int8
                        : absl::StartsWith(operands, "bf16[") ? machine.bf16
                                                              : machine.f32;
    const auto* level = std::find_if(
        machine.levels.begin(), machine.levels.end() - 1,
        [&](const Level& cache) { return cache.bytes_per_ns > 0 && bytes <= cache.bytes; });
    row["roof"] = std::max(operations / rate, count * bytes / level->bytes_per_ns) / took;
  }
  return absl::OkStatus();
}

}  // namespace belay::tools
