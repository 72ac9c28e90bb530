// Rows of the logits that a method of a language model returns.
#ifndef BELAY_RUNTIME_LLM_LOGITS_ROWS_H_
#define BELAY_RUNTIME_LLM_LOGITS_ROWS_H_

#include <cstdint>

#include "runtime/core/element.h"
#include "runtime/core/tensor_view.h"

namespace belay::llm {

// Number of rows of [.., n, v], [B, 1, v] or [B, v].
inline int64_t LogitsRows(const TensorView& logits) {
  int64_t rows = 1;
  for (int d = 0; d + 1 < logits.rank(); ++d) rows *= logits.sizes[d];
  return logits.numel() == 0 ? 0 : rows;
}

// Converts row `row` to float32. Preconditions: float32, bfloat16 or float16; of the dimensions
// before the last, at most one is above 1; 0 <= row < LogitsRows(logits).
inline void CopyLogits(const TensorView& logits, int64_t row, float* to) {
  const int last = logits.rank() - 1;
  int64_t offset = 0;
  for (int d = 0; d < last; ++d) {
    if (logits.sizes[d] > 1) offset = row * logits.strides[d];
  }
  const auto copy = [&](const auto* from) {
    for (int64_t j = 0; j < logits.sizes[last]; ++j) {
      to[j] = static_cast<float>(from[offset + j * logits.strides[last]]);
    }
  };
  if (logits.dtype == DType::kFloat32) copy(logits.as<const float>());
  if (logits.dtype == DType::kBFloat16) copy(logits.as<const BFloat16>());
  if (logits.dtype == DType::kFloat16) copy(logits.as<const Half>());
}

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_LOGITS_ROWS_H_
