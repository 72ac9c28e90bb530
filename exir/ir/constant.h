// Constant tensors: immutable bytes shared by tensors, programs and threads.
#ifndef BELAY_EXIR_IR_CONSTANT_H_
#define BELAY_EXIR_IR_CONSTANT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"

namespace belay::exir {

// Bytes and their owner (a mapped archive, a buffer). Two tensors share storage if the data
// pointers are equal.
struct Storage {
  std::shared_ptr<const void> owner;
  absl::Span<const std::byte> bytes;

  static Storage Own(std::vector<std::byte> bytes);
  // Returns page-aligned zeros that use address space but no memory. kResourceExhausted if the
  // address space is too small.
  static absl::StatusOr<Storage> Zeros(uint64_t bytes);
};

// A view of a storage. Every factory checks that all elements are inside it.
class ConstantTensor {
 public:
  // kInvalidArgument if a size, stride or offset is negative; kOutOfRange if an element is outside
  // the storage. Strides and offset are in elements.
  static absl::StatusOr<ConstantTensor> Create(DType dtype, Sizes sizes, Strides strides,
                                               int64_t storage_offset, Storage storage);
  // Row-major contiguous, from the start of the storage.
  static absl::StatusOr<ConstantTensor> Contiguous(DType dtype, Sizes sizes, Storage storage);
  // One element, rank 0.
  static ConstantTensor Scalar(DType dtype, double value);
  static ConstantTensor ScalarInt(DType dtype, int64_t value);

  DType dtype() const { return dtype_; }
  const Sizes& sizes() const { return sizes_; }
  const Strides& strides() const { return strides_; }
  int64_t storage_offset() const { return storage_offset_; }
  const Storage& storage() const { return storage_; }
  // Read-only by contract although TensorView's pointer is not const. The storage may be unaligned;
  // readers that need alignment use Dense().
  TensorView view() const;
  bool is_contiguous() const { return IsContiguous(sizes_, strides_); }
  // Returns the elements in row-major order (empty `order`), or in dim order `order`. Returns the
  // storage's own bytes if they are already in this order and aligned to the element size;
  // otherwise a copy.
  //   kInvalidArgument    `order` is not a permutation of the dimensions
  //   kResourceExhausted  no memory for the copy, or an expanded tensor would exceed 4 GiB
  absl::StatusOr<Storage> Dense(absl::Span<const uint8_t> order = {}) const;

 private:
  ConstantTensor() = default;
  DType dtype_ = DType::kFloat32;
  Sizes sizes_;
  Strides strides_;
  int64_t storage_offset_ = 0;
  Storage storage_;
};

// Returns a contiguous float32 tensor. Cannot fail if `sizes` have values.size() elements; otherwise
// errors of ConstantTensor::Contiguous.
absl::StatusOr<ConstantTensor> FloatConstant(Sizes sizes, std::vector<float> values);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_CONSTANT_H_
