#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_MAX_POOL2D_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_MAX_POOL2D_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Lowers aten.max_pool2d_with_indices of float32, bfloat16 or uint8 images with unused indices to
// belay_cpu::max_pool2d, which computes no indices and runs on all threads. Not lowered: other
// dtypes, images without a batch, dilation, and ceil_mode. Top graph only.
exir::Pass LowerMaxPool2d();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_MAX_POOL2D_H_
