// The loop of index.Tensor and index_put over the positions that a Tensor?[] selects.
//
// Elements of index tensors are checked when they are used, since an index tensor may alias the
// memory that the kernel writes.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_INDEX_WALK_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_INDEX_WALK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/index.h"

namespace belay {

// Returns element `offset` of an index tensor. Precondition: its dtype is one of kIndexTypes.
inline int64_t ReadIndex(const TensorView& index, int64_t offset) {
  return index.dtype == DType::kInt32 ? index.as<const int32_t>()[offset]
                                      : index.as<const int64_t>()[offset];
}

// Any nonzero byte of a bool in memory is true.
inline bool ReadMask(const TensorView& mask, int64_t offset) {
  return mask.as<const uint8_t>()[offset] != 0;
}

absl::Status IndexOutOfRange(int64_t index, int64_t size, int dim);

// Elements of a tensor at one indexed position: those of the dimensions that are not indexed.
class ElementBlock {
 public:
  ElementBlock() = default;
  // Precondition: `sizes`, `from` and `to` have equal length.
  ElementBlock(const Sizes& sizes, const Strides& from, const Strides& to);

  ElementBlock Reversed() const { return ElementBlock(sizes_, to_, from_); }

  const Sizes& sizes() const { return sizes_; }
  const Strides& from_strides() const { return from_; }
  const Strides& to_strides() const { return to_; }

  // Copies a block between tensors whose elements have `bytes` bytes. The pointers address the
  // first elements of the blocks.
  void Copy(const void* from, void* to, size_t bytes) const;
  // Calls fn(from_offset, to_offset) for each element.
  template <class Fn>
  void ForEach(Fn&& fn) const {
    for (StridedIterator<2> it(sizes_, {from_, to_}); !it.done(); it.Next()) {
      fn(it.offset(0), it.offset(1));
    }
  }

 private:
  Sizes sizes_;
  Strides from_, to_;
  int64_t contiguous_ = 0;  // elements per contiguous run in both; 0: not all contiguous
};

class IndexWalk {
 public:
  // Bytes of scratch memory for the masks among the index tensors.
  static uint64_t ScratchBytes(const ListView& indices);

  // Reads a Tensor?[] as indices into `self`. Expands masks to positions in the call's scratch
  // memory.
  static absl::StatusOr<IndexWalk> Create(const KernelContext& context, const ListView& indices,
                                          const TensorView& self);

  const Sizes& result_sizes() const { return result_; }

  // Loop bounds of Run, for kernels with their own loops. positions() are the sizes of the result's
  // dimensions from first_position() on; operands() are the index tensors expanded to them.
  struct Operand {
    TensorView index;
    int dim;  // of self
  };
  absl::Span<const Operand> operands() const { return absl::MakeConstSpan(operands_, count_); }
  const Sizes& positions() const { return positions_; }
  int first_position() const { return first_; }

  // Calls fn(self_offset, result_offset) for each position. The offsets are those of its block's
  // first element in `self`, and in a tensor of the result's sizes with these strides. kOutOfRange
  // at the first index that is out of range.
  template <class Fn>
  absl::Status Run(const Strides& result_strides, Fn&& fn) const;

  // Block of a position, from `self` to a tensor with these strides.
  ElementBlock BlockFromSelf(const Strides& result_strides) const;
  // The same block in the opposite direction.
  ElementBlock BlockToSelf(const Strides& result_strides) const;

 private:
  absl::Status AddMask(const TensorView& mask, int k, absl::Span<std::byte>& scratch);

  TensorView self_;
  Operand operands_[kMaxRank];
  int count_ = 0;
  int next_dim_ = 0;
  Sizes positions_;
  Sizes result_;
  int first_ = 0;  // first position dimension in the result
};

// Scratch bytes of a call with `indices`, for KernelRow.
template <class Call>
uint64_t IndexScratch(const KernelContext& context, const Call& call) {
  return IndexWalk::ScratchBytes(call.indices);
}

template <class Fn>
absl::Status IndexWalk::Run(const Strides& result_strides, Fn&& fn) const {
  for (int64_t size : result_) {
    if (size == 0) return absl::OkStatus();
  }
  const int rank = positions_.size();
  int64_t place[kMaxRank] = {};
  int64_t offsets[kMaxRank] = {};
  int64_t result_offset = 0;
  while (true) {
    int64_t self_offset = 0;
    for (int k = 0; k < count_; ++k) {
      const Operand& operand = operands_[k];
      const int64_t size = self_.sizes[operand.dim];
      const int64_t index = ReadIndex(operand.index, offsets[k]);
      if (index < -size || index >= size) return IndexOutOfRange(index, size, operand.dim);
      self_offset += (index < 0 ? index + size : index) * self_.strides[operand.dim];
    }
    fn(self_offset, result_offset);
    int d = rank - 1;
    for (; d >= 0; --d) {
      // Advances to the next position, or wraps to 0.
      const bool wraps = ++place[d] == positions_[d];
      const int64_t step = wraps ? 1 - positions_[d] : 1;
      for (int k = 0; k < count_; ++k) offsets[k] += step * operands_[k].index.strides[d];
      result_offset += step * result_strides[first_ + d];
      if (!wraps) break;
      place[d] = 0;
    }
    if (d < 0) return absl::OkStatus();
  }
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_INDEX_WALK_H_
