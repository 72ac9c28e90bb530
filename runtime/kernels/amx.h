// AMX: products of bytes, and of bfloat16, by the tiles of Intel's server CPUs since Sapphire Rapids
// (Intel's Software Developer's Manual, volume 1, chapter 18). Highway has no target for them.
#ifndef BELAY_RUNTIME_KERNELS_AMX_H_
#define BELAY_RUNTIME_KERNELS_AMX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/core/budget.h"
#include "runtime/core/element.h"

namespace belay {

// Whether the CPU has AMX-INT8 and AMX-BF16, of which none has only one, and the system lets this process
// use its registers, which it is asked for once. False in builds for other CPUs.
bool HasAmx();

// Whether kernels use it: HasAmx(), unless another set was chosen (UseInstructionSet of
// instruction_set.h).
bool UsesAmx();
// While no kernel runs. Without effect where there is no AMX.
void SetUsesAmx(bool uses);

inline constexpr size_t kAmxRows = 32;     // of A, that the tiles have sums for
inline constexpr size_t kAmxColumns = 32;  // of B, 16 of them in each of two parts
// A line of B has a word of 32 bits for each of a part's 16 columns, as a row of A has one that meets it.
inline constexpr size_t kAmxLines = 16;  // that a tile has
inline constexpr size_t kAmxDepth = 64;  // bytes of a row of A that meet them
// Elements of B that a part's lines are apart: parts are panels of bytes (quantized_weights.h) or halves of a
// panel of pairs (packed_weights.h).
inline constexpr size_t kAmxLineStep = 64;

// For each type of A's elements: that of B's, and that of sums.
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

// The sums of products of some rows of A with one or two parts of B: in registers of the thread that made
// it, which makes no other while it lives. Those of bytes are exact as long as they fit int32, and wrap
// beyond; those of bfloat16 round each product and sum to nearest, and take subnormal numbers for 0. What a
// sum is depends on its row and column alone.
// Precondition of all: HasAmx().
template <class T>
class AmxTiles {
 public:
  using B = typename AmxElement<T>::OfB;
  using Sum = typename AmxElement<T>::Sum;

  // 1 <= rows <= kAmxRows. last_lines: those that B has beyond whole tiles, fewer than kAmxLines.
  AmxTiles(size_t rows, size_t last_lines);
  ~AmxTiles();
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  // All sums become 0.
  void Clear();
  // Adds the products of kAmxDepth bytes of each row of A, which are `stride` elements apart, with kAmxLines
  // lines of each part. `second`: null for one part, whose sums are then the only ones.
  void Add(const T* a, size_t stride, const B* first, const B* second);
  // The same of the last lines, which a word of each row meets.
  void AddLast(const T* a, size_t stride, const B* first, const B* second);
  // Row r and column j to sums[r * kAmxColumns + j]; aligned to 64 bytes.
  void Store(Sum* sums, bool second) const;

 private:
  template <int kTileOfA, int kTileOfB>
  void AddTo(const T* a, size_t stride, const B* first, const B* second);

  size_t lower_;  // where the lower half of the rows begins; 0 when there is one half
};

// Rows of A: the first, and the elements from one to the next.
template <class T>
struct AmxRows {
  const T* first;
  size_t stride;
};
// The parts of B for up to kAmxColumns columns; `second` is not read where the first has them all.
template <class T>
struct AmxParts {
  const typename AmxElement<T>::OfB *first, *second;
};

// Bytes of the parts that all rows meet before the next ones: a share of the second-level cache.
inline constexpr size_t kAmxBlockBytes = size_t{512} << 10;

// Multiplies rows [first_row, last_row) of A with columns [first_column, last_column) of B, whose parts have
// `lines` > 0 lines; first_column is a multiple of kAmxColumns. Ends early when the budget says so.
//   rows(row, count)            the AmxRows of rows [row, row + count), which stay until it is called again
//   parts(column)               the AmxParts of the columns from `column` on
//   finish(row, count, column, columns, sums)
//                               takes the sums, kAmxColumns apart, of these rows and columns
// Precondition: HasAmx().
template <class T, class RowsFn, class PartsFn, class FinishFn>
void MultiplyByAmx(size_t lines, size_t first_row, size_t last_row, size_t first_column,
                   size_t last_column, RowsFn rows, PartsFn parts, FinishFn finish) {
  constexpr size_t kWord = sizeof(uint32_t), kTerms = kWord / sizeof(T);  // of a line
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
