// Generates tensors, sizes and strides from a fuzzer's bytes.
#ifndef BELAY_FUZZ_GENERATORS_TENSOR_GENERATOR_H_
#define BELAY_FUZZ_GENERATORS_TENSOR_GENERATOR_H_

#include "absl/status/statusor.h"
#include "fuzz/generators/byte_source.h"
#include "runtime/core/arena.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"

namespace belay::fuzz {

DType GenerateDType(ByteSource& source);
// At most `max_rank` dimensions and `max_elements` elements; sizes of 0 and 1 are frequent.
Sizes GenerateSizes(ByteSource& source, int max_rank, int64_t max_elements);
// Returns a permutation, row-major most of the time.
DimOrder GenerateDimOrder(ByteSource& source, int rank);

// Owns its elements. The allocation ends after the last element.
struct GeneratedTensor {
  TensorView view;
  AlignedBuffer memory;
};
// Elements are the source's bytes (zeros at its end); bools are 0 or 1. Strides have any dimension
// order, sometimes with gaps.
//   kInvalidArgument    the number of elements overflows
//   kResourceExhausted  too many elements
absl::StatusOr<GeneratedTensor> GenerateTensor(ByteSource& source, DType dtype, const Sizes& sizes);
// Same, with the given strides, which must not be negative.
absl::StatusOr<GeneratedTensor> FillTensor(ByteSource& source, DType dtype, const Sizes& sizes,
                                           const Strides& strides);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_TENSOR_GENERATOR_H_
