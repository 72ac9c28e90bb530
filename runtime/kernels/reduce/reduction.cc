#include "runtime/kernels/reduce/reduction.h"

#include <algorithm>

#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {
namespace {

// Slices of at most 16 elements are reduced as columns, many results at a time.
constexpr int64_t kShortSlice = 16;
// Results that are computed together as the columns of a block: a vector.
constexpr int64_t kLeastColumns = 8;
// Shorter runs are joined in a buffer; the sums of runs of at least kLeastSum floats are added.
constexpr int64_t kLeastRun = 128, kLeastSum = 16;

}  // namespace

Reduction::KeptDims Reduction::Join(const Fold& fold, const Strides& first, const Strides& second) {
  KeptDims kept;
  for (int d = 0; d < fold.kept.size(); ++d) {
    const int64_t size = fold.kept[d];
    if (size == 1) continue;
    const int last = kept.sizes.size() - 1;
    if (last >= 0 && kept.self[last] == fold.kept_strides[d] * size &&
        kept.out[0][last] == first[d] * size && kept.out[1][last] == second[d] * size) {
      kept.sizes[last] *= size;
    } else {
      kept.sizes.push_back(size);
      kept.self.push_back(0);
      kept.out[0].push_back(0);
      kept.out[1].push_back(0);
    }
    const int end = kept.sizes.size() - 1;
    kept.self[end] = fold.kept_strides[d];
    kept.out[0][end] = first[d];
    kept.out[1][end] = second[d];
  }
  // Neighboring elements of `self` are the columns of a block, whatever the layout of the outputs.
  const int last = kept.sizes.size() - 1;
  for (int d = 0; d < last; ++d) {
    if (kept.self[d] != 1 || kept.sizes[d] < kLeastColumns) continue;
    const auto move = [d](auto& list) {
      const int64_t x = list[d];
      list.erase(d);
      list.push_back(x);
    };
    move(kept.sizes);
    for (Strides* strides : {&kept.self, &kept.out[0], &kept.out[1]}) move(*strides);
    break;
  }
  return kept;
}

Reduction::Reduction(const Fold& fold, const TensorView& first, const TensorView& second)
    : fold_(fold),
      kept_(Join(fold, fold.OutputStrides(first), fold.OutputStrides(second))),
      type_(LoopType(fold.self->dtype)),
      count_(fold.count()) {
  const int last = kept_.sizes.size() - 1;
  // Rows of at least one vector whose elements go to different results, if the slices are not
  // contiguous themselves, or too short for a loop of their own.
  const RunCursor cursor(fold.folded, fold.folded_strides);
  columns_ = last >= 0 && kept_.sizes[last] >= kLeastColumns &&
             (kept_.self[last] == 1 ? cursor.stride() != 1 : count_ <= kShortSlice);
  column_step_ = columns_ ? kept_.self[last] : 1;
  SetRuns(cursor);
  run_ = fold.self->dtype == type_ && runs_ == 1;
  bytes_ = DTypeSize(fold.self->dtype) == 1 && runs_ == 1 && !columns_;
  if (!columns_ && last >= 0 && kept_.sizes[last] < kLeastColumns && kept_.self[last] == 1 &&
      fold.self->dtype == type_ && cursor.stride() == kept_.sizes[last] &&
      cursor.group() == count_) {
    narrow_width_ = kept_.sizes[last];
  }
}

void Reduction::ForEachBlock(const KernelContext& context, BlockFn block) const {
  Sizes outer = kept_.sizes;
  int64_t length = 1, steps[2] = {0, 0};
  if (columns_) {
    const int last = outer.size() - 1;
    length = outer[last];
    for (int k = 0; k < 2; ++k) steps[k] = kept_.out[k][last];
    outer.erase(last);
  }
  const int64_t results = NumElements(outer).value_or(0);
  if (results == 0 || length == 0) return;
  // Whole cache lines, as many columns at a time as go round the threads.
  const int64_t share = (length / context.num_threads() + 63) / 64 * 64;
  const int64_t block_columns = std::clamp<int64_t>(share, 64, kReduceBlock);
  const int64_t blocks = (length + block_columns - 1) / block_columns;
  const double work = static_cast<double>(results) * static_cast<double>(length) *
                      static_cast<double>(count_ + 1) * kFoldWork;
  RunRanges(context, results * blocks, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
    int64_t result = first / blocks, at = first % blocks * block_columns;
    int64_t base = OffsetAt(result, outer, kept_.self);
    int64_t starts[2] = {OffsetAt(result, outer, kept_.out[0]),
                         OffsetAt(result, outer, kept_.out[1])};
    const int inner = outer.size() - 1;
    const int64_t row = inner < 0 ? 1 : outer[inner];
    int64_t position = result % row;
    for (int64_t i = first; i < last; ++i) {
      const int64_t offsets[2] = {starts[0] + at * steps[0], starts[1] + at * steps[1]};
      block(base + at * column_step_, std::min(block_columns, length - at), offsets, steps);
      at += block_columns;
      if (at < length) continue;
      at = 0;
      ++result;
      if (++position < row) {  // steps are cheaper than OffsetAt
        base += kept_.self[inner];
        for (int k = 0; k < 2; ++k) starts[k] += kept_.out[k][inner];
      } else if (i + 1 < last) {
        position = 0;
        base = OffsetAt(result, outer, kept_.self);
        for (int k = 0; k < 2; ++k) starts[k] = OffsetAt(result, outer, kept_.out[k]);
      }
    }
  });
}

void Reduction::ForEachRow(int64_t base, int64_t width, RowsFn fn) const {
  if (count_ == 0) return;  // data may be null
  const int64_t bytes = static_cast<int64_t>(DTypeSize(fold_.self->dtype));
  const std::byte* data = fold_.self->as<const std::byte>() + base * bytes;
  if (columns_) {
    Sizes outer = fold_.folded;
    int64_t rows = 1, row_step = 0;
    if (!outer.empty()) {
      const int last = outer.size() - 1;
      rows = outer[last];
      row_step = fold_.folded_strides[last];
      outer.erase(last);
    }
    for (StridedIterator<1> it(outer, {fold_.folded_strides}); !it.done(); it.Next()) {
      const std::byte* x = data + it.offset(0) * bytes;
      if (fold_.self->dtype == type_ && column_step_ == 1) {
        fn(x, rows, row_step, width);
        continue;
      }
      // As many gathered and converted rows as fit the buffer.
      RunStorage gathered;
      struct {
        alignas(64) std::byte bytes[8 * kReduceBlock * sizeof(float)];
      } buffer;
      const int64_t row_bytes = width * static_cast<int64_t>(DTypeSize(type_));
      for (int64_t done = 0, n; done < rows; done += n) {
        n = std::min(rows - done, static_cast<int64_t>(sizeof(buffer.bytes)) / row_bytes);
        for (int64_t r = 0; r < n; ++r, x += row_step * bytes) {
          const std::byte* row = x;
          if (column_step_ != 1) {
            GatherRun(x, column_step_, width, static_cast<size_t>(bytes), gathered.bytes);
            row = gathered.bytes;
          }
          ConvertRun(fold_.self->dtype, row, type_, buffer.bytes + r * row_bytes,
                     static_cast<size_t>(width));
        }
        fn(static_cast<const std::byte*>(buffer.bytes), n, width, width);
      }
    }
    return;
  }
  ForEachRun(base, [&](const std::byte* run, int64_t n) {
    const int64_t whole = n / kReduceLanes, done = whole * kReduceLanes;
    if (whole > 0) fn(run, whole, kReduceLanes, kReduceLanes);
    if (done == n) return;
    fn(run + done * static_cast<int64_t>(DTypeSize(type_)), int64_t{1}, int64_t{0}, n - done);
  });
}

void Reduction::ForEachRun(int64_t base, RunFn fn) const {
  if (count_ == 0) return;  // data may be null
  const std::byte* data =
      fold_.self->as<const std::byte>() + base * static_cast<int64_t>(DTypeSize(fold_.self->dtype));
  if (run_) {
    fn(data, count_);
    return;
  }
  RunStorage buffer;
  if (runs_ > 0 && count_ / runs_ >= kLeastRun) {
    const DType dtype = fold_.self->dtype;
    const int64_t length = count_ / runs_, bytes = static_cast<int64_t>(DTypeSize(dtype));
    for (int64_t r = 0; r < runs_; ++r, data += run_step_ * bytes) {
      if (dtype == type_) {
        fn(data, length);
        continue;
      }
      for (int64_t at = 0, n; at < length; at += n) {
        n = std::min(length - at, kRunBufferLength);
        ConvertRun(dtype, data + at * bytes, type_, buffer.bytes, static_cast<size_t>(n));
        fn(static_cast<const std::byte*>(buffer.bytes), n);
      }
    }
    return;
  }
  RunSource source(data, fold_.self->dtype, fold_.folded, fold_.folded_strides, type_);
  for (int64_t left = count_; left > 0;) {
    const int64_t n = source.in_place() && source.group() >= kReduceLanes
                          ? std::min(left, source.group())
                          : std::min(left, kRunBufferLength);
    fn(static_cast<const std::byte*>(source.Next(n, buffer)), n);
    left -= n;
  }
}

std::optional<FloatRuns> Reduction::Runs(int64_t* out_step) const {
  // One or two rows are faster as columns.
  if (!run_ || type_ != DType::kFloat32 || (columns_ && count_ <= 2) || kept_.sizes.size() > 1) {
    return std::nullopt;
  }
  const float* const data = fold_.self->as<const float>();
  if (kept_.sizes.empty()) return FloatRuns{data, count_};
  *out_step = kept_.out[0][0];
  return FloatRuns{data, count_, kept_.sizes[0], kept_.self[0]};
}

std::optional<FloatRuns> Reduction::RunsOf(int64_t base) const {
  if (runs_ == 0 || fold_.self->dtype != DType::kFloat32) return std::nullopt;
  return FloatRuns{fold_.self->as<const float>() + base, count_ / runs_, runs_, run_step_};
}

void Reduction::ForEachNarrowRow(const KernelContext& context, NarrowRowFn row) const {
  Sizes outer = kept_.sizes;
  const int last = outer.size() - 1;
  const int64_t step = kept_.out[0][last];
  outer.erase(last);
  const int64_t rows = NumElements(outer).value_or(0);
  const double work =
      static_cast<double>(rows * narrow_width_) * static_cast<double>(count_ + 1) * kFoldWork;
  RunRanges(context, rows, /*step=*/1, work, [&](int, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      row(OffsetAt(i, outer, kept_.self), OffsetAt(i, outer, kept_.out[0]), step);
    }
  });
}

void Reduction::SetRuns(const RunCursor& cursor) {
  if (count_ == 0 || (cursor.stride() != 1 && count_ > 1)) return;
  const int64_t length = cursor.group();
  if (length == count_) {
    runs_ = 1;
    return;
  }
  // The outer dimensions are equidistant if they are a run of their own.
  Sizes outer;
  Strides strides;
  int64_t inner = 1;
  for (int d = fold_.folded.size() - 1; d >= 0; --d) {
    if (inner < length) {
      inner *= fold_.folded[d];
    } else {
      outer.insert(0, fold_.folded[d]);
      strides.insert(0, fold_.folded_strides[d]);
    }
  }
  const RunCursor runs(outer, strides);
  if (inner != length || length < kLeastSum || runs.group() != count_ / length) return;
  runs_ = count_ / length;
  run_step_ = runs.stride();
}

}  // namespace belay
