#include "runtime/kernels/instruction_set.h"

#include <cstdint>

#include "absl/strings/str_join.h"
#include "hwy/targets.h"
#include "runtime/core/str_cat.h"

namespace belay {

std::vector<std::string> InstructionSets() {
  std::vector<std::string> names;
  for (int64_t target : hwy::SupportedAndGeneratedTargets())
    names.emplace_back(hwy::TargetName(target));
  return names;
}

absl::Status UseInstructionSet(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);  // Takes back an earlier choice.
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name == hwy::TargetName(target)) {
      // Lower bits are better ones: as on a CPU that has this one and all below it.
      hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~(target - 1));
      return absl::OkStatus();
    }
  }
  return absl::NotFoundError(absl::StrCat("instruction set '", name, "': expected one of ",
                                          absl::StrJoin(InstructionSets(), ", ")));
}

}  // namespace belay
