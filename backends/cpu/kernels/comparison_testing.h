// Compares the backend's kernels with reference loops on each instruction set.
#ifndef BELAY_BACKENDS_CPU_KERNELS_COMPARISON_TESTING_H_
#define BELAY_BACKENDS_CPU_KERNELS_COMPARISON_TESTING_H_

#include <vector>

#include "absl/types/span.h"
#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/testing/reference_kernels.h"
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay::cpu {

class CpuKernelComparisonTest : public testing::Test {
 protected:
  CpuKernelComparisonTest() : comparison_(CpuReferenceKernels(), Kernels()) {}

  KernelComparison comparison_;

 private:
  static absl::Span<const Kernel> Kernels() {
    static const std::vector<Kernel>& all = *[] {
      auto* rows = new std::vector<Kernel>;
      for (const auto& table : CpuKernelTables()) {
        rows->insert(rows->end(), table.begin(), table.end());
      }
      return rows;
    }();
    return all;
  }
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_COMPARISON_TESTING_H_
