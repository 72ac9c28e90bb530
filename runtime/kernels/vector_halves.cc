#include "runtime/kernels/vector_halves.h"

#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace belay {
namespace {

// AMD64 Architecture Programmer's Manual, volume 3, appendix E: function 0 returns the vendor,
// function 1 the family.
bool IsZen4() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0 || b != signature_AMD_ebx) return false;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  const unsigned family = ((a >> 8) & 15) + ((a >> 20) & 255);
  return family == 25;
#else
  return false;
#endif
}

std::atomic<bool>& Halves() {
  static std::atomic<bool> halves = IsZen4();
  return halves;
}

}  // namespace

bool ExecutesVectorsInHalves() { return Halves().load(std::memory_order_relaxed); }
void SetExecutesVectorsInHalves(bool halves) { Halves().store(halves, std::memory_order_relaxed); }

}  // namespace belay
