// How int8 weights lie for the quantized kernels of this folder: one format for all instruction
// sets, made once, ahead of time.
//
//   matrix     B [taps * k, n]: panels of 16 columns one behind the other, each `taps` times
//              ceil(k / 4) lines of 64 bytes. A line holds four neighboring rows of B: byte 4 j + i
//              is B[4 g + i, j] of its panel and tap. That is how VPDPBUSD, SDOT and AMX's tiles
//              (16 lines each) read it.
//   depthwise  [channels, kernel_height, kernel_width]: blocks of 64 channels one behind the other,
//              each ceil(kernel_height / 4) * kernel_width groups of 256 bytes. A group holds four
//              rows of one column of the window: byte 64 p + 16 l + 4 c + i is that of row 4 g + i
//              for channel 16 l + 4 p + c of the block. So lie the bytes of four pixels one below
//              the other after two rounds of interleaving within 16 bytes (UNPCKL, ZIP1), whatever
//              the width of the vectors: part l of a line serves 16 channels.
//
// What is missing to whole lines, panels and blocks is zeros.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace belay {

inline constexpr size_t kQuantizedPanelColumns = 16;
inline constexpr size_t kQuantizedDepthwiseChannels = 64;

// Bytes that the packed weights are. nullopt when a number is negative or the result is above
// INT64_MAX.
std::optional<int64_t> PackedQuantizedMatrixSize(int64_t taps, int64_t k, int64_t n);
std::optional<int64_t> PackedQuantizedDepthwiseSize(int64_t channels, int64_t kernel_height,
                                                    int64_t kernel_width);

// Element (t, p, j) of B, row p of tap t, lies at b[t * tap_stride + p * row_stride + j *
// column_stride]. `packed` has room for PackedQuantizedMatrixSize(taps, k, n) bytes.
void PackQuantizedMatrix(const int8_t* b, int64_t taps, int64_t k, int64_t n, int64_t tap_stride,
                         int64_t row_stride, int64_t column_stride, int8_t* packed);
// Element (c, y, x) lies at weight[c * channel_stride + (y * kernel_width + x) * tap_stride].
// `packed` has room for PackedQuantizedDepthwiseSize(channels, kernel_height, kernel_width) bytes.
void PackQuantizedDepthwise(const int8_t* weight, int64_t channels, int64_t kernel_height,
                            int64_t kernel_width, int64_t channel_stride, int64_t tap_stride,
                            int8_t* packed);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_WEIGHTS_H_
