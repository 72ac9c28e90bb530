// The pass pipeline of the CPU backend.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASSES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASSES_H_

#include <vector>

#include "backends/cpu/aot/fused_handles.h"
#include "backends/cpu/aot/pass_diagnostics.h"
#include "backends/cpu/aot/tied_tables.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Precision of matmuls and convolutions with constant weights. Values of the compile spec
// "precision", in this order.
enum class Precision {
  kAuto,      // "auto": as kProgram, but integers multiply many rows (quantize_rows.h)
  kProgram,   // "program": in the program's own dtypes
  kBFloat16,  // "bfloat16": float32 ones in bfloat16 (narrow_products.h)
  kWinograd,  // "winograd": 3x3 convolutions by any Winograd (lower_conv2d.h)
  kDirect,    // "direct": as kProgram, without Winograd
  kInt8,      // "int8": as kProgram; many rows by int8 (quantize_rows.h)
};

// Returns the passes, in order, that lower an edge program to standard operators and belay_cpu::*
// (backends/cpu/README.md). `tables` has the layouts of tables that other partitions pack, and
// receives those of this one. If any method of the lowering has dynamic sizes, kAuto quantizes
// rows. `handles`, `diagnostics` and `tables` must outlive the passes.
std::vector<exir::Pass> CpuPasses(Precision precision, FusedHandles& handles,
                                  PassDiagnostics& diagnostics, TiedTables& tables,
                                  bool has_dynamic_sizes);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASSES_H_
