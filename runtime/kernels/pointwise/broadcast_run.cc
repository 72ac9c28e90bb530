#include "runtime/kernels/pointwise/broadcast_run.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/kernels/call/ranges.h"
#include "runtime/kernels/elements/run_source.h"

namespace belay {
namespace {

// Shorter rows are computed several at a time.
constexpr int64_t kShortRow = 512;

// Repeats the first `bytes` bytes of `to` until `total` bytes are filled.
void Repeat(std::byte* to, int64_t bytes, int64_t total) {
  for (int64_t done = bytes; done < total;) {
    const int64_t n = std::min(done, total - done);
    std::memcpy(to + done, to, static_cast<size_t>(n));
    done += n;
  }
}

template <class T>
void Fill(std::byte* to, const std::byte* element, int64_t count) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  std::fill_n(reinterpret_cast<T*>(to), count, value);
}

template <class T>
void Gather(std::byte* to, const std::byte* from, int64_t stride, int64_t count) {
  const auto* elements = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) reinterpret_cast<T*>(to)[i] = elements[i * stride];
}

// Copies `count` elements of `size` bytes that are `stride` elements apart.
void GatherElements(std::byte* to, const std::byte* from, int64_t size, int64_t stride,
                    int64_t count) {
  switch (size) {
    case 1:
      return Gather<uint8_t>(to, from, stride, count);
    case 4:
      return Gather<uint32_t>(to, from, stride, count);
    case 8:
      return Gather<uint64_t>(to, from, stride, count);
    default:
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * size, from + i * stride * size, static_cast<size_t>(size));
      }
  }
}

void FillWith(std::byte* to, const std::byte* element, int64_t size, int64_t count) {
  switch (size) {
    case 1:
      return Fill<uint8_t>(to, element, count);
    case 4:
      return Fill<uint32_t>(to, element, count);
    case 8:
      return Fill<uint64_t>(to, element, count);
    default:
      std::memcpy(to, element, static_cast<size_t>(size));
      return Repeat(to, size, size * count);
  }
}

}  // namespace

bool BroadcastRun::Plan(const TensorView& out) {
  const int rank = out.rank();
  int order[kMaxRank];
  std::iota(order, order + rank, 0);
  std::sort(order, order + rank, [&](int a, int b) {
    return out.strides[a] != out.strides[b] ? out.strides[a] > out.strides[b] : a < b;
  });
  sizes_.clear();
  for (int k = 0; k < count_; ++k) strides_[static_cast<size_t>(k)].clear();
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
      merges = strides_[static_cast<size_t>(k)][last] ==
               operands_[static_cast<size_t>(k)].strides[d] * size;
    }
    if (merges) {
      sizes_[last] *= size;
      for (int k = 0; k < count_; ++k)
        strides_[static_cast<size_t>(k)][last] = operands_[static_cast<size_t>(k)].strides[d];
      continue;
    }
    sizes_.push_back(size);
    for (int k = 0; k < count_; ++k)
      strides_[static_cast<size_t>(k)].push_back(operands_[static_cast<size_t>(k)].strides[d]);
  }
  if (sizes_.empty()) {
    sizes_.push_back(1);
    for (int k = 0; k < count_; ++k) strides_[static_cast<size_t>(k)].push_back(0);
  }
  out_ = out.as<std::byte>();
  out_size_ = static_cast<int64_t>(DTypeSize(out.dtype));
  return true;
}

BroadcastRun::RowLayout BroadcastRun::LayoutOf(int operand) const {
  const int row = sizes_.size() - 1;
  const int64_t inner = strides_[static_cast<size_t>(operand)][row];
  const int64_t outer = row == 0 ? 0 : strides_[static_cast<size_t>(operand)][row - 1];
  if (inner == 0) return outer == 0 ? RowLayout::kScalar : RowLayout::kScalars;
  if (inner != 1) return RowLayout::kStrided;
  if (row > 0 && outer == sizes_[row]) return RowLayout::kDense;
  return outer == 0 && row > 0 ? RowLayout::kRepeated : RowLayout::kRows;
}

void BroadcastRun::RunRows(int part, int64_t most, Block block, int64_t first, int64_t last,
                           int64_t begin, int64_t end_of_row) const {
  const int row = sizes_.size() - 1;
  const int64_t length = sizes_[row], rows_inner = row == 0 ? 1 : sizes_[row - 1];
  // Rows that are computed together, and elements of a long row that are.
  const int64_t rows_at_once =
      length >= kShortRow ? 1 : std::max<int64_t>(1, kRunBufferLength / length);
  RowLayout layouts[kMaxOperands];
  bool whole = true;  // no operand is expanded into a buffer in blocks of one row
  for (int k = 0; k < count_; ++k) {
    layouts[k] = LayoutOf(k);
    whole = whole && strides_[static_cast<size_t>(k)][row] == 1;
  }
  const int64_t step =
      rows_at_once > 1 ? length : std::min({length, most, whole ? length : kRunBufferLength});

  RunStorage buffers[kMaxOperands];
  const std::byte* filled[kMaxOperands] = {};  // the source of a buffer's contents
  int64_t filled_count[kMaxOperands] = {};     // elements
  // The offsets of the operands at the row's outer dimensions.
  int64_t outer = first / rows_inner, inner = first % rows_inner;
  while (first < last) {
    int64_t offsets[kMaxOperands] = {};
    int64_t rest = outer;
    for (int d = row - 2; d >= 0; --d) {
      const int64_t index = rest % sizes_[d];
      rest /= sizes_[d];
      for (int k = 0; k < count_; ++k) offsets[k] += index * strides_[static_cast<size_t>(k)][d];
    }
    const int64_t end = std::min(rows_inner, inner + (last - first));
    while (inner < end) {
      const int64_t rows = std::min(rows_at_once, end - inner);
      for (int64_t at = begin; at < end_of_row; at += step) {
        const int64_t n = rows_at_once == 1 ? std::min(step, end_of_row - at) : rows * length;
        const void* from[kMaxOperands];
        for (int k = 0; k < count_; ++k) {
          const int64_t size = operands_[static_cast<size_t>(k)].size;
          const int64_t between = row == 0 ? 0 : strides_[static_cast<size_t>(k)][row - 1];
          const std::byte* source =
              static_cast<const std::byte*>(operands_[static_cast<size_t>(k)].data) +
              (offsets[k] + inner * between + at * strides_[static_cast<size_t>(k)][row]) * size;
          std::byte* buffer = buffers[k].bytes;
          from[k] = buffer;
          switch (layouts[k]) {
            case RowLayout::kDense:
              from[k] = source;
              break;
            case RowLayout::kRepeated:
              if (rows == 1) {
                from[k] = source;
              } else if (filled[k] != source || filled_count[k] < n) {
                std::memcpy(buffer, source, static_cast<size_t>(length * size));
                Repeat(buffer, length * size, n * size);
                filled[k] = source;
                filled_count[k] = n;
              }
              break;
            case RowLayout::kScalar:
              if (filled[k] != source || filled_count[k] < n) {
                FillWith(buffer, source, size, n);
                filled[k] = source;
                filled_count[k] = n;
              }
              break;
            case RowLayout::kScalars:
              if (rows == 1) {
                if (filled[k] != source || filled_count[k] < n) {
                  FillWith(buffer, source, size, n);
                  filled[k] = source;
                  filled_count[k] = n;
                }
              } else {
                for (int64_t r = 0; r < rows; ++r) {
                  FillWith(buffer + r * length * size, source + r * between * size, size, length);
                }
              }
              break;
            case RowLayout::kStrided: {
              const int64_t stride = strides_[static_cast<size_t>(k)][row];
              for (int64_t r = 0; r < rows; ++r) {
                GatherElements(buffer + r * length * size, source + r * between * size, size,
                               stride, rows == 1 ? n : length);
              }
              break;
            }
            case RowLayout::kRows:
              if (rows == 1) {
                from[k] = source;
              } else {
                for (int64_t r = 0; r < rows; ++r) {
                  std::memcpy(buffer + r * length * size, source + r * between * size,
                              static_cast<size_t>(length * size));
                }
              }
              break;
          }
        }
        block(part, from, out_ + (first * length + at) * out_size_, static_cast<size_t>(n));
        if (rows_at_once > 1) break;
      }
      inner += rows;
      first += rows;
    }
    inner = 0;
    ++outer;
  }
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

void BroadcastRun::Add(const TensorView& tensor, const Sizes& sizes) {
  Operand operand;
  operand.data = tensor.data;
  operand.size = static_cast<int64_t>(DTypeSize(tensor.dtype));
  operand.strides = Strides(sizes.size(), int64_t{0});
  const int lead = sizes.size() - tensor.rank();
  for (int d = 0; d < tensor.rank(); ++d) {
    if (tensor.sizes[d] != 1) operand.strides[lead + d] = tensor.strides[d];
  }
  Add(operand);
}

}  // namespace belay
