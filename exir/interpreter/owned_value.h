// A run-time value together with its memory.
#ifndef BELAY_EXIR_INTERPRETER_OWNED_VALUE_H_
#define BELAY_EXIR_INTERPRETER_OWNED_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "exir/interpreter/buffer_pool.h"
#include "exir/ir/constant.h"
#include "exir/op_definition/tensor_meta.h"
#include "runtime/core/evalue.h"
#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"

namespace belay::exir {

// Copying an OwnedValue copies no elements. Copies and views share memory, which lives as long as
// any of them (borrowed memory: as long as its owner guarantees). Thread-compatible.
class OwnedValue {
 public:
  OwnedValue() = default;  // none
  // A scalar, dtype or none.
  static OwnedValue Scalar(EValue value);
  static OwnedValue String(std::string_view text);
  // Borrows the caller's memory, which must outlive everything computed from it.
  static OwnedValue Borrow(const TensorView& tensor, bool writable);
  // Shares the constant's bytes; copies them if they are not aligned to the dtype.
  static absl::StatusOr<OwnedValue> Constant(const ConstantTensor& constant);
  // Allocates a tensor: zeroed, or with unspecified content in a buffer of `pool`.
  // kInvalidArgument for negative sizes or overlapping strides; kResourceExhausted above
  // `max_bytes`.
  static absl::StatusOr<OwnedValue> Allocate(DType dtype, const Sizes& sizes,
                                             const Strides& strides, uint64_t max_bytes,
                                             BufferPool* pool = nullptr);
  // A tensor whose memory is allocated when a kernel resizes it; `sizes` are upper bounds.
  static OwnedValue Planned(DType dtype, const Sizes& sizes, const Strides& strides);

  // Creates a tensor over the same storage. `offset` counts elements of `dtype` from the beginning
  // of the storage, as in PyTorch. kOutOfRange if an element is outside. Precondition: a tensor.
  absl::StatusOr<OwnedValue> View(DType dtype, const Sizes& sizes, const Strides& strides,
                                  int64_t offset) const;
  // The index-th slice along dimension 0. Preconditions: a tensor of rank >= 1, index in range.
  OwnedValue Slice(int64_t index) const;
  // Returns a dense copy with the same dimension order and no shared memory. Returns non-tensors
  // unchanged.
  absl::StatusOr<OwnedValue> Copy() const;
  // Returns the tensor as a constant that shares its memory, which must not be written from then
  // on. Preconditions: a tensor, and no borrowed memory.
  absl::StatusOr<ConstantTensor> ToConstant() const;

  const EValue& value() const { return value_; }
  EValue* slot() { return &value_; }
  const TensorView* tensor() const { return value_.get_if<TensorView>(); }
  bool is_none() const { return value_.is_none(); }
  bool writable() const { return writable_; }
  // Whether both are tensors over the same storage.
  bool SharesStorage(const OwnedValue& other) const {
    return storage_ != nullptr && storage_ == other.storage_;
  }
  // Dtype, sizes, strides and storage offset. Precondition: a tensor.
  TensorMeta Meta() const;

 private:
  EValue value_;
  std::shared_ptr<const void> owner_;
  std::byte* storage_ = nullptr;
  size_t storage_bytes_ = 0;
  bool writable_ = true;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_INTERPRETER_OWNED_VALUE_H_
