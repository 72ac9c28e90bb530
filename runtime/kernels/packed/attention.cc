#include "runtime/kernels/packed/attention.h"

#include <algorithm>
#include <limits>

#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/softmax/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/attention.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

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

// row = scale * row (+ mask). Returns whether any score is above -inf.
bool ScaleImpl(float* HWY_RESTRICT row, size_t n, float scale, const float* HWY_RESTRICT mask) {
  const Tag d;
  const auto factor = hn::Set(d, scale);
  const auto least = hn::Set(d, -std::numeric_limits<float>::infinity());
  bool some = false;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    auto x = hn::Mul(factor, hn::LoadN(d, row + i, n - i));
    if (mask != nullptr) x = hn::Add(x, hn::LoadN(d, mask + i, n - i));
    hn::StoreN(x, d, row + i, n - i);
    some |= !hn::AllTrue(d, hn::Or(hn::Eq(x, least), hn::Not(hn::FirstN(d, n - i))));
  }
  return some;
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {
namespace {

HWY_EXPORT(DotImpl);
HWY_EXPORT(WeightedRowsImpl);
HWY_EXPORT(ScaleImpl);

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

// Converts `row`, the products of query i with the keys it attends to, to softmax weights.
// `mask_row` is a buffer with one float per key.
void Weigh(const Head& head, int64_t i, float* row, float* mask_row) {
  const AttentionArgs& g = head.g;
  const int64_t seen = g.causal ? std::min(g.keys, i + 1) : g.keys;
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
  const auto count = static_cast<size_t>(seen);
  if (HWY_DYNAMIC_DISPATCH(ScaleImpl)(row, count, g.scale, mask)) {
    SoftmaxRowF32(row, count, row);
  } else {
    std::fill(row, row + seen, 0.0f);
  }
  std::fill(row + seen, row + g.keys, 0.0f);
}

void RunDirect(const Head& head, float* scratch) {
  const AttentionArgs& g = head.g;
  float *row = scratch, *mask_row = scratch + g.keys;
  Budget::Pace pace;
  for (int64_t i = 0; i < g.queries; ++i) {
    if (pace.Stop(g.keys * (g.head_size + g.value_size))) return;
    const float* query = head.query + i * g.query_strides.token;
    for (int64_t s = 0; s < g.keys; ++s) {
      row[s] = HWY_DYNAMIC_DISPATCH(DotImpl)(query, head.key + s * g.key_strides.token,
                                             static_cast<size_t>(g.head_size));
    }
    Weigh(head, i, row, mask_row);
    HWY_DYNAMIC_DISPATCH(WeightedRowsImpl)
    (row, head.value, static_cast<size_t>(g.keys), static_cast<size_t>(g.value_strides.token),
     static_cast<size_t>(g.value_size), head.out + i * g.out_strides.token);
  }
}

void RunPacked(const Head& head, const float* keys, const float* values, float* scores,
               float* mask_row) {
  const AttentionArgs& g = head.g;
  for (int64_t i = 0; i < g.queries; i += kBlockRows) {
    if (Budget::Stop()) return;
    const int64_t rows = std::min(kBlockRows, g.queries - i);
    PackedGemmArgs product;
    // The number of rows selects the summation order: a block uses that of all queries, which are
    // more than kFewQueries.
    product.m = static_cast<size_t>(std::max(rows, kFewQueries + 1));
    product.k = static_cast<size_t>(g.head_size);
    product.n = static_cast<size_t>(g.keys);
    product.a = head.query + i * g.query_strides.token;
    product.lda = static_cast<size_t>(g.query_strides.token);
    product.b = keys;
    product.c = scores;
    product.ldc = product.n;
    PackedGemmRange(product, 0, static_cast<size_t>(rows), 0, product.n);
    for (int64_t r = 0; r < rows; ++r) Weigh(head, i + r, scores + r * g.keys, mask_row);
    product.k = static_cast<size_t>(g.keys);
    product.n = static_cast<size_t>(g.value_size);
    product.a = scores;
    product.lda = product.k;
    product.b = values;
    product.c = head.out + i * g.out_strides.token;
    product.ldc = static_cast<size_t>(g.out_strides.token);
    PackedGemmRange(product, 0, static_cast<size_t>(rows), 0, product.n);
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
      PackMatrix(key, g.head_size, g.keys, 1, g.key_strides.token, keys);
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
