// Tensors, and their sizes and strides, made of a fuzzer's bytes.
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
// A permutation; row-major most of the time.
DimOrder GenerateDimOrder(ByteSource& source, int rank);

// Owns its elements; nothing lies behind the last one.
struct GeneratedTensor {
  TensorView view;
  AlignedBuffer memory;
};
// Elements are the source's bytes (zeros once they are used up), bools 0 or 1. Strides are those of
// any order, with gaps sometimes.
//   kInvalidArgument, kResourceExhausted  the sizes have no number of elements, or too many
absl::StatusOr<GeneratedTensor> GenerateTensor(ByteSource& source, DType dtype, const Sizes& sizes);
// The same with these strides, none of them negative.
absl::StatusOr<GeneratedTensor> FillTensor(ByteSource& source, DType dtype, const Sizes& sizes,
                                           const Strides& strides);

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_GENERATORS_TENSOR_GENERATOR_H_
