// Control of subnormal floats.
#ifndef BELAY_RUNTIME_CORE_FLUSH_SUBNORMALS_H_
#define BELAY_RUNTIME_CORE_FLUSH_SUBNORMALS_H_

#include <cstdint>

namespace belay {

// While in scope, vector and scalar instructions of this thread read subnormal floats as zeros of
// the same sign, and write zeros instead of subnormal results (x86: FTZ and DAZ of MXCSR; Arm: FZ
// and FZ16 of FPCR; no effect on other CPUs). x86 CPUs take about 100 times as long for an
// instruction with a subnormal operand or result.
//
// A sum of products changes by at most 2^-126 Σ (|a_p| + |b_p| + 1). Does not allocate; takes a few
// nanoseconds. Compilers do not know that arithmetic depends on the setting: let the scope surround
// calls of functions in other files, not arithmetic.
class FlushSubnormals {
 public:
  explicit FlushSubnormals(bool flush = true);
  ~FlushSubnormals();
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  const uint64_t before_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_FLUSH_SUBNORMALS_H_
