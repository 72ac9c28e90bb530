// Loop of logcumsumexp.
#ifndef BELAY_RUNTIME_KERNELS_SCAN_LOG_SCAN_H_
#define BELAY_RUNTIME_KERNELS_SCAN_LOG_SCAN_H_

#include <cstddef>

namespace belay {

// One step of n rows: adds exp(in[i]) to exp(most[i]) * sum[i], and sets out[i] to the logarithm of the
// total. `most` is the largest element so far, at first -inf with a sum of 0. NaN and infinities as in
// the reference kernel. Error: 8 units of the last place of max(|out|, |most|), plus one per step.
void LogScanStep(const double* in, size_t n, double* most, double* sum, double* out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SCAN_LOG_SCAN_H_
