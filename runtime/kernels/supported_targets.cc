#include "runtime/kernels/supported_targets.h"

#include <atomic>

#include "hwy/targets.h"

namespace belay {
namespace {

std::atomic<int64_t> targets = 0;  // 0: not detected; a CPU has at least one

}  // namespace

int64_t SupportedTargets() {
  int64_t known = targets.load(std::memory_order_relaxed);
  if (known == 0) {
    known = hwy::SupportedTargets();
    targets.store(known, std::memory_order_relaxed);
  }
  return known;
}

void ForgetSupportedTargets() { targets.store(0, std::memory_order_relaxed); }

}  // namespace belay
