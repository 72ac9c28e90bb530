#include "runtime/kernels/packed/narrow_groups.h"

#include <type_traits>

#include "runtime/core/budget.h"
#include "runtime/kernels/packed/packed_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/narrow_groups.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/core/flush_subnormals.h"
#include "runtime/kernels/packed/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TagF32 = hn::CappedTag<float, kDepthwiseChannels>;
using V = hn::Vec<TagF32>;

// One vector of columns of C.
struct Columns {
  const float* b;                              // of the first tap and channel
  size_t input;                                // first element of A's rows that is read
  size_t inputs;                               // elements of A's rows from there on
  size_t column, count;                        // of C
  const int32_t (*lanes)[kDepthwiseChannels];  // [channel][lane]: element of A, from `input` on
};

// Rows of a tile.
struct Rows {
  const float* const* pointers;  // of A: [taps][stride]
  size_t stride;
  const size_t* offsets;  // of C's rows
};

// Elements of A per vector: permuted by `lanes`, one for all lanes, or one per lane in order.
enum class Load { kPermute, kBroadcast, kInOrder };

// kPartial: the last vector of A's elements extends beyond the row.
template <size_t kRows, Load kLoad, bool kPartial>
HWY_NOINLINE void Tile(const PackedGemmArgs& g, const Columns& v, const Rows& rows) {
  const TagF32 d;
  V sum[kRows];
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) sum[r] = hn::Zero(d);
  const float* HWY_RESTRICT b = v.b;
  const float* const* HWY_RESTRICT pointers = rows.pointers;
  for (size_t t = 0; t < g.taps; ++t, pointers += rows.stride) {
    const float* a[kRows];
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) a[r] = pointers[r] + v.input;
    for (size_t c = 0; c < g.k; ++c, b += kDepthwiseChannels) {
      const V w = hn::LoadU(d, b);
      const auto lanes = hn::SetTableIndices(d, v.lanes[c]);
      HWY_UNROLL(kRows)
      for (size_t r = 0; r < kRows; ++r) {
        V x;
        if constexpr (kLoad == Load::kBroadcast) {
          x = hn::Set(d, a[r][c]);
        } else {
          x = kPartial ? hn::LoadN(d, a[r], v.inputs) : hn::LoadU(d, a[r]);
          if constexpr (kLoad == Load::kPermute) x = hn::TableLookupLanes(x, lanes);
        }
        sum[r] = hn::MulAdd(x, w, sum[r]);
      }
    }
  }
  const EpilogueF32& e = g.epilogue;
  const bool linear = IsLinear(e);
  const V low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  const float* other = e.multiply ? nullptr : e.other;
  const V bias = e.bias == nullptr ? hn::Zero(d) : LoadSome(d, e.bias + v.column, v.count);
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const size_t at = rows.offsets[r] + v.column;
    V y = hn::Add(sum[r], bias);
    if (other != nullptr) y = hn::Add(y, LoadSome(d, other + at, v.count));
    if (linear) y = ClampKeepingNaN(d, y, low, high);
    StoreSome(d, y, g.c + at, v.count);
  }
}

template <size_t kRows, Load kLoad>
HWY_INLINE void TileOf(const PackedGemmArgs& g, const Columns& v, const Rows& rows) {
  if (kLoad != Load::kBroadcast && v.inputs < hn::Lanes(TagF32())) {
    Tile<kRows, kLoad, true>(g, v, rows);
  } else {
    Tile<kRows, kLoad, false>(g, v, rows);
  }
}

template <Load kLoad>
HWY_INLINE void TilesOf(const PackedGemmArgs& g, const Columns& v, Rows rows, size_t count) {
  constexpr size_t kMost = (HWY_TARGET <= HWY_AVX3 || HWY_TARGET_IS_NEON) ? kTileRows : 6;
  const auto run = [&](auto size) HWY_ATTR {
    constexpr size_t kRows = decltype(size)::value;
    for (; count >= kRows; count -= kRows, rows.pointers += kRows, rows.offsets += kRows) {
      TileOf<kRows, kLoad>(g, v, rows);
    }
  };
  run(std::integral_constant<size_t, kMost>());
  run(std::integral_constant<size_t, 4>());
  run(std::integral_constant<size_t, 1>());
}

void NarrowGroups(const PackedGemmArgs& g, size_t first_row, size_t last_row, size_t first_column,
                  size_t last_column) {
  const size_t lanes = hn::Lanes(TagF32()), all = g.groups * g.k;
  int32_t indices[8][kDepthwiseChannels];
  for (size_t c = 0; c < g.k; ++c) {
    for (size_t i = 0; i < lanes; ++i) {
      indices[c][i] = static_cast<int32_t>(g.n < lanes ? i / g.n * g.k + c : 0);
    }
  }
  const Load load = g.n >= lanes           ? Load::kBroadcast
                    : g.k == 1 && g.n == 1 ? Load::kInOrder
                                           : Load::kPermute;
  Budget::Pace pace;
  size_t offsets[kTileRows];
  for (size_t row = first_row; row < last_row; row += kTileRows) {
    const size_t count = HWY_MIN(kTileRows, last_row - row);
    const size_t columns = last_column - first_column;
    if (pace.Stop(static_cast<int64_t>(count * columns * (g.taps * g.k + 1)))) return;
    g.row_pointers(g.source, row, count, 0, g.taps, g.pointers);
    for (size_t r = 0; r < count; ++r) offsets[r] = g.RowOffset(row + r);
    const Rows rows = {g.pointers, count, offsets};
    for (size_t j = first_column; j < last_column; j += lanes) {
      const size_t input = j / g.n * g.k;
      const Columns v = {.b = g.b + j / kDepthwiseChannels * kDepthwiseChannels * g.taps * g.k +
                              j % kDepthwiseChannels,
                         .input = input,
                         .inputs = all - input,
                         .column = j,
                         .count = last_column - j,
                         .lanes = indices};
      switch (load) {
        case Load::kPermute:
          TilesOf<Load::kPermute>(g, v, rows, count);
          break;
        case Load::kBroadcast:
          TilesOf<Load::kBroadcast>(g, v, rows, count);
          break;
        case Load::kInOrder:
          TilesOf<Load::kInOrder>(g, v, rows, count);
          break;
      }
    }
    if (IsLinear(g.epilogue)) continue;
    for (size_t r = 0; r < count; ++r) {
      const size_t at = offsets[r] + first_column;
      FinishTile(g.epilogue, g.epilogue.other == nullptr ? nullptr : g.epilogue.other + at,
                 g.c + at, columns, 1, columns);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(NarrowGroups);
void NarrowGroupsRange(const PackedGemmArgs& args, size_t first_row, size_t last_row,
                       size_t first_column, size_t last_column) {
  if (first_row >= last_row || first_column >= last_column) return;
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(NarrowGroups)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
