#include "runtime/core/flush_subnormals.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace belay {
namespace {

// The floating-point control register, and its bits that flush.
#if defined(__x86_64__)
constexpr uint64_t kFlush = 0x8040;  // results and operands
uint64_t FloatControl() { return _mm_getcsr(); }
void SetFloatControl(uint64_t control) { _mm_setcsr(static_cast<unsigned>(control)); }
#elif defined(__aarch64__)
constexpr uint64_t kFlush = 0x1080000;  // of 32 and 16 bits
uint64_t FloatControl() {
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
void SetFloatControl(uint64_t control) { asm volatile("msr fpcr, %0" : : "r"(control)); }
#else
constexpr uint64_t kFlush = 0;
uint64_t FloatControl() { return 0; }
void SetFloatControl(uint64_t) {}
#endif

}  // namespace

FlushSubnormals::FlushSubnormals(bool flush) : before_(FloatControl()) {
  if (flush && (before_ & kFlush) != kFlush) SetFloatControl(before_ | kFlush);
}

// Clears only the bits that the constructor set, if any: the exception flags stay.
FlushSubnormals::~FlushSubnormals() {
  const uint64_t now = FloatControl();
  const uint64_t after = (now & ~kFlush) | (before_ & kFlush);
  if (after != now) SetFloatControl(after);
}

}  // namespace belay
