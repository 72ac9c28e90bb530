#include "runtime/kernels/movement/padding.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/ranges.h"

namespace belay {
namespace {

// One dimension, in the target's memory order.
struct PaddedDim {
  int64_t from_size = 1, to_size = 1, from_stride = 0, to_stride = 0, before = 0;

  // Index in the source for index i of the target; -1 for the constant.
  int64_t Source(int64_t i, PadFill fill) const {
    // Overflows only for a large negative padding; the position is then after the last element.
    const int64_t at = CheckedSub(i, before).value_or(std::numeric_limits<int64_t>::max());
    const int64_t last = from_size - 1;
    if (at >= 0 && at <= last) return at;
    if (fill == PadFill::kReflect) return at < 0 ? -at : 2 * last - at;
    if (fill == PadFill::kReplicate) return at < 0 ? 0 : last;
    return -1;
  }
  // How many indices from i on are inside the source.
  int64_t Inside(int64_t i) const {
    const int64_t at = CheckedSub(i, before).value_or(-1);
    return at >= 0 && at < from_size ? from_size - at : 0;
  }
};

// Elements between two checks of the budget.
constexpr int64_t kElementsAtOnce = 1 << 14;
constexpr size_t kShortRow = 2048, kCacheLine = 64;  // bytes

struct Row {
  PaddedDim dim;
  int64_t unit = 1;  // contiguous elements per position
  size_t bytes = 1;  // of an element
  PadFill fill = PadFill::kConstant;
  const void* constant = nullptr;

  void FillPositions(std::byte* to, int64_t first, int64_t last) const {
    const int64_t step = dim.to_stride * static_cast<int64_t>(bytes);
    if (dim.to_stride == unit) {
      return FillRun(constant, (last - first) * unit, bytes, to + first * step);
    }
    for (int64_t i = first; i < last; ++i) FillRun(constant, unit, bytes, to + i * step);
  }
  // Position i gets position start + slope * i of the source. kBytes of a position, or 0 for any
  // number.
  template <size_t kBytes>
  void CopyEach(const std::byte* from, std::byte* to, int64_t first, int64_t last, int64_t start,
                int64_t slope) const {
    const int64_t from_step = dim.from_stride * static_cast<int64_t>(bytes),
                  to_step = dim.to_stride * static_cast<int64_t>(bytes);
    const size_t size = kBytes != 0 ? kBytes : static_cast<size_t>(unit) * bytes;
    for (int64_t i = first; i < last; ++i) {
      std::memcpy(to + i * to_step, from + (start + slope * i) * from_step, size);
    }
  }
  // `edge` is the nearest position of the source, and its reflection is at mirror - i.
  template <size_t kBytes>
  void CopyBorder(const std::byte* from, std::byte* to, int64_t first, int64_t last, int64_t edge,
                  int64_t mirror) const {
    if (first >= last) return;
    if (fill == PadFill::kConstant) return FillPositions(to, first, last);
    if (fill == PadFill::kReplicate) return CopyEach<kBytes>(from, to, first, last, edge, 0);
    CopyEach<kBytes>(from, to, first, last, mirror, -1);
  }
  // Copies `rows` rows, from_step and to_step bytes apart.
  template <size_t kBytes>
  void Copy(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
            int64_t rows) const {
    const Row r = *this;  // in registers: bytes that are written may alias *this
    const int64_t first = std::clamp<int64_t>(dim.before, 0, dim.to_size);
    const int64_t last = std::clamp<int64_t>(dim.from_size + dim.before, first, dim.to_size);
    const bool together = dim.from_stride == unit && dim.to_stride == unit;
    const int64_t position = unit * static_cast<int64_t>(bytes);
    const auto inside = static_cast<size_t>((last - first) * position);
    for (; rows > 0; --rows, from += from_step, to += to_step) {
      // Short rows wait for the cache lines that they write, unless those are requested ahead.
      if (rows > 2 && inside <= kShortRow) {
        for (size_t at = 0; at < inside; at += kCacheLine) {
          __builtin_prefetch(to + 2 * to_step + at, /*rw=*/1);
        }
      }
      r.CopyBorder<kBytes>(from, to, 0, first, 0, r.dim.before);
      if (first < last && together) {
        std::memcpy(to + first * position, from + (first - r.dim.before) * position, inside);
      } else {
        r.CopyEach<kBytes>(from, to, first, last, -r.dim.before, 1);
      }
      r.CopyBorder<kBytes>(from, to, last, r.dim.to_size, r.dim.from_size - 1,
                           2 * (r.dim.from_size - 1) + r.dim.before);
    }
  }

  using CopyFn = void (Row::*)(const std::byte*, int64_t, std::byte*, int64_t, int64_t) const;
  CopyFn CopyOfPositions() const {
    switch (static_cast<size_t>(unit) * bytes) {
      case 1:
        return &Row::Copy<1>;
      case 2:
        return &Row::Copy<2>;
      case 4:
        return &Row::Copy<4>;
      case 8:
        return &Row::Copy<8>;
      default:
        return &Row::Copy<0>;
    }
  }
};

}  // namespace

void CopyPadded(const KernelContext& context, const TensorView& from, const TensorView& to,
                absl::Span<const int64_t> before, PadFill fill, const void* constant) {
  // Dimensions in the target's memory order, the innermost last.
  PaddedDim dims[kMaxRank];
  int rank = 0;
  for (int d = 0; d < to.rank(); ++d) {
    const PaddedDim dim = {from.sizes[d], to.sizes[d], from.strides[d], to.strides[d], before[d]};
    if (dim.to_size == 1 && dim.from_size == 1 && dim.before == 0) continue;
    int k = rank++;
    for (; k > 0 && dims[k - 1].to_stride < dim.to_stride; --k) dims[k] = dims[k - 1];
    dims[k] = dim;
  }
  Row row;
  row.bytes = DTypeSize(to.dtype);
  row.fill = fill;
  row.constant = constant;
  // Innermost dimensions without padding, contiguous in both tensors, are moved together.
  while (rank > 0 && dims[rank - 1].before == 0 &&
         dims[rank - 1].from_size == dims[rank - 1].to_size &&
         dims[rank - 1].from_stride == row.unit && dims[rank - 1].to_stride == row.unit) {
    row.unit *= dims[--rank].to_size;
  }
  if (rank > 0) {
    row.dim = dims[--rank];
  } else {
    row.dim.from_stride = row.dim.to_stride = row.unit;
  }
  // Rows along `line`, the next dimension, are found by adding.
  const PaddedDim line = rank > 0 ? dims[--rank] : PaddedDim();
  int64_t rows = line.to_size;
  for (int d = 0; d < rank; ++d) rows *= dims[d].to_size;
  const auto size = static_cast<int64_t>(row.bytes);
  const int64_t elements = row.dim.to_size * row.unit;
  const int64_t at_once = std::max<int64_t>(1, kElementsAtOnce / std::max<int64_t>(1, elements));
  const Row::CopyFn copy = row.CopyOfPositions();
  RunRanges(context, rows, 1,
            kElementWork * static_cast<double>(rows) * static_cast<double>(elements),
            [&](int, int64_t first, int64_t last) {
              Budget::Pace pace;
              while (first < last) {
                int64_t rest = first / line.to_size, f = 0, t = 0;
                bool outside = false;
                for (int d = rank - 1; d >= 0; --d) {
                  const int64_t index = rest % dims[d].to_size;
                  rest /= dims[d].to_size;
                  const int64_t source = dims[d].Source(index, fill);
                  outside = outside || source < 0;
                  f += source * dims[d].from_stride;
                  t += index * dims[d].to_stride;
                }
                const int64_t begin = first % line.to_size;
                const int64_t end = std::min(line.to_size, begin + last - first);
                for (int64_t i = begin, n; i < end; i += n) {
                  const int64_t source = line.Source(i, fill);
                  std::byte* const target = to.as<std::byte>() + (t + i * line.to_stride) * size;
                  // Rows inside the source are equidistant.
                  const int64_t left = line.Inside(i);
                  n = outside || left == 0 ? 1 : std::min({left, end - i, at_once});
                  if (pace.Stop(n * elements)) return;
                  if (outside || source < 0) {
                    row.FillPositions(target, 0, row.dim.to_size);
                  } else {
                    (row.*copy)(from.as<const std::byte>() + (f + source * line.from_stride) * size,
                                line.from_stride * size, target, line.to_stride * size, n);
                  }
                }
                first += end - begin;
              }
            });
}

}  // namespace belay
