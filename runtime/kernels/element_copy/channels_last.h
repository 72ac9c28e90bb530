// Memory layouts of tensors.
#ifndef BELAY_RUNTIME_KERNELS_ELEMENT_COPY_CHANNELS_LAST_H_
#define BELAY_RUNTIME_KERNELS_ELEMENT_COPY_CHANNELS_LAST_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// Returns whether the tensor has these strides. Dimensions with at most one element are ignored.
bool HasStrides(const TensorView& tensor, absl::Span<const int64_t> strides);

// Returns whether the tensor is float32, dense and row-major.
bool IsRowMajorF32(const TensorView& tensor);

// Returns whether the tensor [n, c, ...], of any rank from 2 on, is dense with channels innermost.
bool HasChannelsInnermost(const TensorView& tensor);

// Returns whether the tensor is dense [n, c, h, w] in channels-last layout.
bool IsChannelsLast(const TensorView& tensor);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENT_COPY_CHANNELS_LAST_H_
