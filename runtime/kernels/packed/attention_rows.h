// Rows of keys and values of one head, for attention.h. Elements are widened to float exactly.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_ROWS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/dtype.h"

namespace belay {

struct HeadRows {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;  // or kBFloat16, kFloat16
  int64_t stride = 0;             // elements from one row to the next

  // The rows from `offset` elements on.
  HeadRows From(int64_t offset) const;
};

// out[s] = scale * sum over i < n of query[i] * keys[s, i], for s < count. `is_first`: the rows
// come from memory, and those after them are prefetched.
void KeyDots(const float* query, const HeadRows& keys, size_t count, size_t n, float scale,
             bool is_first, float* out);

// out[j] += sum over s < count of weights[s] * rows[s, j], for j < n; `overwrites`: out[j] = the
// sum. `is_first` as above.
void AddWeightedRows(const float* weights, const HeadRows& rows, size_t count, size_t n,
                     bool is_first, bool overwrites, float* out);

// Transposes `count` rows of `size` elements into panels of kPanelColumns (packed_weights.h) rows:
//   packed(panel, k, j) = rows[panel * kPanelColumns + j, k], 0 for rows beyond `count`
void PackKeys(const HeadRows& rows, size_t count, size_t size, float* packed);

// Divides the columns of `count` rows of `size` elements into panels:
//   packed(panel, s, j) = rows[s, panel * kPanelColumns + j], 0 for columns beyond `size`
void PackValues(const HeadRows& rows, size_t count, size_t size, float* packed);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_ATTENTION_ROWS_H_
