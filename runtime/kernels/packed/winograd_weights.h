// Prepacked filters of winograd.h: one format for all instruction sets, written ahead of time.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_WEIGHTS_H_

#include <cstdint>
#include <optional>

#include "runtime/kernels/packed/winograd_tiles.h"

namespace belay {

// Floats of transformed filters: for each of the 16 or 36 positions in row-major order, G g G^T as a
// packed matrix [planes * channels, out_channels] (packed_weights.h). nullopt if an argument is negative
// or the result exceeds INT64_MAX / sizeof(float).
std::optional<int64_t> PackedWinogradSize(WinogradTile tile, int64_t planes, int64_t channels,
                                          int64_t out_channels);
// Packs filters [out_channels, planes, 3, 3, channels].
void PackWinograd(WinogradTile tile, const float* filters, int64_t planes, int64_t channels,
                  int64_t out_channels, float* packed);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_WEIGHTS_H_
