#include "runtime/kernels/packed/winograd_weights.h"

#include "runtime/core/checked_math.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/winograd_matrices.h"

namespace belay {
namespace {

// Writes G g G^T, for a filter whose taps are `stride` apart, to elements `step` apart.
void TransformFilter(WinogradTile tile, const float* filter, int64_t stride, float* to,
                     int64_t step) {
  const auto& g = WinogradMatricesOf(tile).g;
  const int64_t pixels = WinogradPixels(tile);
  double rows[3][6];
  for (int64_t y = 0; y < 3; ++y, filter += 3 * stride) {
    for (int64_t j = 0; j < pixels; ++j) {
      rows[y][j] = g[j][0] * filter[0] + g[j][1] * filter[stride] + g[j][2] * filter[2 * stride];
    }
  }
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t j = 0; j < pixels; ++j, to += step) {
      *to = static_cast<float>(g[i][0] * rows[0][j] + g[i][1] * rows[1][j] + g[i][2] * rows[2][j]);
    }
  }
}

}  // namespace

std::optional<int64_t> PackedWinogradSize(WinogradTile tile, int64_t planes, int64_t channels,
                                          int64_t out_channels) {
  const CheckedInt k = CheckedInt(planes) * CheckedInt(channels);
  if (!k.ok()) return std::nullopt;
  const std::optional<int64_t> matrix = PackedMatrixSize(k.value(), out_channels);
  const int64_t most = INT64_MAX / int64_t{sizeof(float)} / WinogradProducts(tile);
  if (!matrix.has_value() || *matrix > most) return std::nullopt;
  return *matrix * WinogradProducts(tile);
}

void PackWinograd(WinogradTile tile, const float* filters, int64_t planes, int64_t channels,
                  int64_t out_channels, float* packed) {
  const int64_t k = planes * channels, matrix = *PackedMatrixSize(k, out_channels);
  for (int64_t first = 0; first < out_channels; first += kPanelColumns) {
    for (int64_t row = 0; row < k; ++row, packed += kPanelColumns) {
      const float* const of_row = filters + row / channels * 9 * channels + row % channels;
      for (int64_t j = 0; j < kPanelColumns; ++j) {
        if (first + j < out_channels) {
          TransformFilter(tile, of_row + (first + j) * 9 * k, channels, packed + j, matrix);
        } else {
          for (int64_t p = 0; p < WinogradProducts(tile); ++p) packed[p * matrix + j] = 0;
        }
      }
    }
  }
}

}  // namespace belay
