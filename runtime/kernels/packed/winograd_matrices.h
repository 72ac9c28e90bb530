// Transform matrices of winograd.h, for plain loops. Source: Lavin and Gray, 2016, sections 4.1 and 4.3.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_MATRICES_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_MATRICES_H_

#include <cstdint>

#include "runtime/kernels/packed/winograd_tiles.h"

namespace belay {

// B^T for pixels, G for filters and A^T for sums. Rows and columns beyond those of the variant are 0.
struct WinogradMatrices {
  double b[6][6];
  double g[6][3];
  double a[4][6];
};

inline constexpr WinogradMatrices kWinograd2x2 = {
    .b = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
    .g = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
    .a = {{1, 1, 1, 0}, {0, 1, -1, -1}}};
inline constexpr WinogradMatrices kWinograd4x4 = {
    .b = {{4, 0, -5, 0, 1, 0},
          {0, -4, -4, 1, 1, 0},
          {0, 4, -4, -1, 1, 0},
          {0, -2, -1, 2, 1, 0},
          {0, 2, -1, -2, 1, 0},
          {0, 4, 0, -5, 0, 1}},
    .g = {{1.0 / 4, 0, 0},
          {-1.0 / 6, -1.0 / 6, -1.0 / 6},
          {-1.0 / 6, 1.0 / 6, -1.0 / 6},
          {1.0 / 24, 1.0 / 12, 1.0 / 6},
          {1.0 / 24, -1.0 / 12, 1.0 / 6},
          {0, 0, 1}},
    .a = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};

constexpr const WinogradMatrices& WinogradMatricesOf(WinogradTile tile) {
  return tile == WinogradTile::k2x2 ? kWinograd2x2 : kWinograd4x4;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_MATRICES_H_
