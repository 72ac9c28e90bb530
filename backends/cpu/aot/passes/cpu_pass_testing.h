// The operators that tests of the CPU backend's passes rewrite.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASS_TESTING_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASS_TESTING_H_

#include "exir/op/op_registry.h"

namespace belay::cpu {

// The standard operators and belay_cpu::*; the same registry at every call.
const exir::OpRegistry& CpuPassTestOps();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASS_TESTING_H_
