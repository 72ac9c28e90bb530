// Cumulative sums along one dimension.
//
// Floating-point elements are added in double precision in order, as in the reference kernel:
// results have the same bits. Integers wrap.
#ifndef BELAY_RUNTIME_KERNELS_SCAN_SCAN_H_
#define BELAY_RUNTIME_KERNELS_SCAN_SCAN_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// One row: out[i] = total += in[i].
void RunningSumF32(const float* in, size_t n, double& total, float* out);
void RunningSumI64(const int64_t* in, size_t n, int64_t& total, int64_t* out);

// One step of n adjacent rows: out[i] = totals[i] += in[i].
void RunningStepF32(const float* in, size_t n, double* totals, float* out);
void RunningStepI64(const int64_t* in, size_t n, int64_t* totals, int64_t* out);

absl::Span<const Kernel> ScanHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SCAN_SCAN_H_
