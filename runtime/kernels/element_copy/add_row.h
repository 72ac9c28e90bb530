// Sums of rows.
#ifndef BELAY_RUNTIME_KERNELS_ELEMENT_COPY_ADD_ROW_H_
#define BELAY_RUNTIME_KERNELS_ELEMENT_COPY_ADD_ROW_H_

#include <cstdint>

namespace belay {

// sums[i * step] += row[i] for i < count.
void AddRow(const float* row, int64_t count, int64_t step, float* sums);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENT_COPY_ADD_ROW_H_
