// Prepacked int8 weights of the quantized kernels: one format for all instruction sets, written
// ahead of time.
//
//   matrix     B [taps * k, n]: panels of 16 columns in VNNI-4 layout, per tap ceil(k / 4) lines
//              of 64 bytes. Byte 4 j + i of line g is B[4 g + i, j] of its panel and tap, the
//              operand of VPDPBUSD, SDOT and AMX tiles (16 lines each).
//   groups     of a grouped convolution: a matrix [taps * j * channels, j * filters] for each j joined
//              groups in turn (QuantizedJoinedGroups). Filters are zero for channels of other groups.
//   depthwise  [channels, kernel_height, kernel_width]: blocks of 64 channels, each
//              ceil(kernel_height / 4) * kernel_width groups of 256 bytes. A group holds four rows
//              of one column of the window: byte 64 p + 16 l + 4 c + i is that of row 4 g + i for
//              channel 16 l + 4 p + c of the block. Two rounds of interleaving within 16 bytes
//              (UNPCKL, ZIP1) bring the bytes of four vertically adjacent pixels to the same order,
//              for every vector width: part l of a line serves 16 channels.
//
// Incomplete lines, panels and blocks are padded with zeros.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace belay {

inline constexpr size_t kQuantizedPanelColumns = 16;
inline constexpr size_t kQuantizedDepthwiseChannels = 64;

// The number of groups that share a matrix, so that their filters fill a panel: the least divisor j
// of `groups` with j * filters >= kQuantizedPanelColumns, but the largest divisor up to
// kQuantizedPanelColumns if j exceeds that. Precondition: both are positive, filters below 2^58.
int64_t QuantizedJoinedGroups(int64_t groups, int64_t filters);

// Bytes of packed weights. nullopt if an argument is negative or the result exceeds INT64_MAX.
std::optional<int64_t> PackedQuantizedMatrixSize(int64_t taps, int64_t k, int64_t n);
// Of `groups` groups of `channels` channels and `filters` filters each. nullopt also if there is no
// group or no filter.
std::optional<int64_t> PackedQuantizedGroupsSize(int64_t taps, int64_t groups, int64_t channels,
                                                 int64_t filters);
std::optional<int64_t> PackedQuantizedDepthwiseSize(int64_t channels, int64_t kernel_height,
                                                    int64_t kernel_width);

// Packs B[t, p, j] = b[t * tap_stride + p * row_stride + j * column_stride], row p of tap t.
// `packed` has space for PackedQuantizedMatrixSize(taps, k, n) bytes.
void PackQuantizedMatrix(const int8_t* b, int64_t taps, int64_t k, int64_t n, int64_t tap_stride,
                         int64_t row_stride, int64_t column_stride, int8_t* packed);
// Packs filters [groups * filters, taps, channels], contiguous. `packed` has space for
// PackedQuantizedGroupsSize(taps, groups, channels, filters) bytes.
void PackQuantizedGroups(const int8_t* b, int64_t taps, int64_t groups, int64_t channels,
                         int64_t filters, int8_t* packed);
// Packs element (c, y, x) = weight[c * channel_stride + (y * kernel_width + x) * tap_stride].
// `packed` has space for PackedQuantizedDepthwiseSize(channels, kernel_height, kernel_width) bytes.
void PackQuantizedDepthwise(const int8_t* weight, int64_t channels, int64_t kernel_height,
                            int64_t kernel_width, int64_t channel_stride, int64_t tap_stride,
                            int8_t* packed);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_WEIGHTS_H_
