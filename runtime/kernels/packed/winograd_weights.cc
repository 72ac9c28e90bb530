#include "runtime/kernels/packed/winograd_weights.h"

#include <algorithm>

#include "runtime/core/checked_math.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/packed/winograd_matrices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/winograd_weights.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;

// The product of G with three taps. Factors of zero and one are left out.
HWY_INLINE void TransformTaps(const V (&f)[3], V (&t)[4]) {
  const V half = hn::Set(D(), 0.5), ends = hn::Add(f[0], f[2]);
  t[0] = f[0];
  t[1] = hn::Mul(half, hn::Add(ends, f[1]));
  t[2] = hn::Mul(half, hn::Sub(ends, f[1]));
  t[3] = f[2];
}
HWY_INLINE void TransformTaps(const V (&f)[3], V (&t)[6]) {
  const D d;
  const auto& g = kWinograd4x4.g;
  for (size_t i = 0; i < 6; ++i) {
    const V first = hn::Add(hn::Mul(hn::Set(d, g[i][0]), f[0]), hn::Mul(hn::Set(d, g[i][1]), f[1]));
    t[i] = hn::Add(first, hn::Mul(hn::Set(d, g[i][2]), f[2]));
  }
}

// Writes G g G^T of the filters of a panel's columns, with taps [9, kPanelColumns], to rows of
// matrices.
template <int64_t kPixels>
HWY_INLINE void TransformRow(const float* HWY_RESTRICT taps, float* HWY_RESTRICT to,
                             int64_t matrix) {
  const D d;
  const hn::Rebind<float, D> df;
  for (int64_t j = 0; j < kPanelColumns; j += static_cast<int64_t>(hn::Lanes(d))) {
    V rows[3][kPixels];
    for (int64_t y = 0; y < 3; ++y) {
      V of_row[3];
      for (int64_t x = 0; x < 3; ++x) {
        of_row[x] = hn::PromoteTo(d, hn::LoadU(df, taps + (3 * y + x) * kPanelColumns + j));
      }
      TransformTaps(of_row, rows[y]);
    }
    for (int64_t x = 0; x < kPixels; ++x) {
      const V of_column[3] = {rows[0][x], rows[1][x], rows[2][x]};
      V transformed[kPixels];
      TransformTaps(of_column, transformed);
      for (int64_t y = 0; y < kPixels; ++y) {
        hn::StoreU(hn::DemoteTo(df, transformed[y]), df, to + (y * kPixels + x) * matrix + j);
      }
    }
  }
}

void TransformRows(WinogradTile tile, const float* taps, int64_t rows, float* to, int64_t matrix) {
  for (int64_t i = 0; i < rows; ++i, taps += 9 * kPanelColumns, to += kPanelColumns) {
    if (tile == WinogradTile::k2x2) {
      TransformRow<4>(taps, to, matrix);
    } else {
      TransformRow<6>(taps, to, matrix);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(TransformRows);

std::optional<int64_t> PackedWinogradSize(WinogradTile tile, int64_t planes, int64_t channels,
                                          int64_t out_channels) {
  const CheckedInt k = CheckedInt(planes) * CheckedInt(channels);
  if (!k.ok()) return std::nullopt;
  const std::optional<int64_t> matrix = PackedMatrixSize(k.value(), out_channels);
  const int64_t most = INT64_MAX / int64_t{sizeof(float)} / WinogradProducts(tile);
  if (!matrix.has_value() || *matrix > most) return std::nullopt;
  return *matrix * WinogradProducts(tile);
}

void PackWinograd(WinogradTile tile, const WinogradFilters& filters, int64_t first, int64_t last,
                  float* packed) {
  // Transposed taps of some channels: [channels, 9, kPanelColumns]. Missing columns stay zeros.
  constexpr int64_t kChannels = 16;
  HWY_ALIGN float taps[kChannels * 9 * kPanelColumns] = {};
  const int64_t k = filters.planes * filters.channels;
  const int64_t matrix = *PackedMatrixSize(k, filters.out_channels);
  for (int64_t panel = first; panel < last; ++panel) {
    const int64_t column = panel * kPanelColumns;
    const int64_t columns = std::min(kPanelColumns, filters.out_channels - column);
    float* row = packed + column * k;
    for (int64_t p = 0; p < filters.planes; ++p) {
      for (int64_t c = 0; c < filters.channels; c += kChannels) {
        const int64_t count = std::min(kChannels, filters.channels - c);
        const float* const from = filters.data + column * filters.out_stride +
                                  p * filters.plane_stride + c * filters.channel_stride;
        TensorView view, transposed;
        view.sizes = transposed.sizes = {columns, count, 9};
        view.strides = {filters.out_stride, filters.channel_stride, filters.tap_stride};
        view.data = const_cast<float*>(from);
        transposed.strides = {1, 9 * kPanelColumns, kPanelColumns};
        transposed.data = taps;
        CopyConvertible(view, transposed);
        HWY_DYNAMIC_DISPATCH(TransformRows)(tile, taps, count, row, matrix);
        row += count * kPanelColumns;
      }
    }
  }
}

}  // namespace belay
#endif  // HWY_ONCE
