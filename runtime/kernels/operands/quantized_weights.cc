#include "runtime/kernels/operands/quantized_weights.h"

#include "runtime/core/str_cat.h"

namespace belay {

absl::Status QuantizedEmbeddingOperands::CheckRow(int64_t row) const {
  if (row >= 0 && row < weight->sizes[0]) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("indices: ", row, " is outside a weight of ", weight->sizes[0], " rows"));
}

}  // namespace belay
