#include "runtime/kernels/packed/attention.h"

#include <algorithm>
#include <limits>

#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/kernels/packed/packed_gemm.h"
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

using Tag = hn::ScalableTag<float>;

float DotImpl(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, size_t n) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), sum1);
  }
  for (; i < n; i += lanes) {
    sum0 = hn::MulAdd(hn::LoadN(d, a + i, n - i), hn::LoadN(d, b + i, n - i), sum0);
  }
  return hn::ReduceSum(d, hn::Add(sum0, sum1));
}

// Whether an element is NaN.
bool HasNan(const float* HWY_RESTRICT row, size_t n) {
  const Tag d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    if (!hn::AllFalse(d, hn::IsNaN(hn::LoadN(d, row + i, n - i)))) return true;
  }
  return false;
}

// out[j] = sum over s of weights[s] * rows[s * stride + j].
void WeightedRowsImpl(const float* HWY_RESTRICT weights, const float* HWY_RESTRICT rows,
                      size_t count, size_t stride, size_t n, float* HWY_RESTRICT out) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (size_t j = 0; j < n; j += 4 * lanes) {
    const size_t left = n - j;
    auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
    const auto part = [&](size_t v) HWY_ATTR {
      return left > v * lanes ? HWY_MIN(lanes, left - v * lanes) : size_t{0};
    };
    for (size_t s = 0; s < count; ++s) {
      const float* HWY_RESTRICT row = rows + s * stride + j;
      const auto w = hn::Set(d, weights[s]);
      if (left >= 4 * lanes) {
        sum0 = hn::MulAdd(w, hn::LoadU(d, row), sum0);
        sum1 = hn::MulAdd(w, hn::LoadU(d, row + lanes), sum1);
        sum2 = hn::MulAdd(w, hn::LoadU(d, row + 2 * lanes), sum2);
        sum3 = hn::MulAdd(w, hn::LoadU(d, row + 3 * lanes), sum3);
      } else {
        sum0 = hn::MulAdd(w, hn::LoadN(d, row, part(0)), sum0);
        if (left > lanes) sum1 = hn::MulAdd(w, hn::LoadN(d, row + lanes, part(1)), sum1);
        if (left > 2 * lanes) sum2 = hn::MulAdd(w, hn::LoadN(d, row + 2 * lanes, part(2)), sum2);
        if (left > 3 * lanes) sum3 = hn::MulAdd(w, hn::LoadN(d, row + 3 * lanes, part(3)), sum3);
      }
    }
    hn::StoreN(sum0, d, out + j, part(0));
    if (left > lanes) hn::StoreN(sum1, d, out + j + lanes, part(1));
    if (left > 2 * lanes) hn::StoreN(sum2, d, out + j + 2 * lanes, part(2));
    if (left > 3 * lanes) hn::StoreN(sum3, d, out + j + 3 * lanes, part(3));
  }
}

// row = exp(scale * row + mask - top) with top the largest of scale * row + mask; the mask may be
// null. Returns the sum of the row; 0, and a row that is not changed, if top is -inf.
float ExponentialsImpl(float* HWY_RESTRICT row, size_t n, float scale,
                       const float* HWY_RESTRICT mask) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, scale);
  const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto top = least;
  size_t i = 0;
  // x86 gives the second operand of Max if one is NaN, Arm the number. A NaN makes the sum NaN.
  if (mask == nullptr) {
    auto top2 = least;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      top = hn::Max(top, hn::Mul(factor, hn::LoadU(d, row + i)));
      top2 = hn::Max(top2, hn::Mul(factor, hn::LoadU(d, row + i + lanes)));
    }
    top = hn::Max(top, top2);
    for (; i < n; i += lanes) {
      const auto x = hn::Mul(factor, hn::LoadN(d, row + i, n - i));
      top = hn::Max(top, hn::IfThenElse(hn::FirstN(d, n - i), x, least));
    }
  } else {
    for (; i + lanes <= n; i += lanes) {
      const auto x = hn::Add(hn::Mul(factor, hn::LoadU(d, row + i)), hn::LoadU(d, mask + i));
      hn::StoreU(x, d, row + i);
      top = hn::Max(top, x);
    }
    if (i < n) {
      const auto x =
          hn::Add(hn::Mul(factor, hn::LoadN(d, row + i, n - i)), hn::LoadN(d, mask + i, n - i));
      hn::StoreN(x, d, row + i, n - i);
      top = hn::Max(top, hn::IfThenElse(hn::FirstN(d, n - i), x, least));
    }
  }
  const float largest = hn::ReduceMax(d, top);
  if (largest == -std::numeric_limits<float>::infinity() && !HasNan(row, n)) return 0;
  const auto offset = hn::Set(d, largest);
  const auto scaled = hn::Set(d, mask == nullptr ? scale : 1.0f);
  auto sum = hn::Zero(d), sum2 = hn::Zero(d);
  i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto x = hn::Sub(hn::Mul(scaled, hn::LoadU(d, row + i)), offset);
    const auto y = hn::Sub(hn::Mul(scaled, hn::LoadU(d, row + i + lanes)), offset);
    const auto ex = SafeExp(d, x), ey = SafeExp(d, y);
    hn::StoreU(ex, d, row + i);
    hn::StoreU(ey, d, row + i + lanes);
    sum = hn::Add(sum, ex);
    sum2 = hn::Add(sum2, ey);
  }
  sum = hn::Add(sum, sum2);
  for (; i < n; i += lanes) {
    const size_t count = HWY_MIN(lanes, n - i);
    const auto x = hn::Sub(hn::Mul(scaled, hn::LoadN(d, row + i, count)), offset);
    const auto ex = SafeExp(d, x);
    hn::StoreN(ex, d, row + i, count);
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, count), ex));
  }
  return hn::ReduceSum(d, sum);
}

// row *= factor.
void ScaleImpl(float* row, size_t n, float factor) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t count = HWY_MIN(lanes, n - i);
    hn::StoreN(hn::Mul(f, hn::LoadN(d, row + i, count)), d, row + i, count);
  }
}

// Transposes rows of keys into panels: packed(panel, k, j) = rows[(panel * kPanelColumns + j) *
// stride + k], 0 for keys beyond `count`.
void PackKeysImpl(const float* HWY_RESTRICT rows, size_t count, size_t stride, size_t size,
                  float* HWY_RESTRICT packed) {
  const hn::FixedTag<float, 4> d;
  constexpr size_t kColumns = static_cast<size_t>(kPanelColumns);
  for (size_t first = 0; first < count; first += kColumns, packed += size * kColumns) {
    const size_t columns = HWY_MIN(kColumns, count - first);
    const float* HWY_RESTRICT from = rows + first * stride;
    size_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      const float* HWY_RESTRICT r = from + j * stride;
      size_t k = 0;
      for (; k + 4 <= size; k += 4) {
        const auto a = hn::LoadU(d, r + k), b = hn::LoadU(d, r + stride + k);
        const auto c = hn::LoadU(d, r + 2 * stride + k), e = hn::LoadU(d, r + 3 * stride + k);
        const auto ab = hn::InterleaveLower(d, a, b), ab2 = hn::InterleaveUpper(d, a, b);
        const auto ce = hn::InterleaveLower(d, c, e), ce2 = hn::InterleaveUpper(d, c, e);
        float* HWY_RESTRICT to = packed + k * kColumns + j;
        hn::StoreU(hn::ConcatLowerLower(d, ce, ab), d, to);
        hn::StoreU(hn::ConcatUpperUpper(d, ce, ab), d, to + kColumns);
        hn::StoreU(hn::ConcatLowerLower(d, ce2, ab2), d, to + 2 * kColumns);
        hn::StoreU(hn::ConcatUpperUpper(d, ce2, ab2), d, to + 3 * kColumns);
      }
      for (; k < size; ++k) {
        for (size_t i = 0; i < 4; ++i) packed[k * kColumns + j + i] = r[i * stride + k];
      }
    }
    for (; j < columns; ++j) {
      for (size_t k = 0; k < size; ++k) packed[k * kColumns + j] = from[j * stride + k];
    }
    for (size_t k = 0; columns < kColumns && k < size; ++k) {
      std::fill(packed + k * kColumns + columns, packed + (k + 1) * kColumns, 0.0f);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {
namespace {

HWY_EXPORT(DotImpl);
HWY_EXPORT(WeightedRowsImpl);
HWY_EXPORT(ExponentialsImpl);
HWY_EXPORT(ScaleImpl);
HWY_EXPORT(PackKeysImpl);

// Number of rows of scores per block: a few register tiles.
constexpr int64_t kBlockRows = 4 * static_cast<int64_t>(kTileRows);
// Maximal number of queries for which each key is read once, unpacked.
constexpr int64_t kFewQueries = 3;

// One query head of a group.
struct Head {
  const AttentionArgs& g;
  const float *query, *key, *value;
  float* out;
  int64_t mask_at;  // offset of the first query and key
};

// The number of keys that query i sees without a mask.
int64_t SeenBy(const AttentionArgs& g, int64_t i) {
  return g.causal ? std::min(g.keys, i + 1) : g.keys;
}

// Turns `row`, the products of query i with the keys it sees, into weights. `mask_row` is room for
// as many floats as there are keys. Weights up to `used`, of keys that it does not see, become 0.
// Returns the factor that makes the weights sum to 1.
float Weigh(const Head& head, int64_t i, int64_t used, float* row, float* mask_row) {
  const AttentionArgs& g = head.g;
  const int64_t seen = SeenBy(g, i);
  const float* mask = nullptr;
  const int64_t at = head.mask_at + i * g.mask_strides.token;
  if (g.mask_bits != nullptr) {
    for (int64_t s = 0; s < seen; ++s) {
      mask_row[s] = g.mask_bits[at + s * g.mask_key_stride] != 0
                        ? 0.0f
                        : -std::numeric_limits<float>::infinity();
    }
    mask = mask_row;
  } else if (g.mask != nullptr && g.mask_key_stride == 1) {
    mask = g.mask + at;
  } else if (g.mask != nullptr) {
    for (int64_t s = 0; s < seen; ++s) mask_row[s] = g.mask[at + s * g.mask_key_stride];
    mask = mask_row;
  }
  const float sum =
      HWY_DYNAMIC_DISPATCH(ExponentialsImpl)(row, static_cast<size_t>(seen), g.scale, mask);
  if (sum == 0) {
    // No score is above -inf.
    std::fill(row, row + seen, g.nan_rows ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
  }
  std::fill(row + seen, row + used, 0.0f);
  return sum == 0 ? 1 : 1 / sum;
}

void RunDirect(const Head& head, float* scratch) {
  const AttentionArgs& g = head.g;
  float *row = scratch, *mask_row = scratch + g.keys;
  Budget::Pace pace;
  for (int64_t i = 0; i < g.queries; ++i) {
    if (pace.Stop(g.keys * (g.head_size + g.value_size))) return;
    const float* query = head.query + i * g.query_strides.token;
    const int64_t seen = SeenBy(g, i);
    for (int64_t s = 0; s < seen; ++s) {
      row[s] = HWY_DYNAMIC_DISPATCH(DotImpl)(query, head.key + s * g.key_strides.token,
                                             static_cast<size_t>(g.head_size));
    }
    const float factor = Weigh(head, i, seen, row, mask_row);
    float* out = head.out + i * g.out_strides.token;
    HWY_DYNAMIC_DISPATCH(WeightedRowsImpl)
    (row, head.value, static_cast<size_t>(seen), static_cast<size_t>(g.value_strides.token),
     static_cast<size_t>(g.value_size), out);
    HWY_DYNAMIC_DISPATCH(ScaleImpl)(out, static_cast<size_t>(g.value_size), factor);
  }
}

void RunPacked(const Head& head, const float* keys, const float* values, float* scores,
               float* mask_row) {
  const AttentionArgs& g = head.g;
  for (int64_t i = 0; i < g.queries; i += kBlockRows) {
    if (Budget::Stop()) return;
    const int64_t rows = std::min(kBlockRows, g.queries - i);
    // The keys that some row of the block sees.
    const int64_t used = SeenBy(g, i + rows - 1);
    const auto keys_seen = static_cast<size_t>(used);
    float factors[kBlockRows];
    PackedGemmArgs product;
    // The number of rows selects the summation order: a block uses that of all queries, which are
    // more than kFewQueries.
    product.m = static_cast<size_t>(std::max(rows, kFewQueries + 1));
    product.k = static_cast<size_t>(g.head_size);
    product.n = keys_seen;
    product.a = head.query + i * g.query_strides.token;
    product.lda = static_cast<size_t>(g.query_strides.token);
    product.b = keys;
    product.c = scores;
    product.ldc = static_cast<size_t>(g.keys);
    PackedGemmRange(product, 0, static_cast<size_t>(rows), 0, product.n);
    for (int64_t r = 0; r < rows; ++r) {
      factors[r] = Weigh(head, i + r, used, scores + r * g.keys, mask_row);
    }
    product.k = keys_seen;
    product.a = scores;
    product.lda = static_cast<size_t>(g.keys);
    product.ldc = static_cast<size_t>(g.out_strides.token);
    float* out = head.out + i * g.out_strides.token;
    // Panels are as deep as there are keys: of fewer rows they are multiplied one by one.
    const int64_t step = used == g.keys ? g.value_size : int64_t{kPanelColumns};
    for (int64_t j = 0; j < g.value_size; j += step) {
      product.n = static_cast<size_t>(std::min(step, g.value_size - j));
      product.b = values + j * g.keys;
      product.c = out + j;
      PackedGemmRange(product, 0, static_cast<size_t>(rows), 0, product.n);
    }
    for (int64_t r = 0; r < rows; ++r) {
      HWY_DYNAMIC_DISPATCH(ScaleImpl)
      (out + r * g.out_strides.token, static_cast<size_t>(g.value_size), factors[r]);
    }
  }
}

bool IsDirect(int64_t queries) { return queries <= kFewQueries; }

}  // namespace

std::optional<int64_t> AttentionFloats(int64_t queries, int64_t keys, int64_t head_size,
                                       int64_t value_size) {
  CheckedInt floats = CheckedInt(keys) * 2;  // a row of scores, a row of the mask
  if (!IsDirect(queries)) {
    const std::optional<int64_t> k = PackedMatrixSize(head_size, keys);
    const std::optional<int64_t> v = PackedMatrixSize(keys, value_size);
    if (!k.has_value() || !v.has_value()) return std::nullopt;
    floats = CheckedInt(*k) + *v + CheckedInt(kBlockRows + 1) * keys;
  }
  if (!floats.ok()) return std::nullopt;
  return floats.value();
}

void AttentionGroups(const AttentionArgs& g, int64_t first, int64_t last) {
  const int64_t shared = g.heads / g.kv_heads;
  const bool direct = IsDirect(g.queries);
  float *keys = g.scratch, *values = keys, *scores = keys;
  if (!direct) {
    values = keys + *PackedMatrixSize(g.head_size, g.keys);
    scores = values + *PackedMatrixSize(g.keys, g.value_size);
  }
  for (int64_t group = first; group < last; ++group) {
    const int64_t batch = group / g.kv_heads, kv = group % g.kv_heads;
    const float* key = g.key + batch * g.key_strides.batch + kv * g.key_strides.head;
    const float* value = g.value + batch * g.value_strides.batch + kv * g.value_strides.head;
    if (!direct) {
      HWY_DYNAMIC_DISPATCH(PackKeysImpl)
      (key, static_cast<size_t>(g.keys), static_cast<size_t>(g.key_strides.token),
       static_cast<size_t>(g.head_size), keys);
      PackMatrix(value, g.keys, g.value_size, g.value_strides.token, 1, values);
    }
    for (int64_t h = kv * shared; h < (kv + 1) * shared; ++h) {
      const Head head = {
          .g = g,
          .query = g.query + batch * g.query_strides.batch + h * g.query_strides.head,
          .key = key,
          .value = value,
          .out = g.out + batch * g.out_strides.batch + h * g.out_strides.head,
          .mask_at = batch * g.mask_strides.batch + h * g.mask_strides.head};
      if (direct) {
        RunDirect(head, g.scratch);
      } else {
        RunPacked(head, keys, values, scores, scores + kBlockRows * g.keys);
      }
    }
  }
}

}  // namespace belay
#endif  // HWY_ONCE
