// Rows of batches of images.
#ifndef BELAY_RUNTIME_KERNELS_RESIZE_IMAGE_ROWS_H_
#define BELAY_RUNTIME_KERNELS_RESIZE_IMAGE_ROWS_H_

#include <cstdint>

#include "runtime/core/budget.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

// A row of an image of a batch.
struct ImageRow {
  int part;         // of the thread
  int64_t n, c, y;  // c = 0 for rows of all channels
  bool follows;     // whether the same part did row y - 1 of the same image before
};

// Calls fn(ImageRow) for every row of the output, on several threads. A part's rows are
// consecutive.
template <class Fn>
void ForEachRow(const KernelContext& context, const TensorView& out, bool all_channels, Fn&& fn) {
  const int64_t planes = all_channels ? 1 : out.sizes[1], height = out.sizes[2];
  const int64_t rows = out.sizes[0] * planes * height, length = out.numel() / rows;
  RunRanges(context, rows, 1, kElementWork * static_cast<double>(out.numel()),
            [&](int part, int64_t first, int64_t last) {
              Budget::Pace pace;
              for (int64_t r = first; r < last && !pace.Stop(2 * length); ++r) {
                const int64_t y = r % height;
                fn(ImageRow{part, r / height / planes, r / height % planes, y, r > first && y > 0});
              }
            });
}

// Returns a row of an image.
inline TensorView RowOf(const TensorView& t, int64_t n, int64_t c, int64_t y) {
  TensorView row = t;
  row.sizes = {t.sizes[3]};
  row.strides = {t.strides[3]};
  row.data = ElementAddress(t, n * t.strides[0] + c * t.strides[1] + y * t.strides[2]);
  return row;
}

// Returns the row as floats, in place or in `room`.
inline const float* FloatsOf(const TensorView& row, float* room) {
  if (row.dtype == DType::kFloat32 && row.strides[0] == 1) return row.as<const float>();
  if (row.strides[0] == 1) {
    LoadFloats(row.dtype, row.data, static_cast<size_t>(row.sizes[0]), room);
    return room;
  }
  CopyConvertible(row, TensorView::Contiguous(DType::kFloat32, row.sizes, room));
  return room;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_RESIZE_IMAGE_ROWS_H_
