#include "runtime/kernels/packed/few_columns.h"

#include "runtime/core/budget.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/few_columns.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/packed/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

// Rows of a tile. The accumulators and operands fit the registers.
template <size_t kColumns>
constexpr size_t kRowsOf = kColumns == 1                                    ? 8
                           : (HWY_TARGET <= HWY_AVX3 || HWY_TARGET_IS_NEON) ? 6
                           : kColumns == 2                                  ? 4
                           : kColumns == 3                                  ? 3
                                                                            : 2;
// Interleaved sums of an element if A has fewer rows than a tile. They hide the latency of additions.
template <size_t kColumns>
constexpr size_t kPartsOf = kColumns <= 2 ? 4 : 2;

// sums[r][j] += a[r][p] * b[j][p] for one vector of p.
template <size_t kRows, size_t kColumns, class Load>
HWY_INLINE void Step(const float* const* a, const float* const* b, size_t p, const Load& load,
                     V (&sums)[kRows][kColumns]) {
  V bv[kColumns];
  HWY_UNROLL(kColumns)
  for (size_t j = 0; j < kColumns; ++j) bv[j] = load(b[j] + p);
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    const V x = load(a[r] + p);
    HWY_UNROLL(kColumns)
    for (size_t j = 0; j < kColumns; ++j) sums[r][j] = hn::MulAdd(x, bv[j], sums[r][j]);
  }
}

// Computes kRows rows: out[r][j] = sum over taps t and p of rows[t * kRows + r][p] * b[j][t * k + p].
template <size_t kRows, size_t kColumns, size_t kParts>
HWY_INLINE void Tile(const PackedGemmArgs& g, const float* const* rows, const float* const* b,
                     float (*out)[kFewColumns]) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kParts][kRows][kColumns];
  HWY_UNROLL(kParts)
  for (size_t s = 0; s < kParts; ++s) {
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      HWY_UNROLL(kColumns)
      for (size_t j = 0; j < kColumns; ++j) sums[s][r][j] = hn::Zero(d);
    }
  }
  const auto load = [&](const float* x) HWY_ATTR { return hn::LoadU(d, x); };
  const float* columns[kColumns];
  for (size_t j = 0; j < kColumns; ++j) columns[j] = b[j];
  for (size_t t = 0; t < g.taps; ++t, rows += kRows) {
    size_t p = 0;
    for (; p + kParts * lanes <= g.k; p += kParts * lanes) {
      HWY_UNROLL(kParts)
      for (size_t s = 0; s < kParts; ++s) {
        Step<kRows, kColumns>(rows, columns, p + s * lanes, load, sums[s]);
      }
    }
    for (; kParts > 1 && p + lanes <= g.k; p += lanes) {
      Step<kRows, kColumns>(rows, columns, p, load, sums[0]);
    }
    if (p < g.k) {
      const size_t rest = g.k - p;
      Step<kRows, kColumns>(
          rows, columns, p, [&](const float* x) HWY_ATTR { return hn::LoadN(d, x, rest); },
          sums[0]);
    }
    for (size_t j = 0; j < kColumns; ++j) columns[j] += g.k;
  }
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t j = 0; j < kColumns; ++j) {
      V sum = sums[0][r][j];
      HWY_UNROLL(kParts)
      for (size_t s = 1; s < kParts; ++s) sum = hn::Add(sum, sums[s][r][j]);
      out[r][j] = hn::ReduceSum(d, sum);
    }
  }
}

// Completes columns [first, first + kColumns) of rows from their sums.
template <size_t kColumns>
class RowFinish {
 public:
  RowFinish(const PackedGemmArgs& g, size_t first)
      : g_(g),
        first_(first),
        alpha_(g.alpha),
        low_(g.epilogue.low),
        high_(g.epilogue.high),
        linear_(IsLinear(g.epilogue)),
        clamps_(linear_ && HasBounds(g.epilogue)),
        other_(g.epilogue.multiply ? nullptr : g.epilogue.other),
        row_bias_(g.row_bias) {
    for (size_t j = 0; j < kColumns; ++j) {
      bias_[j] = g.epilogue.bias == nullptr ? 0 : g.epilogue.bias[first + j];
    }
  }

  HWY_INLINE void operator()(size_t row, const float* sums) const {
    const size_t at = g_.RowOffset(row) + first_;
    float* c = g_.c + at;
    const float row_bias = row_bias_ == nullptr ? 0 : row_bias_[row];
    HWY_UNROLL(kColumns)
    for (size_t j = 0; j < kColumns; ++j) {
      float y = alpha_ * sums[j] + (bias_[j] + row_bias);
      if (other_ != nullptr) y += other_[at + j];
      if (clamps_) y = y < low_ ? low_ : y > high_ ? high_ : y;
      c[j] = y;
    }
  }

  // Completes the epilogue of rows [row, last), if it is not linear. One vector has many rows.
  void Activate(size_t row, size_t last) const {
    if (linear_) return;
    const EpilogueF32& e = g_.epilogue;
    const size_t rows = g_.run == 0 ? last - row : 1;
    for (; row < last; row += rows) {
      const size_t at = g_.RowOffset(row) + first_;
      FinishTile(e, e.other == nullptr ? nullptr : e.other + at, g_.c + at, g_.ldc, rows, kColumns);
    }
  }

 private:
  const PackedGemmArgs& g_;
  const size_t first_;
  const float alpha_, low_, high_;
  const bool linear_, clamps_;
  const float *other_, *row_bias_;
  float bias_[kColumns];
};

// Computes columns [first, first + kColumns) of C. b[j] points to the elements of column first + j of B.
template <size_t kRows, size_t kColumns, size_t kParts>
HWY_NOINLINE void Rows(const PackedGemmArgs& g, const float* const* b, size_t first,
                       size_t first_row, size_t last_row) {
  const float* direct[kRows];
  const float** pointers = g.row_pointers != nullptr ? g.pointers : direct;
  const RowFinish<kColumns> finish(g, first);
  constexpr size_t kActivatedRows = 64;
  size_t activated = first_row;
  Budget::Pace pace;
  const auto work = static_cast<int64_t>(kRows * kColumns * (g.taps * g.k + 16));
  for (size_t row = first_row; row < last_row && !pace.Stop(work); row += kRows) {
    const size_t count = HWY_MIN(kRows, last_row - row);
    if (g.row_pointers != nullptr) {
      g.row_pointers(g.source, row, count, 0, g.taps, pointers);
      // Missing rows of the last tile repeat its first row, from the end: in place.
      for (size_t t = g.taps; count < kRows && t-- > 0;) {
        for (size_t r = kRows; r-- > 0;) {
          pointers[t * kRows + r] = pointers[t * count + (r < count ? r : 0)];
        }
      }
    } else {
      for (size_t r = 0; r < kRows; ++r) pointers[r] = g.a + (row + (r < count ? r : 0)) * g.lda;
    }
    float sums[kRows][kFewColumns];
    Tile<kRows, kColumns, kParts>(g, pointers, b, sums);
    for (size_t r = 0; r < count; ++r) finish(row + r, sums[r]);
    if (row + count - activated < kActivatedRows && row + count < last_row) continue;
    finish.Activate(activated, row + count);
    activated = row + count;
  }
}

template <size_t kColumns>
void Columns(const PackedGemmArgs& g, const float* const* b, size_t first, size_t first_row,
             size_t last_row) {
  // Depends on all rows of A, so that results do not depend on the range.
  if (g.m < kRowsOf<kColumns>) {
    Rows<1, kColumns, kPartsOf<kColumns>>(g, b, first, first_row, last_row);
  } else {
    Rows<kRowsOf<kColumns>, kColumns, 1>(g, b, first, first_row, last_row);
  }
}

void FewColumnsRangeImpl(const PackedGemmArgs& g, size_t first_row, size_t last_row) {
  HWY_ALIGN float transpose[kFewColumnsElements];
  const size_t depth = g.taps * g.k;
  const float* columns[kFewUnpackedColumns];
  for (size_t j = 0; j < g.n; ++j) {
    float* HWY_RESTRICT to = (g.panels == nullptr ? transpose : g.panels) + j * depth;
    columns[j] = to;
    if (g.pack != nullptr) {
      g.pack(g.pack_source, j, 1, 1, to);
    } else if (g.panels != nullptr && g.n == 1 && g.ldb == 1) {
      columns[j] = g.b;
    } else {
      const size_t step = g.panels == nullptr ? size_t{kPanelColumns} : g.ldb;
      for (size_t p = 0; p < depth; ++p) to[p] = g.b[p * step + j];
    }
  }
  constexpr void (*kLoops[])(const PackedGemmArgs&, const float* const*, size_t, size_t, size_t) = {
      &Columns<1>, &Columns<2>, &Columns<3>, &Columns<4>};
  for (size_t j = 0; j < g.n; j += kFewColumns) {
    const size_t count = HWY_MIN(kFewColumns, g.n - j);
    kLoops[count - 1](g, columns + j, j, first_row, last_row);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FewColumnsRangeImpl);
void FewColumnsRange(const PackedGemmArgs& args, size_t first_row, size_t last_row) {
  HWY_DYNAMIC_DISPATCH(FewColumnsRangeImpl)(args, first_row, last_row);
}

}  // namespace belay
#endif  // HWY_ONCE
