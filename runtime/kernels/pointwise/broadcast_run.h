// Pointwise loops over operands that broadcast into a dense result without conversions.
//
// Dimensions are sorted by the strides of the result and merged where all operands allow it, so
// that channels-last tensors are walked in the order of their memory. An operand that is not dense
// in a block of the result is expanded into a buffer of at most kRunBufferLength elements; a buffer
// is reused while its contents stay the same. Cost: one pass over the result and the operands.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_BROADCAST_RUN_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_BROADCAST_RUN_H_

#include <cstdint>

#include "runtime/core/tensor_view.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernels/call/pointwise.h"
#include "runtime/kernels/pointwise/loops.h"

namespace belay {

// The walk over a result and its operands.
class BroadcastRun {
 public:
  // An operand: elements of `size` bytes with a stride, in elements, per dimension of the result
  // (0 where it broadcasts).
  struct Operand {
    const void* data;
    int64_t size;
    Strides strides;
  };

  // Appends an operand. Precondition: fewer than kMaxOperands were added; strides have the rank of
  // the result.
  void Add(const Operand& operand) { operands_[count_++] = operand; }

  // Plans the walk over `out`, a tensor with at least one element. False if this class does not
  // compute it: the result is not dense, or an operand has an innermost stride other than 0 and 1.
  bool Plan(const TensorView& out);

  // Computes all elements, divided among the threads of `context`. `work` is the cost of one
  // element in multiply-adds. Precondition: Plan returned true.
  void Run(const KernelContext& context, VectorLoop loop, const PointwiseParams& params,
           double work) const;

 private:
  // How an operand is stored relative to a block of whole rows of the result.
  enum class RowLayout : uint8_t { kDense, kRepeated, kScalars, kScalar, kRows };

  // Computes columns [begin, end) of rows [first, last). Precondition: all columns, unless there is
  // one row.
  void RunRows(VectorLoop loop, const PointwiseParams& params, int64_t first, int64_t last,
               int64_t begin, int64_t end) const;
  RowLayout LayoutOf(int operand) const;

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
