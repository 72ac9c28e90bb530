// Rows of a grouped GEMM, where each group of rows has its own matrix (_grouped_mm).
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_GROUPED_ROWS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_GROUPED_ROWS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

// Returns rows [first, end) of a matrix. Precondition: the rows exist.
inline TensorView RowsOf(const TensorView& matrix, int64_t first, int64_t end) {
  TensorView rows = matrix;
  rows.data = PartAddress(matrix, first * matrix.strides[0]);
  rows.sizes[0] = end - first;
  return rows;
}

// Calls fn(group, first, end) for every nonempty group, in order. If rows follow the last group,
// ends with fn(-1, first, rows). Group i ends before row ends[i].
//   kOutOfRange       a group ends before it begins or after the last row; fn was called for the
//                     groups before it
template <class Fn>
absl::Status ForEachGroup(const TensorView& ends, int64_t rows, Fn&& fn) {
  const Reader<int64_t> read(ends);
  int64_t first = 0;
  for (int64_t group = 0; group < ends.sizes[0]; ++group) {
    const int64_t end = read(group * ends.strides[0]);
    if (end < first || end > rows) {
      return absl::OutOfRangeError(absl::StrCat("offs: group ", group, " ends at row ", end,
                                                ", expected ", first, " to ", rows));
    }
    if (end > first) fn(group, first, end);
    first = end;
  }
  if (first != rows) fn(int64_t{-1}, first, rows);
  return absl::OkStatus();
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_GROUPED_ROWS_H_
