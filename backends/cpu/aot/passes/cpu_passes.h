// The list of the CPU backend's passes.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASSES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASSES_H_

#include <vector>

#include "backends/cpu/aot/decisions.h"
#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// How products with constant weights compute: compile spec "precision", whose values are in this order.
enum class Precision {
  kProgram,   // "program": in the program's own dtypes
  kBFloat16,  // "bfloat16": those of float32 in bfloat16 (narrow_products.h)
  kWinograd,  // "winograd": convolutions of 3 by 3 by fewer multiplications (lower_conv2d.h)
};

// From an edge program to one of standard operators and belay_cpu::* (backends/cpu/README.md), in
// order. `handles` and `decisions` must outlive them.
std::vector<exir::Pass> CpuPasses(Precision precision, FusedHandles& handles, Decisions& decisions);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASSES_H_
