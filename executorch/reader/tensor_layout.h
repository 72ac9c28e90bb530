// Dtype, sizes and dim order of a tensor as ExecuTorch's files have them (docs/pte-format.md §3,
// §5).
#ifndef BELAY_EXECUTORCH_READER_TENSOR_LAYOUT_H_
#define BELAY_EXECUTORCH_READER_TENSOR_LAYOUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "flatbuffers/flatbuffers.h"
#include "runtime/core/dtype.h"
#include "runtime/core/sizes.h"

namespace belay::pte {

struct TensorLayout {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  DimOrder dim_order;  // a permutation
  uint64_t bytes = 0;  // of all elements; fits in int64
};

// Reads the three fields of a table; either vector may be null.
//   kInvalidArgument  an invalid dtype number, a missing vector, a rank above kMaxRank, a negative
//                     size, a byte size of 2^63 or more, a dim order that is not a permutation
//   kUnimplemented    a dtype of ExecuTorch that Belay does not have; the message has its number
absl::StatusOr<TensorLayout> ReadLayout(int8_t scalar_type,
                                        const flatbuffers::Vector<int32_t>* sizes,
                                        const flatbuffers::Vector<uint8_t>* dim_order);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_TENSOR_LAYOUT_H_
