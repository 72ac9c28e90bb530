// Antialiased image resampling: bilinear, bicubic and Lanczos.
//
// Windows and weights are computed by code shared with the reference kernels
// (runtime/kernels/operands/antialias.h). Rows are blended first, then columns, in float. Error: 2^-24
// of the largest element times the sum of the absolute weights and the number of rows and columns
// of a window.
#ifndef BELAY_RUNTIME_KERNELS_RESIZE_ANTIALIASED_H_
#define BELAY_RUNTIME_KERNELS_RESIZE_ANTIALIASED_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/resample.h"

namespace belay {

// Filter: one of runtime/kernels/operands/antialias.h.
template <class Filter>
absl::Status ResizeAntialiased(KernelContext& context, const UpsampleCall<KernelArguments>& call);
template <class Filter>
uint64_t AntialiasedScratch(const KernelContext& context,
                            const UpsampleCall<KernelArguments>& call);
// Images of float32, float16 and bfloat16.
bool AcceptsAntialiased(const KernelContext& context, const UpsampleCall<KernelArguments>& call);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_RESIZE_ANTIALIASED_H_
