#include "runtime/kernels/element_copy/channels_last.h"

#include "runtime/core/sizes.h"

namespace belay {

bool HasStrides(const TensorView& tensor, absl::Span<const int64_t> strides) {
  for (int d = 0; d < tensor.rank(); ++d) {
    if (tensor.sizes[d] > 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

bool IsRowMajorF32(const TensorView& tensor) {
  return tensor.dtype == DType::kFloat32 && tensor.is_contiguous();
}

bool HasChannelsInnermost(const TensorView& tensor) {
  if (tensor.rank() < 2) return false;
  DimOrder order = ContiguousOrder(tensor.rank());
  order.erase(1);
  order.push_back(1);
  return HasStrides(tensor, DenseStrides(tensor.sizes, order));
}

bool IsChannelsLast(const TensorView& tensor) {
  return tensor.rank() == 4 && HasChannelsInnermost(tensor);
}

}  // namespace belay
