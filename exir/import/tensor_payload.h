// Creates constant tensors from storages of an archive, for raw and pickled payloads.
#ifndef BELAY_EXIR_IMPORT_TENSOR_PAYLOAD_H_
#define BELAY_EXIR_IMPORT_TENSOR_PAYLOAD_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/constant.h"
#include "runtime/core/dtype.h"

namespace belay::exir {

// Layout as a file declares it; sizes and strides in elements.
struct TensorLayout {
  DType dtype = DType::kFloat32;
  absl::Span<const int64_t> sizes;
  absl::Span<const int64_t> strides;
  int64_t storage_offset = 0;
};

// Returns the bytes from the start of a storage to the end of the last element. kInvalidArgument,
// naming the tensor, if numbers are negative, overflow or mismatch; kUnimplemented for more than
// kMaxRank dimensions.
absl::StatusOr<uint64_t> BytesNeeded(std::string_view tensor, const TensorLayout& layout);

// kDataLoss "… needs 128 bytes, but <where> has 100" if the storage is too short or its size is not
// a multiple of the element size.
absl::StatusOr<ConstantTensor> MakeTensor(std::string_view tensor, const TensorLayout& layout,
                                          Storage storage, std::string_view where);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_TENSOR_PAYLOAD_H_
