// Sums of the columns of one matrix of float32, bfloat16 or float16: means over the pixels of a
// channels-last image.
#ifndef BELAY_RUNTIME_KERNELS_REDUCE_COLUMN_SUMS_H_
#define BELAY_RUNTIME_KERNELS_REDUCE_COLUMN_SUMS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/operands/fold.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/reduce/moments.h"

namespace belay {

// Threads divide the rows, not the columns: they read the pixels that they have just computed, and
// those stay in their caches. Each block of rows has sums of its own, which are added in the order of
// the blocks. Blocks depend only on sizes, so results do not depend on the number of threads.
struct ColumnSums {
  static constexpr int64_t kLeastRows = 32, kMostColumns = 4096;
  // Of all blocks. Two blocks of the most columns fit.
  static constexpr int64_t kMostSums = 8192;

  static constexpr DTypeSet kTypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

  const TensorView* self = nullptr;
  int64_t rows = 0, row_step = 0, columns = 0;

  // nullopt unless the elements of `fold` are rows of adjacent columns, as are those of `out`, with
  // enough rows for two blocks.
  static std::optional<ColumnSums> Of(const Fold& fold, const TensorView& out) {
    const TensorView& self = *fold.self;
    if (!kTypes.contains(self.dtype) || fold.count() < kLeastRows) return std::nullopt;
    ColumnSums sums = {.self = &self, .rows = fold.count(), .columns = 1};
    const Strides out_strides = fold.OutputStrides(out);
    for (int d = 0; d < fold.kept.size(); ++d) {
      if (fold.kept[d] == 1) continue;
      if (sums.columns != 1 || fold.kept_strides[d] != 1 || out_strides[d] != 1) {
        return std::nullopt;
      }
      sums.columns = fold.kept[d];
    }
    if (sums.columns <= 1 || sums.columns > kMostColumns) return std::nullopt;
    int64_t step = 0;  // of the next outer dimension
    for (int d = fold.folded.size() - 1; d >= 0; --d) {
      if (fold.folded[d] == 1) continue;
      if (step == 0) step = sums.row_step = fold.folded_strides[d];
      if (fold.folded_strides[d] != step) return std::nullopt;
      step *= fold.folded[d];
    }
    // Adjacent rows that are shorter than a vector are faster as one run.
    if (sums.columns < 8 && sums.row_step == sums.columns) return std::nullopt;
    return sums;
  }

  // Bytes of working memory; an upper bound for all layouts, and for all sizes up to those of `fold`:
  // fewer columns may have more blocks.
  static uint64_t ScratchBytes(const Fold& fold) {
    if (!kTypes.contains(fold.self->dtype)) return 0;
    constexpr int64_t kMany = std::numeric_limits<int64_t>::max();
    const int64_t rows = NumElements(fold.folded).value_or(kMany);
    const int64_t columns = std::min(NumElements(fold.kept).value_or(kMany), kMostColumns);
    return ScratchBytesOf<double>(std::min(Blocks(rows, 1) * columns, kMostSums));
  }

  // Sets element i of `out` to the sum of column i, to which finish(sums, count) was applied.
  // `loop` sums floats.
  absl::Status Run(const KernelContext& context, ReduceLoop loop, const TensorView& out,
                   absl::FunctionRef<void(double*, int64_t)> finish) const {
    const int64_t blocks = Blocks(rows, columns);
    ABSL_ASSIGN_OR_RETURN(double* const sums,
                          ScratchArray<double>(context, CheckedInt(blocks) * columns));
    std::fill_n(sums, blocks * columns, 0.0);
    const double work = kElementWork * static_cast<double>(rows) * static_cast<double>(columns);
    RunRanges(context, blocks, 1, work, [&](int, int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        const int64_t row = rows * b / blocks, end = rows * (b + 1) / blocks;
        for (int64_t c = 0; c < columns; c += kReduceBlock) {
          AddBlock(loop, row, end, c, std::min(kReduceBlock, columns - c), sums + b * columns + c);
        }
      }
    });
    for (int64_t b = 1; b < blocks; ++b) {
      for (int64_t c = 0; c < columns; ++c) sums[c] += sums[b * columns + c];
    }
    finish(sums, columns);
    ConvertRun(DType::kFloat64, sums, out.dtype, out.data, static_cast<size_t>(columns));
    return absl::OkStatus();
  }

 private:
  // Adds columns [column, column + width) of rows [row, end). Converts a few rows at a time.
  void AddBlock(ReduceLoop loop, int64_t row, int64_t end, int64_t column, int64_t width,
                double* sums) const {
    if (self->dtype == DType::kFloat32) {
      loop(self->as<const float>() + row * row_step + column, end - row, row_step, width, sums,
           nullptr);
      return;
    }
    constexpr int64_t kRows = 8;
    alignas(64) float floats[kRows * kReduceBlock];
    for (int64_t first = row; first < end; first += kRows) {
      const int64_t count = std::min(kRows, end - first);
      for (int64_t r = 0; r < count; ++r) {
        LoadFloats(self->dtype, ElementAddress(*self, (first + r) * row_step + column),
                   static_cast<size_t>(width), floats + r * kReduceBlock);
      }
      loop(floats, count, kReduceBlock, width, sums, nullptr);
    }
  }
  // 0 for too few rows, or an even number, which two threads divide equally. Few blocks of many
  // columns, whose sums would leave the first-level cache.
  static int64_t Blocks(int64_t rows, int64_t columns) {
    constexpr int64_t kBlockRows = 48, kMostBlocks = 16;
    if (rows < kLeastRows) return 0;
    const int64_t most =
        std::clamp<int64_t>(kMostSums / std::max<int64_t>(columns, 1), 2, kMostBlocks);
    return std::clamp<int64_t>(rows / kBlockRows, 2, most) / 2 * 2;
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REDUCE_COLUMN_SUMS_H_
