// Depthwise convolutions of bfloat16: as depthwise.h, with weights, biases and sums of float.
//
// Accuracy: the sums have the error bound of depthwise.h. The epilogue then rounds to bfloat16.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_DEPTHWISE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_DEPTHWISE_H_

#include <cstdint>

#include "runtime/core/element.h"
#include "runtime/kernels/packed/depthwise.h"

namespace belay {

using BFloat16DepthwiseArgs = DepthwiseArgsOn<BFloat16>;

void DepthwiseRows(const BFloat16DepthwiseArgs& args, int64_t first, int64_t last);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_DEPTHWISE_H_
