#include "backends/cpu/testing/reference_kernels.h"

#include <vector>

#include "backends/cpu/testing/reference_tables.h"

namespace belay::cpu {

absl::Span<const Kernel> CpuReferenceKernels() {
  static const auto* const kernels = [] {
    auto* all = new std::vector<Kernel>;
    for (const absl::Span<const Kernel> table :
         {ReferenceMatmuls(), ReferenceConvolutions(), ReferenceQuantized(), ReferenceRows()}) {
      all->insert(all->end(), table.begin(), table.end());
    }
    return all;
  }();
  return *kernels;
}

}  // namespace belay::cpu
