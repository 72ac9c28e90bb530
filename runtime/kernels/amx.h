// AMX matrix multiplication of 8-bit integers and of bfloat16, on Intel server CPUs since Sapphire
// Rapids (Intel's Software Developer's Manual, volume 1, chapter 18). Highway has no target for
// AMX.
#ifndef BELAY_RUNTIME_KERNELS_AMX_H_
#define BELAY_RUNTIME_KERNELS_AMX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/core/budget.h"
#include "runtime/core/element.h"

namespace belay {

// Returns whether the CPU has AMX-INT8 and AMX-BF16 and the system lets this process use the tile
// registers. Requests the permission once. No CPU has only one of the two. False in builds for
// other CPUs.
bool HasAmx();

// Returns whether kernels use AMX: HasAmx(), unless another instruction set was selected
// (UseInstructionSet of instruction_set.h).
bool UsesAmx();
// Must not be called while a kernel runs. No effect on CPUs without AMX.
void SetUsesAmx(bool uses);

inline constexpr size_t kAmxRows = 32;     // rows of A in the accumulator tiles
inline constexpr size_t kAmxColumns = 32;  // columns of B: 16 in each of two parts
// A line of B has one 32-bit word for each of a part's 16 columns. Line i is multiplied by word i of
// each row of A.
inline constexpr size_t kAmxLines = 16;  // lines in a tile of B
inline constexpr size_t kAmxDepth = 64;  // bytes of a row of A per tile of B
// Distance in elements between consecutive lines of a part. Parts are panels of bytes
// (quantized_weights.h) or halves of a VNNI-2 panel (packed_weights.h).
inline constexpr size_t kAmxLineStep = 64;

// Maps the element type of A to the element type of B and to the accumulator type.
template <class T>
struct AmxElement;
template <>
struct AmxElement<uint8_t> {
  using OfB = int8_t;
  using Sum = int32_t;
};
template <>
struct AmxElement<BFloat16> {
  using OfB = BFloat16;
  using Sum = float;
};

// Accumulator tiles for some rows of A times one or two parts of B. They occupy the tile registers
// of the constructing thread, which must not construct another object while this one lives.
//
// Integer accumulators are exact as long as they fit int32, and wrap beyond. bfloat16 accumulators
// round each product and each sum to nearest and flush subnormal numbers to 0. An accumulator
// depends only on its row and column.
//
// Precondition of all functions: HasAmx().
template <class T>
class AmxTiles {
 public:
  using B = typename AmxElement<T>::OfB;
  using Sum = typename AmxElement<T>::Sum;

  // 1 <= rows <= kAmxRows. `last_lines`: lines of B after the last whole tile, fewer than
  // kAmxLines.
  AmxTiles(size_t rows, size_t last_lines);
  ~AmxTiles();
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  // Sets all accumulators to 0.
  void Clear();
  // Accumulates kAmxDepth bytes of each row of A times kAmxLines lines of each part. Rows of A are
  // `stride` elements apart. If `second` is null, only the accumulators of the first part are used.
  void Add(const T* a, size_t stride, const B* first, const B* second);
  // Same as Add, for the last lines: one 32-bit word of each row per line.
  void AddLast(const T* a, size_t stride, const B* first, const B* second);
  // sums[r * kAmxColumns + j] = accumulator of row r, column j. `sums` is aligned to 64 bytes.
  void Store(Sum* sums, bool second) const;

 private:
  template <int kTileOfA, int kTileOfB>
  void AddTo(const T* a, size_t stride, const B* first, const B* second);

  size_t lower_;  // first row of the lower half; 0 if there is one half
};

// Rows of A: the first row, and the distance between rows in elements.
template <class T>
struct AmxRows {
  const T* first;
  size_t stride;
};
// Parts of B for up to kAmxColumns columns. `second` is not read if the first part has all columns.
template <class T>
struct AmxParts {
  const typename AmxElement<T>::OfB *first, *second;
};

// Bytes of parts of B that are reused for all rows before the next block: a share of the L2 cache.
inline constexpr size_t kAmxBlockBytes = size_t{512} << 10;

// Multiplies rows [first_row, last_row) of A by columns [first_column, last_column) of B. The parts
// of B have `lines` > 0 lines; first_column is a multiple of kAmxColumns. Returns early when the
// budget is exhausted.
//   rows(row, count)      returns the AmxRows of rows [row, row + count); valid until the next call
//   parts(column)         returns the AmxParts of the columns from `column` on
//   finish(row, count, column, columns, sums)
//                         receives the sums of these rows and columns, rows kAmxColumns apart
// Precondition: HasAmx().
template <class T, class RowsFn, class PartsFn, class FinishFn>
void MultiplyByAmx(size_t lines, size_t first_row, size_t last_row, size_t first_column,
                   size_t last_column, RowsFn rows, PartsFn parts, FinishFn finish) {
  constexpr size_t kWord = sizeof(uint32_t), kTerms = kWord / sizeof(T);  // elements of A per line
  const size_t block =
      std::max(kAmxBlockBytes / (lines * kWord), kAmxColumns) / kAmxColumns * kAmxColumns;
  alignas(64) typename AmxTiles<T>::Sum sums[kAmxRows * kAmxColumns] = {};
  std::optional<AmxTiles<T>> tiles;
  size_t tile_rows = 0, count = 0;
  Budget::Pace pace;
  for (size_t begin = first_column; begin < last_column; begin += block) {
    const size_t end = std::min(last_column, begin + block);
    for (size_t row = first_row; row < last_row; row += count) {
      count = std::min(kAmxRows, last_row - row);
      if (pace.Stop(static_cast<int64_t>(count * (end - begin) * lines * kTerms))) return;
      if (count != tile_rows) {
        tiles.reset();
        tiles.emplace(count, lines % kAmxLines);
        tile_rows = count;
      }
      const AmxRows<T> a = rows(row, count);
      for (size_t column = begin; column < end; column += kAmxColumns) {
        const size_t columns = std::min(kAmxColumns, end - column);
        const bool two = columns > kAmxColumns / 2;
        const AmxParts<T> b = parts(column);
        tiles->Clear();
        for (size_t l = 0; l < lines; l += kAmxLines) {
          const T* from = a.first + l * kTerms;
          const auto* first = b.first + l * kAmxLineStep;
          const auto* second = two ? b.second + l * kAmxLineStep : nullptr;
          if (lines - l >= kAmxLines) {
            tiles->Add(from, a.stride, first, second);
          } else {
            tiles->AddLast(from, a.stride, first, second);
          }
        }
        tiles->Store(sums, two);
        finish(row, count, column, columns, sums);
      }
    }
  }
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_AMX_H_
