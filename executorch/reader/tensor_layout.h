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

// What the three fields of a table say; either vector may be null.
//   kInvalidArgument  no number of a dtype, a vector that is missing, a rank above kMaxRank, a
//                     negative size, bytes beyond 63 bits, a dim order that is no permutation
//   kUnimplemented    a dtype that ExecuTorch has and Belay has not; names its number
absl::StatusOr<TensorLayout> ReadLayout(int8_t scalar_type,
                                        const flatbuffers::Vector<int32_t>* sizes,
                                        const flatbuffers::Vector<uint8_t>* dim_order);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_TENSOR_LAYOUT_H_
