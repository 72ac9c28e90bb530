// Sizes in whole cache lines.
#ifndef BELAY_BACKENDS_CPU_KERNELS_CACHE_LINES_H_
#define BELAY_BACKENDS_CPU_KERNELS_CACHE_LINES_H_

#include <cstdint>

#include "runtime/core/checked_math.h"

namespace belay::cpu {

// Rounds bytes up to whole cache lines.
inline CheckedInt WholeLines(CheckedInt bytes) {
  constexpr int64_t kLine = 64;
  return FloorDiv(bytes + CheckedInt(kLine - 1), CheckedInt(kLine)) * CheckedInt(kLine);
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_CACHE_LINES_H_
