#include "runtime/kernels/pointwise/broadcast_run.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/pointwise.h"
#include "runtime/kernels/operands/ranges.h"

namespace belay {
namespace {

// Shorter rows are computed several at a time.
constexpr int64_t kShortRow = 512;
// Least number of copies of an element in a buffer for several blocks of a row.
constexpr int64_t kLeastReused = 512;
// Rows of fewer elements are not computed one by one.
constexpr int64_t kLeastRow = 16;

// Repeats the first `bytes` bytes of `to` until `total` bytes are filled.
void Repeat(std::byte* to, int64_t bytes, int64_t total) {
  for (int64_t done = bytes; done < total;) {
    const int64_t n = std::min(done, total - done);
    std::memcpy(to + done, to, static_cast<size_t>(n));
    done += n;
  }
}

// Rows of up to as many elements of four bytes are filled by one store.
constexpr int64_t kFewColumns = 16;

// Fills row r of `width` elements of four bytes, width <= kFewColumns, with the element at from + r
// * step. Also writes to the kFewColumns elements after the last row.
void FillNarrowRows(const std::byte* from, int64_t step, int64_t rows, int64_t width,
                    std::byte* to) {
  for (int64_t r = 0; r < rows; ++r, from += step, to += width * 4) {
    uint32_t element, copies[kFewColumns];
    std::memcpy(&element, from, sizeof(element));
    std::fill_n(copies, kFewColumns, element);
    std::memcpy(to, copies, sizeof(copies));
  }
}

}  // namespace

// The buffer of an operand that is not dense in a block.
struct BroadcastRun::Buffer {
  RunStorage storage;
  // The element or row whose copies fill the buffer, and their number of elements. Null for buffers
  // of several elements or rows.
  const std::byte* source = nullptr;
  int64_t count = 0;
};

bool BroadcastRun::Plan(const TensorView& out) {
  const int rank = out.rank();
  int order[kMaxRank];
  std::iota(order, order + rank, 0);
  std::sort(order, order + rank, [&](int a, int b) {
    return out.strides[a] != out.strides[b] ? out.strides[a] > out.strides[b] : a < b;
  });
  sizes_.clear();
  for (int k = 0; k < count_; ++k) strides_[k].clear();
  int64_t dense = out.numel();  // the stride of the next outer dimension
  for (int i = 0; i < rank; ++i) {
    const int d = order[i];
    const int64_t size = out.sizes[d];
    if (size == 1) continue;
    dense /= size;
    if (out.strides[d] != dense) return false;
    const int last = sizes_.size() - 1;
    bool merges = last >= 0;
    for (int k = 0; merges && k < count_; ++k) {
      merges = strides_[k][last] == operands_[k].strides[d] * size;
    }
    if (merges) {
      sizes_[last] *= size;
      for (int k = 0; k < count_; ++k) strides_[k][last] = operands_[k].strides[d];
      continue;
    }
    sizes_.push_back(size);
    for (int k = 0; k < count_; ++k) strides_[k].push_back(operands_[k].strides[d]);
  }
  if (sizes_.empty()) {
    sizes_.push_back(1);
    for (int k = 0; k < count_; ++k) strides_[k].push_back(0);
  }
  out_ = out.as<std::byte>();
  out_size_ = static_cast<int64_t>(DTypeSize(out.dtype));
  return true;
}

BroadcastRun::RowLayout BroadcastRun::LayoutOf(int operand) const {
  const int row = sizes_.size() - 1;
  const int64_t inner = strides_[operand][row];
  const int64_t outer = row == 0 ? 0 : strides_[operand][row - 1];
  if (inner == 0) return outer == 0 ? RowLayout::kScalar : RowLayout::kScalars;
  if (inner != 1) return RowLayout::kStrided;
  if (row > 0 && outer == sizes_[row]) return RowLayout::kDense;
  return outer == 0 && row > 0 ? RowLayout::kRepeated : RowLayout::kRows;
}

void BroadcastRun::RunRows(int part, int64_t most, Block block, int64_t first, int64_t last,
                           int64_t begin, int64_t end_of_row) const {
  const int row = sizes_.size() - 1;
  const int64_t length = sizes_[row], rows_inner = row == 0 ? 1 : sizes_[row - 1];
  // Rows of a block; a single row may be computed in part.
  const int64_t rows_at_once = row == 0 || length >= kShortRow ? 1 : kRunBufferLength / length;
  RowLayout layouts[kMaxOperands];
  // In blocks of one row. `whole`: no operand is expanded into a buffer. `reused`: only operands
  // with one element per row are, so that several blocks of the row use the same buffer.
  bool whole = true, reused = true;
  for (int k = 0; k < count_; ++k) {
    layouts[k] = LayoutOf(k);
    whole = whole && strides_[k][row] == 1;
    reused = reused && (strides_[k][row] == 0 || strides_[k][row] == 1);
  }
  const int64_t expanded =
      reused ? std::clamp(length / 2, kLeastReused, kRunBufferLength) : kRunBufferLength;
  const int64_t step =
      rows_at_once > 1 ? length : std::min({length, most, whole ? length : expanded});

  Buffer buffers[kMaxOperands];
  // The offsets of the operands at the row's outer dimensions.
  int64_t outer = first / rows_inner, inner = first % rows_inner;
  while (first < last) {
    int64_t offsets[kMaxOperands] = {};
    int64_t rest = outer;
    for (int d = row - 2; d >= 0; --d) {
      const int64_t index = rest % sizes_[d];
      rest /= sizes_[d];
      for (int k = 0; k < count_; ++k) offsets[k] += index * strides_[k][d];
    }
    const int64_t end = std::min(rows_inner, inner + (last - first));
    while (inner < end) {
      const int64_t rows = std::min(rows_at_once, end - inner);
      for (int64_t at = begin; at < end_of_row; at += step) {
        const int64_t n = rows > 1 ? rows * length : std::min(step, end_of_row - at);
        const void* from[kMaxOperands];
        for (int k = 0; k < count_; ++k) {
          const int64_t between = row == 0 ? 0 : strides_[k][row - 1];
          const int64_t offset = offsets[k] + inner * between + at * strides_[k][row];
          from[k] = Expand(k, layouts[k], offset, rows, n, buffers[k]);
        }
        block(part, from, out_ + (first * length + at) * out_size_, static_cast<size_t>(n));
      }
      inner += rows;
      first += rows;
    }
    inner = 0;
    ++outer;
  }
}

const void* BroadcastRun::Expand(int operand, RowLayout layout, int64_t offset, int64_t rows,
                                 int64_t n, Buffer& buffer) const {
  const int row = sizes_.size() - 1;
  const Strides& strides = strides_[operand];
  const int64_t size = operands_[operand].size, width = n / rows;
  const auto* source = static_cast<const std::byte*>(operands_[operand].data) + offset * size;
  if (layout == RowLayout::kDense || (rows == 1 && strides[row] == 1)) return source;

  std::byte* const to = buffer.storage.bytes;
  const bool one_element =
      layout == RowLayout::kScalar || (rows == 1 && layout == RowLayout::kScalars);
  if (one_element || layout == RowLayout::kRepeated) {
    if (buffer.source == source && buffer.count >= n) return to;
    buffer.source = source;
    buffer.count = n;
    if (one_element) {
      FillRun(source, n, static_cast<size_t>(size), to);
    } else {
      std::memcpy(to, source, static_cast<size_t>(width * size));
      Repeat(to, width * size, n * size);
    }
    return to;
  }
  buffer.source = nullptr;
  const int64_t between = row == 0 ? 0 : strides[row - 1] * size;
  if (layout == RowLayout::kScalars && size == 4 && width <= kFewColumns) {
    static_assert(sizeof(buffer.storage.bytes) >= (kRunBufferLength + kFewColumns) * 4);
    FillNarrowRows(source, between, rows, width, to);
    return to;
  }
  for (int64_t r = 0; r < rows; ++r) {
    std::byte* const target = to + r * width * size;
    const std::byte* const from = source + r * between;
    if (layout == RowLayout::kScalars) {
      FillRun(from, width, static_cast<size_t>(size), target);
    } else {
      GatherRun(from, strides[row], width, static_cast<size_t>(size), target);
    }
  }
  return to;
}

void BroadcastRun::Run(const KernelContext& context, double work, int64_t most, Block block) const {
  const int64_t length = sizes_[sizes_.size() - 1];
  if (sizes_.size() == 1) {
    RunRanges(context, length, /*step=*/64, work * static_cast<double>(length),
              [&](int part, int64_t begin, int64_t end) {
                RunRows(part, most, block, 0, 1, begin, end);
              });
    return;
  }
  const int64_t rows = std::accumulate(sizes_.begin(), sizes_.end() - 1, int64_t{1},
                                       [](int64_t a, int64_t b) { return a * b; });
  // Truth values are bytes: parts begin at whole cache lines of the result.
  const int64_t step = std::max<int64_t>(1, 64 / length);
  RunRanges(context, rows, step, work * static_cast<double>(rows * length),
            [&](int part, int64_t first, int64_t last) {
              RunRows(part, most, block, first, last, 0, length);
            });
}

int BroadcastRun::RowScalar() const {
  const int row = sizes_.size() - 1;
  if (count_ != 2 || row == 0 || sizes_[row] < kLeastRow) return -1;
  const int scalar = strides_[0][row] == 0 ? 0 : 1;
  return strides_[scalar][row] == 0 && strides_[1 - scalar][row] == 1 ? scalar : -1;
}

void BroadcastRun::RunRowsInPlace(const KernelContext& context, double work, Rows rows) const {
  const int row = sizes_.size() - 1;
  const int64_t length = sizes_[row], inner = sizes_[row - 1];
  const int64_t total = std::accumulate(sizes_.begin(), sizes_.end() - 1, int64_t{1},
                                        [](int64_t a, int64_t b) { return a * b; });
  Sizes outer = sizes_;
  outer.erase(row);
  RunRanges(context, total, /*step=*/1, work * static_cast<double>(total * length),
            [&](int part, int64_t first, int64_t last) {
              while (first < last) {
                const int64_t n = std::min(inner - first % inner, last - first);
                const void* from[2];
                int64_t steps[2];
                for (int k = 0; k < 2; ++k) {
                  from[k] = static_cast<const std::byte*>(operands_[k].data) +
                            OffsetAt(first, outer, strides_[k]) * operands_[k].size;
                  steps[k] = strides_[k][row - 1];
                }
                rows(part, from, steps, out_ + first * length * out_size_, static_cast<size_t>(n),
                     static_cast<size_t>(length));
                first += n;
              }
            });
}

void BroadcastRun::Add(const TensorView& tensor, const Sizes& sizes) {
  Add({tensor.data, static_cast<int64_t>(DTypeSize(tensor.dtype)),
       BroadcastStrides({nullptr, &tensor, tensor.dtype}, sizes)});
}

}  // namespace belay
