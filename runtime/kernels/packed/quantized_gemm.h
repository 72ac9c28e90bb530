// GEMM of bytes with a prepacked int8 right operand, the primitive of quantized linear layers and
// convolutions: packed_gemm.h in integers.
//
// A register tile of 12 rows by 32 columns (fewer with fewer or narrower registers) accumulates all
// of k, four products at a time. A group of tiles of A stays in the L2 cache and is multiplied by
// the panels of B (quantized_weights.h) in turn. Each panel is prefetched while the one before it
// is multiplied. Rows of A are read in place.
//
// If kernels use AMX (amx.h), the tile has 32 rows, and noncontiguous rows of A are copied for it.
//
// Sums are exact: every instruction set and every division into ranges gives the same bits
// (requantize.h).
#ifndef BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/checked_math.h"
#include "runtime/kernels/packed/quantized_weights.h"
#include "runtime/kernels/packed/requantize.h"

namespace belay {

// Maximal MR (rows of the register tile) over all instruction sets.
inline constexpr size_t kQuantizedTileRows = 12;
// Maximal number of rows of A whose tiles share panels of B.
inline constexpr size_t kQuantizedGroupRows = 24 * kQuantizedTileRows;

// Sets pointers[t * count + i], for t < taps, to the k bytes that row first + i reads at tap `tap`
// + t. count <= kQuantizedTileRows. For positions outside an image, they point to k bytes of the
// input's zero point.
using QuantizedRowPointersFn = void (*)(const void* source, size_t first, size_t count, size_t tap,
                                        size_t taps, const uint8_t** pointers);

struct QuantizedGemmArgs {
  size_t m = 0, n = 0;
  // Products side by side: product i multiplies bytes [i * k, (i + 1) * k) of each tap of a row by
  // the i-th packed matrix, which gives columns [i * n, (i + 1) * n) of C. With `joined` groups, a
  // matrix has zeros except for n / joined columns of k / joined rows per group
  // (PackQuantizedGroups).
  size_t matrices = 1, joined = 1;
  // Depth of one tap. If rows of A are readable that far, the next multiple of 4 is faster: B is
  // padded with zeros.
  size_t k = 0;
  size_t taps = 1;  // B has taps * k rows
  // A: rows lda apart (taps == 1), or addressed by `row_pointers`. Nothing after a row's k bytes is
  // read.
  const uint8_t* a = nullptr;
  size_t lda = 0;
  QuantizedRowPointersFn row_pointers = nullptr;
  const void* source = nullptr;
  const uint8_t** pointers = nullptr;  // space for kQuantizedGroupRows * taps
  // For AMX: space for QuantizedCopySize(k, taps) bytes. If null, AMX is used only if rows are
  // contiguous and k is a multiple of 4.
  uint8_t* copy = nullptr;
  const int8_t* b = nullptr;  // PackedQuantizedMatrixSize(taps, k, n) bytes per matrix
  void* c = nullptr;          // float, uint8_t or int32_t, by the epilogue; rows ldc apart
  size_t ldc = 0;             // in elements
  QuantizedEpilogue epilogue = {};
};

// Bytes of QuantizedGemmArgs::copy; 0 if AMX is not used.
CheckedInt QuantizedCopySize(int64_t k, int64_t taps);

// C = epilogue(A B) for rows [first_row, last_row) and columns [first_column, last_column) of all
// matrices. In its matrix, first_column is a multiple of kQuantizedPanelColumns (faster: of twice
// that). C overlaps neither A nor B.
void QuantizedGemmRange(const QuantizedGemmArgs& args, size_t first_row, size_t last_row,
                        size_t first_column, size_t last_column);
// Computes all of C.
inline void QuantizedGemm(const QuantizedGemmArgs& args) {
  QuantizedGemmRange(args, 0, args.m, 0, args.matrices * args.n);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_GEMM_H_
