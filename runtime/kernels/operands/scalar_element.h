// A scalar as an element of a tensor.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_SCALAR_ELEMENT_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_SCALAR_ELEMENT_H_

#include <cstddef>
#include <cstring>

#include "absl/status/statusor.h"
#include "runtime/core/evalue.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// Bytes of one element of any dtype.
class ScalarElement {
 public:
  // Converts a scalar as ConvertScalar (element_run.h) does. kInvalidArgument if it does not fit
  // the dtype.
  static absl::StatusOr<ScalarElement> Create(const EValue& value, DType dtype);

  // Converts the first element of a tensor. Precondition: the tensor has an element, and neither
  // dtype is complex32.
  static absl::StatusOr<ScalarElement> Load(const TensorView& tensor, DType dtype);

  const void* data() const { return bytes_; }
  void* data() { return bytes_; }
  void StoreTo(void* element) const { std::memcpy(element, bytes_, size_); }
  // Sets all elements of a tensor of the same dtype.
  void Fill(const TensorView& tensor) const;

 private:
  alignas(16) std::byte bytes_[16] = {};
  size_t size_ = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_SCALAR_ELEMENT_H_
