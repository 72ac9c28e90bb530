// Blocks of operands that broadcast into a dense result.
//
// Dimensions are sorted by the strides of the result and merged where all operands allow it, so
// that channels-last tensors are walked in the order of their memory. An operand that is not dense
// in a block of the result is expanded into a buffer of at most kRunBufferLength elements; a buffer
// is reused while its contents stay the same. Cost: one pass over the result and the operands.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_BROADCAST_RUN_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_BROADCAST_RUN_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// The walk over a result and its operands.
class BroadcastRun {
 public:
  static constexpr int kMaxOperands = 8;
  // An operand: elements of `size` bytes (1, 2, 4 or 8) with a stride, in elements, per dimension of
  // the result (0 where it broadcasts).
  struct Operand {
    const void* data = nullptr;
    int64_t size = 0;
    Strides strides;
  };
  // Computes n elements of the result from n elements of each operand. `part` is the number of the
  // calling thread, below context.num_threads().
  using Block = absl::FunctionRef<void(int part, const void* const* operands, void* out, size_t n)>;

  // Computes whole rows of n elements. Operand k of row r begins at r * steps[k] elements; the rows of
  // the result are stored together.
  using Rows = absl::FunctionRef<void(int part, const void* const* operands, const int64_t* steps,
                                      void* out, size_t rows, size_t n)>;

  // Appends an operand. Precondition: fewer than kMaxOperands were added; strides have the rank of
  // the result.
  void Add(const Operand& operand) { operands_[count_++] = operand; }
  // Appends a tensor. Precondition: its sizes broadcast to `sizes`, those of the result.
  void Add(const TensorView& tensor, const Sizes& sizes);

  // Plans the walk over `out`, a tensor with at least one element. False if it is not dense.
  bool Plan(const TensorView& out);

  // Calls `block` for all elements, at most `most` at a time, divided among the threads of
  // `context`. `work` is the cost of one element in multiply-adds. Precondition: Plan returned
  // true.
  void Run(const KernelContext& context, double work, int64_t most, Block block) const;

  // Returns which one of two operands has one element per row, if the other one has adjacent elements
  // and rows are long enough to be computed one by one; else -1. Precondition: Plan returned true.
  int RowScalar() const;
  // Run() for an operand per row: calls `rows` with operands in place. Precondition: RowScalar() is not
  // -1.
  void RunRowsInPlace(const KernelContext& context, double work, Rows rows) const;

 private:
  // How an operand is stored relative to a block of whole rows of the result.
  enum class RowLayout : uint8_t { kDense, kRepeated, kScalars, kScalar, kRows, kStrided };

  // Computes columns [begin, end) of rows [first, last). Precondition: all columns, unless there is
  // one row.
  void RunRows(int part, int64_t most, Block block, int64_t first, int64_t last, int64_t begin,
               int64_t end) const;
  RowLayout LayoutOf(int operand) const;
  struct Buffer;
  // Returns the n elements from `offset` on of an operand in a block of `rows` rows: in place, or
  // expanded into the buffer.
  const void* Expand(int operand, RowLayout layout, int64_t offset, int64_t rows, int64_t n,
                     Buffer& buffer) const;

  Operand operands_[kMaxOperands];
  int count_ = 0;
  // Merged dimensions, outermost first; the last one is a row. strides_[k] are those of operand k.
  Sizes sizes_;
  Strides strides_[kMaxOperands];
  std::byte* out_ = nullptr;
  int64_t out_size_ = 0;  // bytes of an element
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_BROADCAST_RUN_H_
