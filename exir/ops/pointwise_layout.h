// Computes the strides of the results of pointwise operators by the rule of PyTorch's
// TensorIterator.
//
// Source: aten/src/ATen/TensorIterator.cpp ("Computing output strides"). If the operands agree on a
// dense layout, the result has it. Otherwise dimensions are sorted by the strides of the operands,
// with the first operands first, and the result is dense in that order. Symbolic sizes and strides
// are compared by substituting large numbers for their symbols.
#ifndef BELAY_EXIR_OPS_POINTWISE_LAYOUT_H_
#define BELAY_EXIR_OPS_POINTWISE_LAYOUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/op_definition/tensor_meta.h"
#include "runtime/core/evalue.h"

namespace belay::exir {

// Returns the result of these operands. Precondition: they broadcast to `sizes`.
TensorMeta PointwiseResult(DType dtype, std::vector<SymInt> sizes,
                           absl::Span<const TensorMeta* const> operands);

// Returns the result of empty_like and similar operators for a memory format. kPreserve keeps a
// dense layout and otherwise follows the rule above. kInvalidArgument if a channels-last format
// does not fit the rank.
absl::StatusOr<TensorMeta> ResultLike(DType dtype, const TensorMeta& self, MemoryFormat format);

// Returns a tensor in contiguous or channels-last format. kInvalidArgument if the format does not
// fit the rank, or is kPreserve.
absl::StatusOr<TensorMeta> ResultInFormat(DType dtype, std::vector<SymInt> sizes,
                                          MemoryFormat format);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_POINTWISE_LAYOUT_H_
