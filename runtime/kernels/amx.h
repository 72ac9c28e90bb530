// AMX: products of bytes by the tiles of Intel's server CPUs since Sapphire Rapids (Intel's Software
// Developer's Manual, volume 1, chapter 18). Highway has no target for them.
#ifndef BELAY_RUNTIME_KERNELS_AMX_H_
#define BELAY_RUNTIME_KERNELS_AMX_H_

#include <cstddef>
#include <cstdint>

namespace belay {

// Whether the CPU has AMX-INT8 and the system lets this process use its registers, which it is asked for
// once. False in builds for other CPUs.
bool HasAmx();

// Whether kernels use it: HasAmx(), unless another set was chosen (UseInstructionSet of
// instruction_set.h).
bool UsesAmx();
// While no kernel runs. Without effect where there is no AMX.
void SetUsesAmx(bool uses);

inline constexpr size_t kAmxRows = 32;     // of A, that the tiles have sums for
inline constexpr size_t kAmxColumns = 32;  // of B: two panels (quantized_weights.h)
inline constexpr size_t kAmxLines = 16;    // of a panel, that a tile has
inline constexpr size_t kAmxDepth = 64;    // bytes of a row of A that meet them

// The sums of products of some rows of A, of uint8, with one or two panels of packed int8 weights: in
// registers of the thread that made it, which makes no other while it lives. Exact as long as they fit
// int32, and wrapping beyond.
// Precondition of all: HasAmx().
class AmxTiles {
 public:
  // 1 <= rows <= kAmxRows. last_lines: those that a panel has beyond whole tiles, fewer than kAmxLines.
  AmxTiles(size_t rows, size_t last_lines);
  ~AmxTiles();
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  // All sums become 0.
  void Clear();
  // Adds the products of kAmxDepth bytes of each row of A, which are `stride` apart, with kAmxLines lines
  // of each panel. `second`: null for one panel, whose sums are then the only ones.
  void Add(const uint8_t* a, size_t stride, const int8_t* first, const int8_t* second);
  // The same of the last lines, which 4 bytes of each row meet.
  void AddLast(const uint8_t* a, size_t stride, const int8_t* first, const int8_t* second);
  // Row r and column j to sums[r * kAmxColumns + j]; aligned to 64 bytes.
  void Store(int32_t* sums, bool second) const;

 private:
  template <int kTileOfA, int kTileOfB>
  void AddTo(const uint8_t* a, size_t stride, const int8_t* first, const int8_t* second);

  size_t lower_;  // where the lower half of the rows begins; 0 when there is one half
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_AMX_H_
