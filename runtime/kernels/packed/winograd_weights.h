// Prepacked filters of winograd.h: one format for all instruction sets. They are packed ahead of
// time for delegates, in each call for undelegated operators.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_WEIGHTS_H_

#include <cstdint>
#include <optional>

#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/winograd_tiles.h"

namespace belay {

// Filters of 3 x 3 taps. Tap t of channel c in plane p for result channel o is at
// data[o * out_stride + p * plane_stride + t * tap_stride + c * channel_stride].
struct WinogradFilters {
  const float* data;
  int64_t planes, channels, out_channels;
  int64_t out_stride, plane_stride, tap_stride, channel_stride;

  // Dense [out_channels, planes, 3, 3, channels].
  static WinogradFilters ChannelsLast(const float* data, int64_t planes, int64_t channels,
                                      int64_t out_channels) {
    return {data, planes, channels, out_channels, planes * 9 * channels, 9 * channels, channels, 1};
  }
  // Dense [out_channels, channels, planes, 3, 3].
  static WinogradFilters RowMajor(const float* data, int64_t planes, int64_t channels,
                                  int64_t out_channels) {
    return {data, planes, channels, out_channels, channels * planes * 9, 9, 1, planes * 9};
  }
  // Panels of kPanelColumns result channels.
  int64_t panels() const { return (out_channels + kPanelColumns - 1) / kPanelColumns; }
};

// Floats of transformed filters: for each of the 16 or 36 positions in row-major order, G g G^T as a
// packed matrix [planes * channels, out_channels] (packed_weights.h). nullopt if an argument is negative
// or the result exceeds INT64_MAX / sizeof(float).
std::optional<int64_t> PackedWinogradSize(WinogradTile tile, int64_t planes, int64_t channels,
                                          int64_t out_channels);
// Packs panels [first, last) of filters.panels(). The transforms are computed in double and rounded
// once.
void PackWinograd(WinogradTile tile, const WinogradFilters& filters, int64_t first, int64_t last,
                  float* packed);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_WEIGHTS_H_
