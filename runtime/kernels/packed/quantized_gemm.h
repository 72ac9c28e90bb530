// Products of bytes with a packed int8 right side, the one primitive of quantized linear layers and
// convolutions: packed_gemm.h in integers.
//
// A register tile of 12 rows by 32 columns (fewer where there are fewer or narrower registers) is
// summed over all of k, four products at a time; a group of tiles of A stays in the second-level cache
// while B's panels (quantized_weights.h) go by, each fetched while the one before it is multiplied.
// Rows of A are read where they lie.
//
// Where kernels use AMX (amx.h) the tile has 32 rows, and rows of A that are in pieces are copied for it.
//
// Sums are exact, so that every instruction set and every division into ranges gives the same bits
// (requantize.h).
#ifndef BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/checked_math.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/requantize.h"

namespace belay {

// Rows of the register tile at most, over all instruction sets.
inline constexpr size_t kQuantizedTileRows = 12;
// Rows of A at most whose tiles meet panels of B one behind the other.
inline constexpr size_t kQuantizedGroupRows = 24 * kQuantizedTileRows;

// Sets pointers[t * count + i], for each of `taps` taps t, to the k bytes that row first + i reads
// at tap `tap` + t. count <= kQuantizedTileRows. What lies outside of an image is k bytes of the
// input's zero point.
using QuantizedRowPointersFn = void (*)(const void* source, size_t first, size_t count, size_t tap,
                                        size_t taps, const uint8_t** pointers);

struct QuantizedGemmArgs {
  size_t m = 0, n = 0;
  // Of one tap; where A can be read so far, better the next multiple of 4: zeros of B meet the rest.
  size_t k = 0;
  size_t taps = 1;  // B has taps * k rows
  // A: rows lda apart (taps == 1), or what `row_pointers` says. Nothing behind a row's k bytes is
  // read.
  const uint8_t* a = nullptr;
  size_t lda = 0;
  QuantizedRowPointersFn row_pointers = nullptr;
  const void* source = nullptr;
  const uint8_t** pointers = nullptr;  // room for kQuantizedGroupRows * taps
  // For AMX, room for QuantizedCopySize(k, taps) bytes. It is used without where rows lie in one piece
  // and k is a multiple of 4, and else not at all.
  uint8_t* copy = nullptr;
  const int8_t* b = nullptr;  // PackedQuantizedMatrixSize(taps, k, n) bytes
  void* c = nullptr;          // float or uint8_t, as the epilogue says; rows ldc apart
  size_t ldc = 0;             // in elements
  QuantizedEpilogue epilogue = {};
};

// Bytes of QuantizedGemmArgs::copy: 0 where there is no AMX.
CheckedInt QuantizedCopySize(int64_t k, int64_t taps);

// C = epilogue(A B) for rows [first_row, last_row) and columns [first_column, last_column);
// first_column is a multiple of kQuantizedPanelColumns, of twice that if it shall be quick. C
// overlaps neither A nor B.
void QuantizedGemmRange(const QuantizedGemmArgs& args, size_t first_row, size_t last_row,
                        size_t first_column, size_t last_column);
// All of it.
inline void QuantizedGemm(const QuantizedGemmArgs& args) {
  QuantizedGemmRange(args, 0, args.m, 0, args.n);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_GEMM_H_
