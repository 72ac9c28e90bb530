// How weights lie for the kernels of this folder: one format for all instruction sets, made once,
// ahead of time.
//
//   matrix     B [k, n] for A B: panels of 32 columns one behind the other, each k rows of 32
//              floats. The last panel's missing columns are zeros. A vector of 4, 8 or 16 lanes
//              reads a part of a row.
//   pairs      the same of bfloat16 and an even k: panels of k / 2 rows of 32 pairs, the elements of
//              rows 2 i and 2 i + 1 of B one behind the other. A pair is a word of 32 bits, as dot
//              products of bfloat16 take them.
//   groups     `groups` matrices [k, n]. n <= 16: panels of two groups, the first one's columns from
//              column 0 of the panel, the second one's from column 16. Else each is a matrix as above.
//   depthwise  [channels, taps]: blocks of 16 channels one behind the other, each `taps` rows of 16
//              floats. The last block's missing channels are zeros.
//
// Source of the shapes: XNNPACK and oneDNN pack to the width of one instruction set; the widest
// width serves the narrower ones as well.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_PACKED_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_PACKED_WEIGHTS_H_

#include <cstdint>
#include <optional>

#include "runtime/core/element.h"

namespace belay {

inline constexpr int64_t kPanelColumns = 32;
inline constexpr int64_t kDepthwiseChannels = 16;
// Two groups of so many columns at most share a panel.
inline constexpr int64_t kNarrowGroup = kPanelColumns / 2;

// Panels of packed groups, and their columns: n of one group. Precondition: the packed size is known.
inline int64_t PackedGroupPanels(int64_t groups, int64_t n) {
  return n <= kNarrowGroup ? (groups + 1) / 2 : groups * ((n + kPanelColumns - 1) / kPanelColumns);
}
inline int64_t PackedGroupColumns(int64_t groups, int64_t n) {
  return groups == 1 ? n : PackedGroupPanels(groups, n) * kPanelColumns;
}

// Elements that the packed weights are. nullopt when a number is negative or the result is above
// INT64_MAX / sizeof(float).
std::optional<int64_t> PackedMatrixSize(int64_t k, int64_t n);
std::optional<int64_t> PackedDepthwiseSize(int64_t channels, int64_t taps);
std::optional<int64_t> PackedGroupsSize(int64_t groups, int64_t k, int64_t n);
// Of the matrix as pairs; nullopt as well when k is odd.
std::optional<int64_t> PackedPairsSize(int64_t k, int64_t n);

// Element (p, j) of B lies at b[p * row_stride + j * column_stride]. `packed` has room for
// PackedMatrixSize(k, n) floats.
void PackMatrix(const float* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
                float* packed);
// Element (p, j) of group i lies at b[i * group_stride + p * row_stride + j * column_stride]. `packed`
// has room for PackedGroupsSize(groups, k, n) floats. One group is packed as a matrix.
void PackGroups(const float* b, int64_t groups, int64_t k, int64_t n, int64_t group_stride,
                int64_t row_stride, int64_t column_stride, float* packed);
// The same as pairs.
void PackPairs(const BFloat16* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
               BFloat16* packed);
// Element (c, t) lies at weight[c * channel_stride + t * tap_stride]. `packed` has room for
// PackedDepthwiseSize(channels, taps) floats.
void PackDepthwise(const float* weight, int64_t channels, int64_t taps, int64_t channel_stride,
                   int64_t tap_stride, float* packed);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_PACKED_WEIGHTS_H_
