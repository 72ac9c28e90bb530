// Prepacked weights of the float and bfloat16 kernels: one format for all instruction sets, written
// ahead of time.
//
//   matrix     B [k, n] of A B: panels of 32 columns,
//              packed(j / 32, p, j % 32) = B[p][j]
//              Missing columns of the last panel are zeros. Vectors of 4, 8 or 16 lanes read a part
//              of a row.
//   pairs      VNNI-2 layout for bfloat16 and even k: panels of 32 columns,
//              packed(j / 32, p / 2, j % 32, p % 2) = B[p][j]
//              Two elements form a 32-bit word, the operand of bfloat16 dot products.
//   groups     `groups` matrices [k, n]. n <= 16: panels of two groups, the first one's columns from
//              column 0 of the panel, the second one's from column 16. Otherwise each is packed as
//              above. Pairs likewise.
//   depthwise  [channels, taps]: blocks of 16 channels,
//              packed(c / 16, t, c % 16) = weight[c][t]
//              Missing channels of the last block are zeros.
//
// Design: XNNPACK and oneDNN pack to the width of one instruction set; the widest width serves the
// narrower ones as well.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_PACKED_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_PACKED_WEIGHTS_H_

#include <cstdint>
#include <optional>

#include "runtime/core/element.h"

namespace belay {

inline constexpr int64_t kPanelColumns = 32;
inline constexpr int64_t kDepthwiseChannels = 16;
// Maximal number of columns of a group that shares a panel with another group.
inline constexpr int64_t kNarrowGroup = kPanelColumns / 2;

// Number of panels of packed groups of n columns, and of their columns. Precondition: the packed
// size is known.
inline int64_t PackedGroupPanels(int64_t groups, int64_t n) {
  return n <= kNarrowGroup ? (groups + 1) / 2 : groups * ((n + kPanelColumns - 1) / kPanelColumns);
}
inline int64_t PackedGroupColumns(int64_t groups, int64_t n) {
  return groups == 1 ? n : PackedGroupPanels(groups, n) * kPanelColumns;
}

// Elements of packed weights. nullopt if an argument is negative or the result exceeds INT64_MAX /
// sizeof(float).
std::optional<int64_t> PackedMatrixSize(int64_t k, int64_t n);
std::optional<int64_t> PackedDepthwiseSize(int64_t channels, int64_t taps);
std::optional<int64_t> PackedGroupsSize(int64_t groups, int64_t k, int64_t n);
// Elements of the matrix in VNNI-2 layout; also nullopt if k is odd.
std::optional<int64_t> PackedVnni2Size(int64_t k, int64_t n);

// Packs B[p, j] = b[p * row_stride + j * column_stride]. `packed` has space for PackedMatrixSize(k,
// n) floats.
void PackMatrix(const float* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
                float* packed);
// Packs B_i[p, j] = b[i * group_stride + p * row_stride + j * column_stride] for each group i.
// `packed` has space for PackedGroupsSize(groups, k, n) floats. One group is packed as a matrix.
void PackGroups(const float* b, int64_t groups, int64_t k, int64_t n, int64_t group_stride,
                int64_t row_stride, int64_t column_stride, float* packed);
// Pack a matrix, and groups, in VNNI-2 layout. k is even.
void PackVnni2(const BFloat16* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
               BFloat16* packed);
void PackVnni2Groups(const BFloat16* b, int64_t groups, int64_t k, int64_t n, int64_t group_stride,
                     int64_t row_stride, int64_t column_stride, BFloat16* packed);
// Packs element (c, t) = weight[c * channel_stride + t * tap_stride]. `packed` has space for
// PackedDepthwiseSize(channels, taps) floats.
void PackDepthwise(const float* weight, int64_t channels, int64_t taps, int64_t channel_stride,
                   int64_t tap_stride, float* packed);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_PACKED_WEIGHTS_H_
