// Cumulative sums and products along one dimension (running_extremes.h and log_scan.h: the other scans).
//
// Floating-point elements are combined in double precision in order, as in the reference kernel:
// results have the same bits. Integers wrap.
#ifndef BELAY_RUNTIME_KERNELS_SCAN_SCAN_H_
#define BELAY_RUNTIME_KERNELS_SCAN_SCAN_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

enum class ScanOp : uint8_t { kSum, kProduct };

// Number of rows that `rows` scans at once.
inline constexpr int64_t kScanRows = 4;

// Loops of an operation with accumulators of type Acc.
template <class T, class Acc>
struct ScanLoops {
  // One row: out[i] = total = total op in[i].
  void (*row)(const T* in, size_t n, Acc& total, T* out);
  // kScanRows rows, in_row and out_row apart.
  void (*rows)(const T* in, int64_t in_row, size_t n, Acc* totals, T* out, int64_t out_row);
  // One step of n adjacent rows: out[i] = totals[i] = totals[i] op in[i].
  void (*step)(const T* in, size_t n, Acc* totals, T* out);
  Acc start;
};
ScanLoops<float, double> FloatScanLoops(ScanOp op);
ScanLoops<double, double> DoubleScanLoops(ScanOp op);
ScanLoops<int64_t, int64_t> IntegerScanLoops(ScanOp op);

absl::Span<const Kernel> ScanHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SCAN_SCAN_H_
