#include "runtime/kernels/distance/distance.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/distance/distance.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kRows = kDistanceRows, kVectors = 2;
using D = hn::CappedTag<float, kMostDistanceColumns / kVectors>;
using V = hn::Vec<D>;

int64_t ColumnsImpl() { return kVectors * static_cast<int64_t>(hn::Lanes(D())); }

template <DistanceOrder kOrder>
HWY_INLINE V Accumulated(D d, V sum, V difference) {
  if constexpr (kOrder == DistanceOrder::kTwo) {
    return hn::MulAdd(difference, difference, sum);
  } else if constexpr (kOrder == DistanceOrder::kOne) {
    return hn::Add(sum, hn::Abs(difference));
  } else {
    // Keeps NaN.
    const V size = hn::Abs(difference);
    return hn::IfThenElse(hn::Or(hn::Gt(size, sum), hn::IsNaN(size)), size, sum);
  }
}

template <DistanceOrder kOrder>
void Tile(const float* const* a, int64_t step, const float* HWY_RESTRICT panel, int64_t k,
          float* HWY_RESTRICT out, int64_t out_step) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), columns = kVectors * lanes;
  V sums[kRows][kVectors];
  for (auto& row : sums) {
    for (V& sum : row) sum = hn::Zero(d);
  }
  const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
  static_assert(kRows == 4);
  for (int64_t p = 0; p < k; ++p) {
    const V b0 = hn::LoadU(d, panel + p * columns), b1 = hn::LoadU(d, panel + p * columns + lanes);
    const V x[kRows] = {hn::Set(d, a0[p * step]), hn::Set(d, a1[p * step]),
                        hn::Set(d, a2[p * step]), hn::Set(d, a3[p * step])};
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] = Accumulated<kOrder>(d, sums[i][0], hn::Sub(x[i], b0));
      sums[i][1] = Accumulated<kOrder>(d, sums[i][1], hn::Sub(x[i], b1));
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kVectors; ++j) {
      const V sum = kOrder == DistanceOrder::kTwo ? hn::Sqrt(sums[i][j]) : sums[i][j];
      hn::StoreU(sum, d, out + i * out_step + j * lanes);
    }
  }
}

void DistanceTileImpl(DistanceOrder order, const float* const* a, int64_t step, const float* panel,
                      int64_t k, float* out, int64_t out_step) {
  switch (order) {
    case DistanceOrder::kOne:
      return Tile<DistanceOrder::kOne>(a, step, panel, k, out, out_step);
    case DistanceOrder::kTwo:
      return Tile<DistanceOrder::kTwo>(a, step, panel, k, out, out_step);
    case DistanceOrder::kInfinity:
      return Tile<DistanceOrder::kInfinity>(a, step, panel, k, out, out_step);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(ColumnsImpl);
HWY_EXPORT(DistanceTileImpl);
int64_t DistanceColumns() { return HWY_DYNAMIC_DISPATCH(ColumnsImpl)(); }
void DistanceTile(DistanceOrder order, const float* const* a, int64_t step, const float* panel,
                  int64_t k, float* out, int64_t out_step) {
  HWY_DYNAMIC_DISPATCH(DistanceTileImpl)(order, a, step, panel, k, out, out_step);
}

}  // namespace belay
#endif  // HWY_ONCE
