#include "runtime/kernels/instruction_set.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_join.h"
#include "hwy/targets.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/amx.h"
#include "runtime/kernels/supported_targets.h"

namespace belay {
namespace {

constexpr std::string_view kAmx = "AMX";

// Targets before any UseInstructionSet call.
const std::vector<int64_t>& Targets() {
  static const auto& targets = *new std::vector<int64_t>(hwy::SupportedAndGeneratedTargets());
  return targets;
}

}  // namespace

std::vector<std::string> InstructionSets() {
  std::vector<std::string> names;
  if (HasAmx()) names.emplace_back(kAmx);
  for (int64_t target : Targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

absl::Status UseInstructionSet(std::string_view name) {
  const std::vector<std::string> sets = InstructionSets();
  if (std::find(sets.begin(), sets.end(), name) == sets.end()) {
    return absl::NotFoundError(
        absl::StrCat("instruction set '", name, "': expected one of ", absl::StrJoin(sets, ", ")));
  }
  hwy::SetSupportedTargetsForTest(0);  // Reverts an earlier choice.
  SetUsesAmx(name == kAmx);
  for (int64_t target : Targets()) {
    if (name != hwy::TargetName(target)) continue;
    // Lower bits are better targets. This keeps the chosen one and all that are worse.
    hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~(target - 1));
  }
  ForgetSupportedTargets();
  return absl::OkStatus();
}

}  // namespace belay
