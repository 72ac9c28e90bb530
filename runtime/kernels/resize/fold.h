// col2im: sums of overlapping patches.
//
// The elements of a pixel are added in float, in the order of the reference kernel, which adds them in
// double. Error: 2^-24 of the sum of absolute values, times the number of patches that overlap.
#ifndef BELAY_RUNTIME_KERNELS_RESIZE_FOLD_H_
#define BELAY_RUNTIME_KERNELS_RESIZE_FOLD_H_

#include "absl/status/status.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/resample.h"

namespace belay {

absl::Status Fold(KernelContext& context, const Col2ImCall<KernelArguments>& call);
// Rows of float32 whose columns are adjacent, and dense results.
bool AcceptsFold(const KernelContext& context, const Col2ImCall<KernelArguments>& call);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_RESIZE_FOLD_H_
