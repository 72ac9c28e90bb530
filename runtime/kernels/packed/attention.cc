#include "runtime/kernels/packed/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/kernels/packed/attention_rows.h"
#include "runtime/kernels/packed/packed_gemm.h"  // kTileRows
#include "runtime/kernels/packed/packed_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/attention.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kPanelColumns>;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

constexpr float kLog2E = 1.44269504088896341f;

// 2^x for x <= 1 or NaN; 0 below -127. x = n + r with |r| <= 1/2, and a minimax polynomial of
// degree 5. Relative error: 2^-22 for x >= -126. Results below -126.5 are 0, since denormals are
// slow.
template <class V>
HWY_INLINE V Exp2OfScore(Tag d, V x) {
  const V least = hn::Set(d, -127.0f);
#if HWY_ARCH_X86
  const V y = hn::Max(least, x);  // the second operand if one is NaN
#else
  const V y = hn::IfThenElse(hn::Lt(x, least), least, x);
#endif
  // The low bits of `shifted` are n + 127, the exponent of 2^n; 0 for n = -127.
  const V magic = hn::Set(d, 0x1.8p23f + 127.0f);
  const V shifted = hn::Add(y, magic);
  const V r = hn::Sub(y, hn::Sub(shifted, magic));
  const hn::RebindToUnsigned<Tag> du;
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
  V p = hn::Set(d, 1.32646959e-3f);
  p = hn::MulAdd(p, r, hn::Set(d, 9.67150834e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.55073395e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.240222424f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.693147004f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  return hn::Mul(p, power);
}

using PanelTag = hn::CappedTag<float, kPanelColumns / 2>;

// Rows of a register tile: with two vectors per row, 24 of 32 registers or 12 of 16.
constexpr size_t kRegisterRows =
    (HWY_TARGET <= HWY_AVX3 || HWY_TARGET_IS_NEON) ? kTileRows : kTileRows / 2;
static_assert(kRegisterRows % 3 == 0);

// C[r, j] = sum over p of a[r * lda + p] * b[p * kPanelColumns + j] [+ C[r, j]] for kRows rows and
// kVectors vectors of columns.
template <size_t kRows, size_t kVectors>
HWY_INLINE void Tile(const float* HWY_RESTRICT a, size_t lda, size_t k, const float* HWY_RESTRICT b,
                     float* HWY_RESTRICT c, size_t ldc, bool add) {
  const PanelTag d;
  const size_t lanes = hn::Lanes(d);
  using V = hn::Vec<PanelTag>;
  const float* HWY_RESTRICT rows[kRows];
  V sums[kRows][kVectors];
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    rows[r] = a + r * lda;
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (size_t p = 0; p < k; ++p, b += kPanelColumns) {
    V bv[kVectors];
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d, b + v * lanes);
    HWY_UNROLL(kRows)
    for (size_t r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, rows[r][p]);
      HWY_UNROLL(kVectors)
      for (size_t v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(x, bv[v], sums[r][v]);
    }
  }
  HWY_UNROLL(kRows)
  for (size_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(kVectors)
    for (size_t v = 0; v < kVectors; ++v) {
      float* to = c + r * ldc + v * lanes;
      hn::StoreU(add ? hn::Add(sums[r][v], hn::LoadU(d, to)) : sums[r][v], d, to);
    }
  }
}

// The same for n columns: panels of B of `depth` rows. Also writes whole vectors beyond n.
template <size_t kRows>
HWY_NOINLINE void Tiles(const float* HWY_RESTRICT a, size_t lda, size_t k,
                        const float* HWY_RESTRICT b, size_t depth, size_t n, float* HWY_RESTRICT c,
                        size_t ldc, bool add) {
  const size_t lanes = hn::Lanes(PanelTag());
  for (size_t first = 0; first < n; first += kPanelColumns, b += depth * kPanelColumns) {
    const size_t end = HWY_MIN(n, first + kPanelColumns);
    for (size_t j = first; j < end; j += 2 * lanes) {
      if (end - j > lanes) {
        Tile<kRows, 2>(a, lda, k, b + (j - first), c + j, ldc, add);
      } else {
        Tile<kRows, 1>(a, lda, k, b + (j - first), c + j, ldc, add);
      }
    }
  }
}

// The same for `rows` rows, up to kTileRows. Also reads and writes rows beyond them, up to a
// multiple of a third of the register tile.
void MultiplyImpl(const float* HWY_RESTRICT a, size_t lda, size_t rows, size_t k,
                  const float* HWY_RESTRICT b, size_t depth, size_t n, float* HWY_RESTRICT c,
                  size_t ldc, bool add) {
  constexpr size_t kThird = kRegisterRows / 3;
  for (size_t r = 0; r < rows; r += kRegisterRows) {
    const size_t count = rows - r;
    const float* HWY_RESTRICT from = a + r * lda;
    float* HWY_RESTRICT to = c + r * ldc;
    if (count > 2 * kThird) {
      Tiles<kRegisterRows>(from, lda, k, b, depth, n, to, ldc, add);
    } else if (count > kThird) {
      Tiles<2 * kThird>(from, lda, k, b, depth, n, to, ldc, add);
    } else {
      Tiles<kThird>(from, lda, k, b, depth, n, to, ldc, add);
    }
  }
}

// Whether an element is NaN.
bool HasNan(const float* HWY_RESTRICT row, size_t n) {
  const Tag d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    if (!hn::AllFalse(d, hn::IsNaN(hn::LoadN(d, row + i, n - i)))) return true;
  }
  return false;
}

// row = exp(row + mask - largest); the mask may be null. `largest` is the largest
// score of this and earlier blocks, and `total` the sum of exp(score - largest); both are updated.
// Returns exp(previous largest - largest), the factor of earlier blocks' sums. If no score is above
// -inf, the row becomes 0. Reads and writes up to a vector beyond the row: masked loads and stores
// are slow.
float ExponentialsImpl(float* HWY_RESTRICT row, size_t n, const float* HWY_RESTRICT mask,
                       float& largest, float& total) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const auto least = hn::Set(d, kMinusInfinity);
  auto top = least, top2 = least;
  const auto load = [&](size_t at) HWY_ATTR {
    const auto x = hn::LoadU(d, row + at);
    return n - at >= lanes ? x : hn::IfThenElse(hn::FirstN(d, n - at), x, least);
  };
  size_t i = 0;
  // If one operand of Max is NaN, x86 returns the second one and Arm the other one. The sum is NaN
  // in any case.
  if (mask == nullptr) {
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      top = hn::Max(top, hn::LoadU(d, row + i));
      top2 = hn::Max(top2, hn::LoadU(d, row + i + lanes));
    }
    for (; i < n; i += lanes) top = hn::Max(top, load(i));
  } else {
    for (; i + lanes <= n; i += lanes) {
      const auto x = hn::Add(hn::LoadU(d, row + i), hn::LoadU(d, mask + i));
      hn::StoreU(x, d, row + i);
      top = hn::Max(top, x);
    }
    if (i < n) {
      const auto x = hn::Add(hn::LoadU(d, row + i), hn::LoadN(d, mask + i, n - i));
      hn::StoreU(x, d, row + i);
      top = hn::Max(top, hn::IfThenElse(hn::FirstN(d, n - i), x, least));
    }
  }
  float highest = hn::ReduceMax(d, hn::Max(top, top2));
  if (!(highest > kMinusInfinity)) {
    if (!HasNan(row, n)) {
      std::fill(row, row + n, 0.0f);
      return 1;
    }
    highest = std::numeric_limits<float>::quiet_NaN();
  }
  float earlier = 1;
  if (!(highest <= largest)) {
    earlier = std::exp2((largest - highest) * kLog2E);
    largest = highest;
  }
  // The difference comes first: rounded products of large scores would differ by more than the scores.
  const auto offset = hn::Set(d, largest);
  const auto factor = hn::Set(d, kLog2E);
  const auto weight = [&](auto score) HWY_ATTR {
    return Exp2OfScore(d, hn::Mul(factor, hn::Sub(score, offset)));
  };
  auto sum = hn::Zero(d), sum2 = hn::Zero(d);
  i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto x = weight(hn::LoadU(d, row + i));
    const auto y = weight(hn::LoadU(d, row + i + lanes));
    hn::StoreU(x, d, row + i);
    hn::StoreU(y, d, row + i + lanes);
    sum = hn::Add(sum, x);
    sum2 = hn::Add(sum2, y);
  }
  for (; i < n; i += lanes) {
    const auto x = weight(load(i));
    hn::StoreU(x, d, row + i);
    sum = hn::Add(sum, x);
  }
  total = total * earlier + hn::ReduceSum(d, hn::Add(sum, sum2));
  return earlier;
}

// out = factor * row. May be the same row.
void ScaleImpl(const float* row, size_t n, float factor, float* out) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(f, hn::LoadU(d, row + i)), d, out + i);
  if (i < n) hn::StoreN(hn::Mul(f, hn::LoadN(d, row + i, n - i)), d, out + i, n - i);
}

// Whether all elements are -inf.
bool IsHiddenImpl(const float* HWY_RESTRICT mask, size_t n) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const auto hidden = hn::Set(d, kMinusInfinity);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    if (!hn::AllTrue(d, hn::Eq(hn::LoadU(d, mask + i), hidden))) return false;
  }
  for (; i < n; ++i) {
    if (mask[i] != kMinusInfinity) return false;
  }
  return true;
}

// mask[s] = bits[s] != 0 ? 0 : -inf.
void MaskOfBitsImpl(const uint8_t* HWY_RESTRICT bits, size_t n, float* HWY_RESTRICT mask) {
  for (size_t s = 0; s < n; ++s) mask[s] = bits[s] != 0 ? 0.0f : kMinusInfinity;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {
namespace {

HWY_EXPORT(ExponentialsImpl);
HWY_EXPORT(ScaleImpl);
HWY_EXPORT(IsHiddenImpl);
HWY_EXPORT(MaskOfBitsImpl);
HWY_EXPORT(MultiplyImpl);

// Maximal number of queries for which each key is read once, unpacked.
constexpr int64_t kFewQueries = 3;
// Maximal number of queries per block: rows of several heads for few queries, otherwise register
// tiles of one head, which share the blocks of keys and values in the L2 cache.
constexpr int64_t kTile = kTileRows;
constexpr int64_t kMostTiles = 6;
constexpr int64_t kMostRows = kMostTiles * kTile;
// Maximal number of keys per block. Keys and values of a block fit the L2 cache, the scores of
// a register tile the L1 cache.
constexpr int64_t kMostKeys = 384;
// Padding of rows of scores: room for the last panel's columns; also keeps rows from evicting each
// other.
constexpr int64_t kRowPadding = 32;

bool IsDirect(int64_t queries) { return queries <= kFewQueries; }

int64_t DivideUp(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Blocks of queries of nearly equal numbers of register tiles.
int64_t RowsOf(int64_t queries) {
  if (queries <= kMostRows) return std::max(queries, int64_t{1});
  return DivideUp(DivideUp(queries, DivideUp(queries, kMostRows)), kTile) * kTile;
}
// Units per group: blocks of queries, or of heads. Precondition: the group is not empty.
int64_t BlocksPerGroup(const AttentionArgs& g) {
  if (!IsDirect(g.queries)) return DivideUp(g.queries, RowsOf(g.queries));
  return std::clamp(DivideUp(g.threads, g.batch * g.kv_heads), int64_t{1}, g.heads / g.kv_heads);
}
// Blocks of keys of nearly equal size, a multiple of the panels' columns.
int64_t KeysOf(int64_t keys) {
  if (keys <= kMostKeys) return std::max(keys, int64_t{1});
  return DivideUp(DivideUp(keys, DivideUp(keys, kMostKeys)), kPanelColumns) * kPanelColumns;
}

// Softmax of a row over blocks of keys.
struct RowState {
  float largest = -std::numeric_limits<float>::infinity();  // score
  float sum = 0;                                            // of exp(score - largest)
};

// A row of scores: one query of one head.
struct Row {
  const float* query;
  float* out;
  int64_t mask_at;  // offset of the first key
  int64_t visible;  // number of keys without a mask
};

class Attention {
 public:
  explicit Attention(const AttentionArgs& g)
      : g_(g),
        direct_(IsDirect(g.queries)),
        shared_(g.heads / g.kv_heads),
        block_rows_(RowsOf(g.queries)),
        block_keys_(KeysOf(g.keys)),
        ld_(block_keys_ + kRowPadding),
        blocks_(DivideUp(g.keys, block_keys_)),
        scores_(g.scratch),
        mask_row_(scores_ + kMostRows * ld_),
        queries_(mask_row_ + block_keys_),
        sums_(queries_ + (direct_ ? 0 : kTile * g.head_size)),
        packed_(sums_ + (direct_ ? 0 : kMostRows * ValueColumns())),
        keys_(packed_ + (direct_ ? 0 : blocks_)),
        values_(direct_ ? keys_ : keys_ + *PackedMatrixSize(g.head_size, g.keys)) {}

  void Group(int64_t group, int64_t first_block, int64_t last_block) {
    const int64_t batch = group / g_.kv_heads, kv = group % g_.kv_heads;
    const auto rows = [&](const void* data, const HeadStrides& strides) {
      return HeadRows{.data = data, .dtype = g_.key_dtype, .stride = strides.token}.From(
          batch * strides.batch + kv * strides.head);
    };
    key_ = rows(g_.key, g_.key_strides);
    value_ = rows(g_.value, g_.value_strides);
    if (direct_) {
      const int64_t heads = DivideUp(shared_, BlocksPerGroup(g_));
      return Direct(batch, kv * shared_ + std::min(first_block * heads, shared_),
                    kv * shared_ + std::min(last_block * heads, shared_));
    }
    std::fill(packed_, packed_ + blocks_, 0.0f);
    for (int64_t block = first_block; block < last_block; ++block) {
      const int64_t first = block * block_rows_;
      for (int64_t h = kv * shared_; h < (kv + 1) * shared_; ++h) {
        if (Budget::Stop()) return;
        Packed(batch, h, first, std::min(block_rows_, g_.queries - first));
        if (pace_.stopped()) return;
      }
    }
  }

 private:
  Row RowAt(int64_t batch, int64_t head, int64_t query) const {
    return {.query = g_.query + batch * g_.query_strides.batch + head * g_.query_strides.head +
                     query * g_.query_strides.token,
            .out = g_.out + batch * g_.out_strides.batch + head * g_.out_strides.head +
                   query * g_.out_strides.token,
            .mask_at = batch * g_.mask_strides.batch + head * g_.mask_strides.head +
                       query * g_.mask_strides.token,
            .visible = g_.causal ? std::min(g_.keys, query + 1) : g_.keys};
  }

  // Whether the mask hides a key from the row.
  bool IsHidden(const Row& row, int64_t key) const {
    const int64_t at = row.mask_at + key * g_.mask_key_stride;
    if (g_.mask_bits != nullptr) return g_.mask_bits[at] == 0;
    return g_.mask[at] == -std::numeric_limits<float>::infinity();
  }

  // Number of keys from `first` to the last of these `count` keys that is visible to the row; 0 if
  // none is.
  int64_t SeenKeys(const Row& row, int64_t first, int64_t count) const {
    int64_t seen = std::clamp(row.visible - first, int64_t{0}, count);
    if (seen == 0 || (g_.mask == nullptr && g_.mask_bits == nullptr)) return seen;
    if (g_.mask_key_stride == 0) return IsHidden(row, first) ? 0 : seen;
    if (g_.mask_key_stride == 1) {
      // The hidden end of a cache may be long: skips vectors of keys.
      constexpr int64_t kStep = 32;
      const int64_t at = row.mask_at + first;
      for (; seen >= kStep; seen -= kStep) {
        if (g_.mask != nullptr) {
          if (!HWY_DYNAMIC_DISPATCH(IsHiddenImpl)(g_.mask + at + seen - kStep, kStep)) break;
        } else {
          uint64_t words[kStep / 8];
          std::memcpy(words, g_.mask_bits + at + seen - kStep, kStep);
          if ((words[0] | words[1] | words[2] | words[3]) != 0) break;
        }
      }
    }
    while (seen > 0 && IsHidden(row, first + seen - 1)) --seen;
    return seen;
  }

  // The maximum over all rows.
  int64_t SeenKeys(const Row* rows, int64_t count, int64_t first, int64_t keys) const {
    const bool same_mask = g_.mask_strides.head == 0 &&
                           (g_.queries == 1 || (g_.mask_strides.token == 0 && !g_.causal));
    int64_t seen = 0;
    for (int64_t r = 0; r < (same_mask ? 1 : count) && seen < keys; ++r) {
      seen = std::max(seen, SeenKeys(rows[r], first, keys));
    }
    return seen;
  }

  // Replaces the scores of keys [first, first + count) by weights, 0 for keys that are not visible.
  // Multiplies `sums`, the result of earlier blocks, to match.
  void Weigh(const Row& row, int64_t first, int64_t count, float* scores, float* sums,
             RowState& state) {
    const int64_t visible = std::clamp(row.visible - first, int64_t{0}, count);
    if (visible < count) std::fill(scores + visible, scores + count, 0.0f);
    if (visible == 0) return;
    const auto n = static_cast<size_t>(visible);
    const float* mask = nullptr;
    const int64_t at = row.mask_at + first * g_.mask_key_stride;
    if (g_.mask_bits != nullptr) {
      mask = mask_row_;
      if (g_.mask_key_stride == 1) {
        HWY_DYNAMIC_DISPATCH(MaskOfBitsImpl)(g_.mask_bits + at, n, mask_row_);
      } else {
        for (int64_t s = 0; s < visible; ++s) {
          mask_row_[s] = g_.mask_bits[at + s * g_.mask_key_stride] != 0
                             ? 0.0f
                             : -std::numeric_limits<float>::infinity();
        }
      }
    } else if (g_.mask != nullptr && g_.mask_key_stride == 1) {
      mask = g_.mask + at;
    } else if (g_.mask != nullptr) {
      mask = mask_row_;
      for (int64_t s = 0; s < visible; ++s) mask_row_[s] = g_.mask[at + s * g_.mask_key_stride];
    }
    const bool has_result = state.sum != 0;
    const float earlier =
        HWY_DYNAMIC_DISPATCH(ExponentialsImpl)(scores, n, mask, state.largest, state.sum);
    if (has_result && earlier != 1) {
      HWY_DYNAMIC_DISPATCH(ScaleImpl)(sums, static_cast<size_t>(g_.value_size), earlier, sums);
    }
  }

  // Divides the result by the sum of the weights.
  void Finish(const Row& row, const float* sums, const RowState& state) const {
    if (state.sum == 0) {
      // No score is above -inf.
      std::fill(row.out, row.out + g_.value_size,
                g_.nan_rows ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
    } else {
      HWY_DYNAMIC_DISPATCH(ScaleImpl)
      (sums, static_cast<size_t>(g_.value_size), 1 / state.sum, row.out);
    }
  }

  // All queries of heads [first, last), which share keys and values.
  void Direct(int64_t batch, int64_t first, int64_t last) {
    const int64_t all = (last - first) * g_.queries;
    for (int64_t start = 0; start < all; start += kMostRows) {
      Row rows[kMostRows];
      RowState states[kMostRows];
      const int64_t count = std::min(kMostRows, all - start);
      for (int64_t r = 0; r < count; ++r) {
        rows[r] = RowAt(batch, first + (start + r) / g_.queries, (start + r) % g_.queries);
      }
      bool written = false;
      for (int64_t s = 0; s < g_.keys; s += block_keys_) {
        const int64_t keys = SeenKeys(rows, count, s, std::min(block_keys_, g_.keys - s));
        if (keys == 0) continue;
        if (pace_.Stop(count * keys * (g_.head_size + g_.value_size + 16))) return;
        for (int64_t r = 0; r < count; ++r) {
          float* const scores = scores_ + r * ld_;
          const auto seen =
              static_cast<size_t>(std::min(keys, std::max(rows[r].visible - s, int64_t{0})));
          KeyDots(rows[r].query, key_.From(s * key_.stride), seen,
                  static_cast<size_t>(g_.head_size), g_.scale, /*is_first=*/r == 0, scores);
          Weigh(rows[r], s, keys, scores, rows[r].out, states[r]);
        }
        for (int64_t r = 0; r < count; ++r) {
          AddWeightedRows(scores_ + r * ld_, value_.From(s * value_.stride),
                          static_cast<size_t>(keys), static_cast<size_t>(g_.value_size),
                          /*is_first=*/r == 0, !written, rows[r].out);
        }
        written = true;
      }
      for (int64_t r = 0; r < count; ++r) Finish(rows[r], rows[r].out, states[r]);
    }
  }

  // `count` queries of one head from `first` on.
  void Packed(int64_t batch, int64_t head, int64_t first, int64_t count) {
    Row rows[kMostRows];
    RowState states[kMostRows];
    for (int64_t r = 0; r < count; ++r) {
      rows[r] = RowAt(batch, head, first + r);
    }
    const int64_t columns = ValueColumns();
    bool written[kMostTiles] = {};
    for (int64_t block = 0; block < blocks_; ++block) {
      const int64_t s = block * block_keys_, keys = std::min(block_keys_, g_.keys - s);
      for (int64_t t = 0; t < count; t += kTile) {
        const int64_t n = std::min(kTile, count - t);
        const int64_t used = SeenKeys(rows + t, n, s, keys);
        if (used == 0) continue;
        if (pace_.Stop(n * used * (g_.head_size + g_.value_size + 16))) return;
        Pack(block, s, keys);
        for (int64_t r = 0; r < kTile; ++r) {
          float* const to = queries_ + r * g_.head_size;
          if (r < n) {
            HWY_DYNAMIC_DISPATCH(ScaleImpl)
            (rows[t + r].query, static_cast<size_t>(g_.head_size), g_.scale, to);
          } else {
            std::fill(to, to + g_.head_size, 0.0f);
          }
        }
        HWY_DYNAMIC_DISPATCH(MultiplyImpl)
        (queries_, static_cast<size_t>(g_.head_size), static_cast<size_t>(n),
         static_cast<size_t>(g_.head_size), keys_ + s * g_.head_size,
         static_cast<size_t>(g_.head_size), static_cast<size_t>(used), scores_,
         static_cast<size_t>(ld_), /*add=*/false);
        float* const sums = sums_ + t * columns;
        for (int64_t r = 0; r < n; ++r) {
          Weigh(rows[t + r], s, used, scores_ + r * ld_, sums + r * columns, states[t + r]);
        }
        HWY_DYNAMIC_DISPATCH(MultiplyImpl)
        (scores_, static_cast<size_t>(ld_), static_cast<size_t>(n), static_cast<size_t>(used),
         values_ + s * columns, static_cast<size_t>(keys), static_cast<size_t>(g_.value_size), sums,
         static_cast<size_t>(columns), written[t / kTile]);
        written[t / kTile] = true;
      }
    }
    for (int64_t r = 0; r < count; ++r) Finish(rows[r], sums_ + r * columns, states[r]);
  }

  int64_t ValueColumns() const { return DivideUp(g_.value_size, kPanelColumns) * kPanelColumns; }

  // Packs a block of keys and values when it is first used.
  void Pack(int64_t block, int64_t first, int64_t count) {
    if (packed_[block] != 0) return;
    packed_[block] = 1;
    PackKeys(key_.From(first * key_.stride), static_cast<size_t>(count),
             static_cast<size_t>(g_.head_size), keys_ + first * g_.head_size);
    PackValues(value_.From(first * value_.stride), static_cast<size_t>(count),
               static_cast<size_t>(g_.value_size), values_ + first * ValueColumns());
  }

  const AttentionArgs& g_;
  const bool direct_;
  const int64_t shared_;                   // heads per head of keys
  const int64_t block_rows_, block_keys_;  // queries and keys per block, at most
  const int64_t ld_;                       // distance between rows of scores
  const int64_t blocks_;                   // blocks of keys
  float *const scores_, *const mask_row_;
  float* const queries_;  // a tile of queries times scale
  float* const sums_;     // of weights * values, per row
  float* const packed_;   // per block of keys, whether it is packed
  float *const keys_, *const values_;
  HeadRows key_, value_;  // of the current group
  Budget::Pace pace_;
};

}  // namespace

std::optional<int64_t> AttentionFloats(int64_t queries, int64_t keys, int64_t head_size,
                                       int64_t value_size) {
  if (!(CheckedInt(keys) * kMostRows * int64_t{sizeof(float)}).ok()) return std::nullopt;
  // The size for the maximal number of keys must suffice for fewer: KeysOf is not monotonic.
  const int64_t block = std::min(keys, kMostKeys);
  CheckedInt floats = CheckedInt(kMostRows) * (block + kRowPadding) + block;  // scores, mask
  if (!IsDirect(queries)) {
    const std::optional<int64_t> k = PackedMatrixSize(head_size, keys);
    const std::optional<int64_t> v = PackedMatrixSize(keys, value_size);
    const std::optional<int64_t> sums = PackedMatrixSize(kMostRows, value_size);
    if (!k.has_value() || !v.has_value() || !sums.has_value()) return std::nullopt;
    floats = floats + *k + *v + *sums + CheckedInt(kTile) * head_size +
             DivideUp(keys, kMostKeys);  // flags of packed blocks
  }
  if (!floats.ok()) return std::nullopt;
  return floats.value();
}

int64_t AttentionUnits(const AttentionArgs& g) {
  if (g.batch == 0 || g.heads == 0) return 0;
  return g.batch * g.kv_heads * BlocksPerGroup(g);
}

void AttentionRange(const AttentionArgs& g, int64_t first, int64_t last) {
  const int64_t blocks = BlocksPerGroup(g);
  Attention attention(g);
  while (first < last) {
    const int64_t group = first / blocks, start = group * blocks;
    const int64_t end = std::min(last, start + blocks);
    attention.Group(group, first - start, end - start);
    first = end;
  }
}

}  // namespace belay
#endif  // HWY_ONCE
