// How the elements of tensors lie.
#ifndef BELAY_RUNTIME_KERNELS_ELEMENTS_CHANNELS_LAST_H_
#define BELAY_RUNTIME_KERNELS_ELEMENTS_CHANNELS_LAST_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// Whether the strides are these. Those of dimensions with at most one element do not count.
bool HasStrides(const TensorView& tensor, absl::Span<const int64_t> strides);

// Whether the tensor is dense images [n, c, h, w] whose channels lie together.
bool IsChannelsLast(const TensorView& tensor);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENTS_CHANNELS_LAST_H_
