#include "runtime/kernels/element_copy/copy_strided.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/core/status_macros.h"
#include "runtime/kernels/element_copy/convert_run.h"

#ifndef BELAY_RUNTIME_KERNELS_ELEMENTS_COPY_LOOPS_
#define BELAY_RUNTIME_KERNELS_ELEMENTS_COPY_LOOPS_
namespace belay {
// Inner loops of copies for one element size.
struct CopyLoops {
  void (*transpose)(const void* in, int64_t in_row, void* out, int64_t out_row, int64_t rows,
                    int64_t columns);
  void (*run)(const void* in, int64_t in_step, void* out, int64_t out_step, int64_t n);
  // Copies rows of kLeastRow bytes or more. Steps are in bytes.
  void (*rows)(const std::byte* in, int64_t in_step, std::byte* out, int64_t out_step, int64_t rows,
               size_t bytes);
};
inline constexpr size_t kLeastRow = 4;
}  // namespace belay
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/element_copy/copy_strided.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Number of 128-bit blocks per vector: at most two, or four where whole cache lines are stored.
#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR || HWY_MAX_BYTES < 32
constexpr int kMostBlocks = 1, kLineBlocks = 1;
#elif HWY_MAX_BYTES < 64
constexpr int kMostBlocks = 2, kLineBlocks = 2;
#else
constexpr int kMostBlocks = 2, kLineBlocks = 4;
#endif

// Loads a vector from `in`: block i from in + i * step.
template <int kBlocks, class T>
HWY_INLINE auto LoadBlocks(const T* in, [[maybe_unused]] int64_t step) {
  const hn::Full128<T> block;
  if constexpr (kBlocks == 1) {
    return hn::LoadU(block, in);
  } else {
    constexpr int kHalf = kBlocks / 2;
    return hn::Combine(hn::FixedTag<T, kBlocks * 16 / sizeof(T)>(),
                       LoadBlocks<kHalf>(in + kHalf * step, step), LoadBlocks<kHalf>(in, step));
  }
}

// Transposes kBlocks vertically adjacent squares to horizontally adjacent ones. A square has as
// many rows as a 128-bit vector has elements; each block of a vector belongs to one square. Each
// stage interleaves the first half of the rows with the second. After log2(rows) stages, columns
// have become rows.
template <int kBlocks, class T>
HWY_INLINE void TransposeTile(const T* HWY_RESTRICT in, int64_t in_row, T* HWY_RESTRICT out,
                              int64_t out_row) {
  const hn::FixedTag<T, kBlocks * 16 / sizeof(T)> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kRows = 16 / sizeof(T);
  V a[kRows], b[kRows];
  for (int i = 0; i < kRows; ++i) a[i] = LoadBlocks<kBlocks>(in + i * in_row, kRows * in_row);
  for (int stage = 1; stage < kRows; stage *= 2) {
    for (int i = 0; i < kRows / 2; ++i) {
      b[2 * i] = hn::InterleaveLower(d, a[i], a[i + kRows / 2]);
      b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + kRows / 2]);
    }
    for (int i = 0; i < kRows; ++i) a[i] = b[i];
  }
  for (int i = 0; i < kRows; ++i) hn::StoreU(a[i], d, out + i * out_row);
}

// Transposes columns from c on, below c_end, in whole tiles, for `rows` rows: a multiple of a
// square's. Returns the first column that is left.
template <int kBlocks, class T>
HWY_INLINE int64_t TransposeColumns(const T* HWY_RESTRICT in, int64_t in_row, T* HWY_RESTRICT out,
                                    int64_t out_row, int64_t rows, int64_t c, int64_t c_end) {
  constexpr int64_t kRows = 16 / sizeof(T), kColumns = kBlocks * kRows;
  for (; c + kColumns <= c_end; c += kColumns) {
    for (int64_t r = 0; r < rows; r += kRows) {
      TransposeTile<kBlocks>(in + c * in_row + r, in_row, out + r * out_row + c, out_row);
    }
  }
  return c;
}

// Interleaves two planes to pairs. Processes whole vectors and returns the number of pairs done, at
// most `count`.
template <class T>
HWY_INLINE int64_t PairsOfPlanes(const T* HWY_RESTRICT in, int64_t plane, T* HWY_RESTRICT out,
                                 int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreInterleaved2(hn::LoadU(d, in + i), hn::LoadU(d, in + plane + i), d, out + 2 * i);
  }
  return i;
}

// The inverse: deinterleaves pairs to two planes.
template <class T>
HWY_INLINE int64_t PlanesOfPairs(const T* HWY_RESTRICT in, T* HWY_RESTRICT out, int64_t plane,
                                 int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<decltype(d)> a, b;
    hn::LoadInterleaved2(d, in + 2 * i, a, b);
    hn::StoreU(a, d, out + i);
    hn::StoreU(b, d, out + plane + i);
  }
  return i;
}

// Interleaves three planes to pixels of three elements. Processes whole vectors and returns the
// number of pixels done, at most `count`.
template <class T>
HWY_INLINE int64_t PixelsOfPlanes(const T* HWY_RESTRICT in, int64_t plane, T* HWY_RESTRICT out,
                                  int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreInterleaved3(hn::LoadU(d, in + i), hn::LoadU(d, in + plane + i),
                          hn::LoadU(d, in + 2 * plane + i), d, out + 3 * i);
  }
  return i;
}

// The inverse: deinterleaves pixels to three planes.
template <class T>
HWY_INLINE int64_t PlanesOfPixels(const T* HWY_RESTRICT in, T* HWY_RESTRICT out, int64_t plane,
                                  int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<decltype(d)> a, b, c;
    hn::LoadInterleaved3(d, in + 3 * i, a, b, c);
    hn::StoreU(a, d, out + i);
    hn::StoreU(b, d, out + plane + i);
    hn::StoreU(c, d, out + 2 * plane + i);
  }
  return i;
}

// Deinterleaves the first kRows elements of groups of four to planes. Returns `count`, or 0 if
// there are too few groups.
template <int kRows, class T>
HWY_INLINE int64_t PlanesOfQuads(const T* HWY_RESTRICT in, T* HWY_RESTRICT out, int64_t plane,
                                 int64_t count) {
  // Short vectors, since the groups are often the channels of a pixel.
  const hn::CappedTag<T, 16> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count <= lanes) return 0;
  const auto move = [&](int64_t i, auto shift) HWY_ATTR {
    constexpr int kShift = decltype(shift)::value;
    hn::Vec<decltype(d)> v[4];
    hn::LoadInterleaved4(d, in + 4 * i - kShift, v[0], v[1], v[2], v[3]);
    for (int r = 0; r < kRows; ++r) hn::StoreU(v[kShift + r], d, out + r * plane + i);
  };
  int64_t i = 0;
  for (; i + lanes < count; i += lanes) move(i, std::integral_constant<int, 0>());
  // The last group has kRows elements. The last vector overlaps the one before it.
  move(count - lanes, std::integral_constant<int, 4 - kRows>());
  return count;
}

// out[r * out_row + c] = in[c * in_row + r] for r < rows, c < columns.
template <class T>
void Transpose(const void* source, int64_t in_row, void* target, int64_t out_row, int64_t rows,
               int64_t columns) {
  const T* HWY_RESTRICT in = static_cast<const T*>(source);
  T* HWY_RESTRICT out = static_cast<T*>(target);
  if (columns == 2 && out_row == 2) {
    const int64_t done = PairsOfPlanes(in, in_row, out, rows);
    in += done;
    out += 2 * done;
    rows -= done;
  } else if (rows == 2 && in_row == 2) {
    const int64_t done = PlanesOfPairs(in, out, out_row, columns);
    in += 2 * done;
    out += done;
    columns -= done;
  } else if (columns == 3 && out_row == 3) {
    const int64_t done = PixelsOfPlanes(in, in_row, out, rows);
    in += done;
    out += 3 * done;
    rows -= done;
  } else if (rows == 3 && in_row == 3) {
    const int64_t done = PlanesOfPixels(in, out, out_row, columns);
    in += 3 * done;
    out += done;
    columns -= done;
  } else if (rows > 1 && rows <= 4 && in_row == 4) {
    const int64_t done = rows == 2   ? PlanesOfQuads<2>(in, out, out_row, columns)
                         : rows == 3 ? PlanesOfQuads<3>(in, out, out_row, columns)
                                     : PlanesOfQuads<4>(in, out, out_row, columns);
    in += 4 * done;
    out += done;
    columns -= done;
  }
  // Tiles that read whole cache lines of 64 bytes. If the rows of the result are far apart, long
  // runs of each are written; and whole lines at once if the lines of 16 rows have at most two sets
  // of the first-level cache, where they would evict each other.
  constexpr int64_t kTile = 16 / sizeof(T), kLine = 64 / sizeof(T);
  const bool far = out_row > in_row;
  const bool whole_lines = far && out_row * int64_t{sizeof(T)} % 2048 == 0;
  const int64_t block = far ? 512 : 64;
  for (int64_t c0 = 0; c0 < columns; c0 += block) {
    const int64_t c_end = HWY_MIN(columns, c0 + block);
    const auto tiles = [&](int64_t first, int64_t count) HWY_ATTR {
      const T* HWY_RESTRICT from = in + first;
      T* HWY_RESTRICT to = out + first * out_row;
      int64_t c = c0;
      if (whole_lines) {
        c = TransposeColumns<kLineBlocks>(from, in_row, to, out_row, count, c, c_end);
      }
      c = TransposeColumns<kMostBlocks>(from, in_row, to, out_row, count, c, c_end);
      c = TransposeColumns<1>(from, in_row, to, out_row, count, c, c_end);
      for (; c < c_end; ++c) {
        for (int64_t r = first; r < first + count; ++r) out[r * out_row + c] = in[c * in_row + r];
      }
    };
    int64_t r = 0;
    for (; r + kLine <= rows; r += kLine) tiles(r, kLine);
    for (; r + kTile <= rows; r += kTile) tiles(r, kTile);
    for (; r < rows; ++r) {
      for (int64_t c = c0; c < c_end; ++c) out[r * out_row + c] = in[c * in_row + r];
    }
  }
}

// out[i * out_step] = in[i * in_step]. Frequent steps have separate loops without multiplication.
// Two neighboring elements may be copied as one of T, with the alignment of theirs.
template <class T>
void CopyRun(const void* source, int64_t in_step, void* target, int64_t out_step, int64_t n) {
  using Element __attribute__((aligned(1), may_alias)) = T;
  const Element* HWY_RESTRICT in = static_cast<const Element*>(source);
  Element* HWY_RESTRICT out = static_cast<Element*>(target);
  if (out_step == 1 && in_step == 0) {
    const T x = in[0];
    for (int64_t i = 0; i < n; ++i) out[i] = x;
  } else if (out_step == 1 && in_step == -1) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[-i];
  } else if (out_step == 1 && in_step == 2) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[2 * i];
  } else if (out_step == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * in_step];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * out_step] = in[i * in_step];
  }
}

// Copies rows of kBytes bytes or more by vectors of at most kBytes bytes. The last vector of a row
// overlaps the one before it.
template <size_t kBytes>
HWY_INLINE void CopyRowsBy(const std::byte* HWY_RESTRICT in, int64_t in_step,
                           std::byte* HWY_RESTRICT out, int64_t out_step, int64_t rows,
                           size_t bytes) {
  const hn::CappedTag<uint8_t, kBytes> d;
  const size_t lanes = hn::Lanes(d);
  // Short rows wait for the cache lines that they write, unless those are requested ahead.
  const int64_t ahead = bytes <= 2048 ? 1 + static_cast<int64_t>(512 / bytes) : rows;
  for (int64_t r = 0; r < rows; ++r, in += in_step, out += out_step) {
    const auto* HWY_RESTRICT from = reinterpret_cast<const uint8_t*>(in);
    auto* HWY_RESTRICT to = reinterpret_cast<uint8_t*>(out);
    if (kBytes == 64 && r + ahead < rows) {
      for (size_t at = 0; at < bytes; at += 64) {
        __builtin_prefetch(to + ahead * out_step + at, /*rw=*/1);
      }
    }
    size_t i = 0;
    for (; i + lanes <= bytes; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (i == bytes) continue;
    i = bytes - lanes;
    hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  }
}

// Implements CopyLoops::rows.
void CopyRows(const std::byte* in, int64_t in_step, std::byte* out, int64_t out_step, int64_t rows,
              size_t bytes) {
  if (bytes >= 64) return CopyRowsBy<64>(in, in_step, out, out_step, rows, bytes);
  if (bytes >= 32) return CopyRowsBy<32>(in, in_step, out, out_step, rows, bytes);
  if (bytes >= 16) return CopyRowsBy<16>(in, in_step, out, out_step, rows, bytes);
  if (bytes >= 8) return CopyRowsBy<8>(in, in_step, out, out_step, rows, bytes);
  return CopyRowsBy<kLeastRow>(in, in_step, out, out_step, rows, bytes);
}

// Returns the loops for elements of 1, 2, 4 or 8 bytes.
CopyLoops CopyLoopsImpl(size_t bytes) {
  switch (bytes) {
    case 1:
      return {&Transpose<uint8_t>, &CopyRun<uint8_t>, &CopyRows};
    case 2:
      return {&Transpose<uint16_t>, &CopyRun<uint16_t>, &CopyRows};
    case 4:
      return {&Transpose<uint32_t>, &CopyRun<uint32_t>, &CopyRows};
    default:
      return {&Transpose<uint64_t>, &CopyRun<uint64_t>, &CopyRows};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {
namespace {

HWY_EXPORT(CopyLoopsImpl);

// A copy with its dimensions in the target's memory order, the innermost last. Dimensions that are
// contiguous in both tensors are merged; dimensions of size 1 are dropped.
struct Plan {
  int rank = 0;
  int64_t sizes[kMaxRank] = {}, from[kMaxRank] = {}, to[kMaxRank] = {};
};

Plan PlanOf(const TensorView& from, const TensorView& to) {
  int order[kMaxRank];
  int rank = 0;
  for (int d = 0; d < to.rank(); ++d) {
    if (to.sizes[d] != 1) order[rank++] = d;
  }
  // Insertion sort: at most kMaxRank dimensions, nearly sorted.
  for (int i = 1; i < rank; ++i) {
    const int d = order[i];
    int k = i;
    for (; k > 0 && to.strides[order[k - 1]] < to.strides[d]; --k) order[k] = order[k - 1];
    order[k] = d;
  }
  Plan plan;
  for (int i = 0; i < rank; ++i) {
    const int d = order[i];
    const int last = plan.rank - 1;
    if (last >= 0 && plan.from[last] == from.strides[d] * from.sizes[d] &&
        plan.to[last] == to.strides[d] * to.sizes[d]) {
      plan.sizes[last] *= to.sizes[d];
      plan.from[last] = from.strides[d];
      plan.to[last] = to.strides[d];
    } else {
      plan.sizes[plan.rank] = to.sizes[d];
      plan.from[plan.rank] = from.strides[d];
      plan.to[plan.rank] = to.strides[d];
      ++plan.rank;
    }
  }
  return plan;
}

// Calls fn(from_offset, to_offset) for each index of the first `rank` dimensions.
template <class Fn>
void ForEachOuter(const Plan& plan, int rank, Fn&& fn) {
  int64_t index[kMaxRank] = {};
  int64_t f = 0, t = 0;
  while (true) {
    fn(f, t);
    int d = rank - 1;
    for (; d >= 0; --d) {
      f += plan.from[d];
      t += plan.to[d];
      if (++index[d] < plan.sizes[d]) break;
      f -= plan.from[d] * plan.sizes[d];
      t -= plan.to[d] * plan.sizes[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

void MoveElements(Plan plan, const std::byte* from, std::byte* to, size_t size) {
  const int64_t bytes = static_cast<int64_t>(size);
  if (plan.rank == 0) {
    std::memmove(to, from, size);
    return;
  }
  const int last = plan.rank - 1;
  if (plan.from[last] == 1 && plan.to[last] == 1) {
    const size_t run = static_cast<size_t>(plan.sizes[last]) * size;
    // memmove is as fast for longer rows.
    constexpr size_t kMostRow = 1024;
    if (last > 0 && run >= kLeastRow && run <= kMostRow) {
      const CopyLoops loops = HWY_DYNAMIC_DISPATCH(CopyLoopsImpl)(size);
      const int row = last - 1;
      ForEachOuter(plan, row, [&](int64_t f, int64_t t) {
        loops.rows(from + f * bytes, plan.from[row] * bytes, to + t * bytes, plan.to[row] * bytes,
                   plan.sizes[row], run);
      });
      return;
    }
    ForEachOuter(plan, last, [&](int64_t f, int64_t t) {
      std::memmove(to + t * bytes, from + f * bytes, run);
    });
    return;
  }
  const CopyLoops loops = HWY_DYNAMIC_DISPATCH(CopyLoopsImpl)(size);
  // If another dimension is the source's innermost one, this is a plane transposition.
  for (int d = 0; d < last && plan.to[last] == 1; ++d) {
    if (plan.from[d] != 1) continue;
    const int64_t rows = plan.sizes[d], in_row = plan.from[last], out_row = plan.to[d];
    for (int k = d; k + 1 < last; ++k) {
      plan.sizes[k] = plan.sizes[k + 1];
      plan.from[k] = plan.from[k + 1];
      plan.to[k] = plan.to[k + 1];
    }
    ForEachOuter(plan, last - 1, [&](int64_t f, int64_t t) {
      loops.transpose(from + f * bytes, in_row, to + t * bytes, out_row, rows, plan.sizes[last]);
    });
    return;
  }
  ForEachOuter(plan, last, [&](int64_t f, int64_t t) {
    loops.run(from + f * bytes, plan.from[last], to + t * bytes, plan.to[last], plan.sizes[last]);
  });
}

void ConvertElements(const Plan& plan, const TensorView& from, const TensorView& to) {
  constexpr int64_t kPiece = 256;
  const int64_t from_bytes = static_cast<int64_t>(DTypeSize(from.dtype)),
                to_bytes = static_cast<int64_t>(DTypeSize(to.dtype));
  const CopyLoops load = HWY_DYNAMIC_DISPATCH(CopyLoopsImpl)(DTypeSize(from.dtype)),
                  store = HWY_DYNAMIC_DISPATCH(CopyLoopsImpl)(DTypeSize(to.dtype));
  const int last = plan.rank - 1;
  const int64_t count = last < 0 ? 1 : plan.sizes[last], in_step = last < 0 ? 1 : plan.from[last],
                out_step = last < 0 ? 1 : plan.to[last];
  ForEachOuter(plan, std::max(last, 0), [&](int64_t f, int64_t t) {
    const std::byte* in = from.as<const std::byte>() + f * from_bytes;
    std::byte* out = to.as<std::byte>() + t * to_bytes;
    if (in_step == 1 && out_step == 1)
      return ConvertRun(from.dtype, in, to.dtype, out, static_cast<size_t>(count));
    alignas(64) std::byte loaded[kPiece * sizeof(int64_t)], converted[kPiece * sizeof(int64_t)];
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t n = std::min(kPiece, count - i);
      load.run(in + i * in_step * from_bytes, in_step, loaded, 1, n);
      ConvertRun(from.dtype, loaded, to.dtype, converted, static_cast<size_t>(n));
      store.run(converted, 1, out + i * out_step * to_bytes, out_step, n);
    }
  });
}

}  // namespace

absl::Status CopyStrided(const TensorView& from, const TensorView& to) {
  const bool converts = from.dtype != to.dtype;
  if (!converts && from.sizes == to.sizes && from.is_contiguous() && to.is_contiguous()) {
    const size_t bytes = from.nbytes();
    if (bytes != 0) std::memmove(to.data, from.data, bytes);
    return absl::OkStatus();
  }
  if (from.dtype == DType::kFloat32 && to.dtype == DType::kComplex64 && from.sizes == to.sizes &&
      from.is_contiguous() && to.is_contiguous() && !MayOverlap(from, to)) {
    const float* const in = from.as<const float>();
    float* const out = to.as<float>();
    for (int64_t i = 0, n = from.numel(); i < n; ++i) {
      out[2 * i] = in[i];
      out[2 * i + 1] = 0;
    }
    return absl::OkStatus();
  }
  const bool known = converts ? kRunTypes.contains(from.dtype) && kRunTypes.contains(to.dtype)
                              : DTypeSize(from.dtype) <= 8;
  // CopyElements reports the errors and copies dtypes without loops here.
  if (!(from.sizes == to.sizes) || !known || from.numel() == 0 || MayOverlap(from, to))
    return CopyElements(from, to);
  const Plan plan = PlanOf(from, to);
  if (converts) {
    ConvertElements(plan, from, to);
  } else {
    MoveElements(plan, from.as<const std::byte>(), to.as<std::byte>(), DTypeSize(from.dtype));
  }
  return absl::OkStatus();
}

void CopyConvertible(const TensorView& from, const TensorView& to) {
  const bool copied = CopyStrided(from, to).ok();
  ABSL_DCHECK(copied);
}

void CopyFlipped(const TensorView& from, uint32_t mask, const TensorView& to) {
  if (from.numel() == 0) return;
  TensorView flipped = from;
  int64_t first = 0;
  for (int d = 0; d < from.rank(); ++d) {
    if (((mask >> d) & 1) == 0) continue;
    first += (from.sizes[d] - 1) * from.strides[d];
    flipped.strides[d] = -from.strides[d];
  }
  const size_t size = DTypeSize(from.dtype);
  MoveElements(PlanOf(flipped, to), from.as<const std::byte>() + first * static_cast<int64_t>(size),
               to.as<std::byte>(), size);
}

void FillStrided(const TensorView& to, const void* element) {
  if (to.numel() == 0) return;
  TensorView one = to;
  one.strides = Strides(to.rank(), int64_t{0});
  const Plan plan = PlanOf(one, to);
  const size_t size = DTypeSize(to.dtype);
  if (size > 8) {
    ForEachOuter(plan, plan.rank, [&](int64_t, int64_t t) {
      std::memcpy(to.as<std::byte>() + t * static_cast<int64_t>(size), element, size);
    });
    return;
  }
  MoveElements(plan, static_cast<const std::byte*>(element), to.as<std::byte>(), size);
}

}  // namespace belay
#endif  // HWY_ONCE
