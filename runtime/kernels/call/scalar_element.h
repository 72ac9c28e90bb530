// A number as an element of a tensor.
#ifndef BELAY_RUNTIME_KERNELS_CALL_SCALAR_ELEMENT_H_
#define BELAY_RUNTIME_KERNELS_CALL_SCALAR_ELEMENT_H_

#include <cstddef>
#include <cstring>

#include "absl/status/statusor.h"
#include "runtime/core/evalue.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// The bytes of one element of any dtype.
class ScalarElement {
 public:
  // The number as ConvertScalar (element_run.h) converts it; kInvalidArgument when it does not fit
  // the dtype.
  static absl::StatusOr<ScalarElement> Create(const EValue& value, DType dtype);

  // The first element of a tensor, converted. Precondition: it has one, and neither dtype is
  // complex32.
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

#endif  // BELAY_RUNTIME_KERNELS_CALL_SCALAR_ELEMENT_H_
