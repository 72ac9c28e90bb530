// Which strides the results of pointwise operators have: the rule of PyTorch's TensorIterator.
//
// Source: aten/src/ATen/TensorIterator.cpp ("Computing output strides"). Operands that agree on a
// dense layout pass it on; otherwise dimensions are sorted by the strides of the operands, the
// first ones first, and the result is dense in that order. Symbolic sizes and strides are compared
// by trying large numbers for their symbols.
#ifndef BELAY_EXIR_OPS_POINTWISE_LAYOUT_H_
#define BELAY_EXIR_OPS_POINTWISE_LAYOUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/op/tensor_meta.h"
#include "runtime/core/evalue.h"

namespace belay::exir {

// The result of these operands. Precondition: they broadcast to `sizes`.
TensorMeta PointwiseResult(DType dtype, std::vector<SymInt> sizes,
                           absl::Span<const TensorMeta* const> operands);

// What empty_like and its kin make for a memory format: kPreserve keeps a dense layout and
// otherwise follows the rule above. kInvalidArgument when a channels-last format does not fit the
// rank.
absl::StatusOr<TensorMeta> ResultLike(DType dtype, const TensorMeta& self, MemoryFormat format);

// Contiguous or channels last. kInvalidArgument when the format does not fit the rank, or is
// kPreserve.
absl::StatusOr<TensorMeta> ResultInFormat(DType dtype, std::vector<SymInt> sizes,
                                          MemoryFormat format);

}  // namespace belay::exir

#endif  // BELAY_EXIR_OPS_POINTWISE_LAYOUT_H_
