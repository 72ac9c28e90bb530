// The list of the CPU backend's passes.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASSES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASSES_H_

#include <vector>

#include "backends/cpu/aot/decisions.h"
#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// In which products with constant weights compute (narrow_products.h).
enum class Precision {
  kProgram,   // in the program's own types
  kBFloat16,  // those of float32 in bfloat16
};

// From an edge program to one of standard operators and belay_cpu::* (backends/cpu/README.md), in
// order. `handles` and `decisions` must outlive them.
std::vector<exir::Pass> CpuPasses(Precision precision, FusedHandles& handles, Decisions& decisions);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASSES_H_
