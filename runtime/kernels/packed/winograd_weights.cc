#include "runtime/kernels/packed/winograd_weights.h"

#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/winograd_tiles.h"

namespace belay {
namespace {

// Computes G g G^T of a filter whose taps are `stride` apart.
void TransformFilter(const float* g, int64_t stride,
                     double (&u)[kWinogradPixels][kWinogradPixels]) {
  const auto transform = [](double a, double b, double c, double(&t)[kWinogradPixels]) {
    t[0] = a / 4;
    t[1] = -(a + b + c) / 6;
    t[2] = -(a - b + c) / 6;
    t[3] = (a + 2 * b + 4 * c) / 24;
    t[4] = (a - 2 * b + 4 * c) / 24;
    t[5] = c;
  };
  double rows[3][kWinogradPixels];
  for (int64_t i = 0; i < 3; ++i, g += 3 * stride) {
    transform(g[0], g[stride], g[2 * stride], rows[i]);
  }
  for (int64_t j = 0; j < kWinogradPixels; ++j) {
    double column[kWinogradPixels];
    transform(rows[0][j], rows[1][j], rows[2][j], column);
    for (int64_t i = 0; i < kWinogradPixels; ++i) u[i][j] = column[i];
  }
}

}  // namespace

std::optional<int64_t> PackedWinogradSize(int64_t channels, int64_t out_channels) {
  const std::optional<int64_t> matrix = PackedMatrixSize(channels, out_channels);
  constexpr int64_t kMost = INT64_MAX / int64_t{sizeof(float)} / kWinogradProducts;
  if (!matrix.has_value() || *matrix > kMost) return std::nullopt;
  return *matrix * kWinogradProducts;
}

void PackWinograd(const float* filters, int64_t channels, int64_t out_channels, float* packed) {
  const int64_t matrix = *PackedMatrixSize(channels, out_channels);
  for (int64_t first = 0; first < out_channels; first += kPanelColumns) {
    for (int64_t c = 0; c < channels; ++c, packed += kPanelColumns) {
      for (int64_t j = 0; j < kPanelColumns; ++j) {
        double u[kWinogradPixels][kWinogradPixels] = {};
        if (first + j < out_channels) {
          TransformFilter(filters + (first + j) * 9 * channels + c, channels, u);
        }
        for (int64_t p = 0; p < kWinogradProducts; ++p) {
          packed[p * matrix + j] = static_cast<float>(u[p / kWinogradPixels][p % kWinogradPixels]);
        }
      }
    }
  }
}

}  // namespace belay
