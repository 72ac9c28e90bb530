// How filters lie for winograd.h: one format for all instruction sets, made once, ahead of time.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_WEIGHTS_H_

#include <cstdint>
#include <optional>

namespace belay {

// Floats of transformed filters: for each place row by row G g G^T as a packed matrix [channels,
// out_channels] (packed_weights.h). nullopt when a number is negative or the result is above
// INT64_MAX / sizeof(float).
std::optional<int64_t> PackedWinogradSize(int64_t channels, int64_t out_channels);
// Of filters [out_channels, 3, 3, channels].
void PackWinograd(const float* filters, int64_t channels, int64_t out_channels, float* packed);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_WEIGHTS_H_
