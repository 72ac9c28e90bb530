// GEMM of a block of at most 16 columns over the lines of images whose pixels are 16 floats apart:
// convolutions with few filters per group.
//
//   C[l, i, j] = epilogue(sum over t and p < k of a[l * a_line + i * 16 + p] * B[., j])
//
// with a and k of taps[t].
//
// Since the distance of pixels is a constant, tiles need neither pointers nor offsets of their rows: on
// Sapphire Rapids they reach 95 % of the peak; grouped convolutions by PackedGemmRange, 70 %.
//
// Accuracy: float sums in order of t and p with fused multiply-add: at most (terms + 4) * 2^-24 *
// sum |a b| from the exact result. A result does not depend on the lines that are computed.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_PIXEL_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_PIXEL_GEMM_H_

#include <cstddef>

#include "runtime/kernels/packed/epilogue.h"

namespace belay {

// Floats between pixels.
inline constexpr size_t kPixelFloats = 16;
// Minimal number of lines, and of pixels of a line.
inline constexpr size_t kLeastPixelLines = 2, kLeastLinePixels = 8;

struct PixelTap {
  const float* a = nullptr;  // line 0, pixel 0
  size_t k = 0;              // terms, at most kPixelFloats
};

struct PixelGemmArgs {
  size_t lines = 0, pixels = 0;
  size_t columns = 0;  // at most kPixelFloats
  const PixelTap* taps = nullptr;
  size_t num_taps = 0;
  size_t a_line = 0;  // floats between lines of A
  const float* b =
      nullptr;         // [terms, columns], rows kPanelColumns floats apart, 16 of them readable
  float* c = nullptr;  // pixels ldc apart, as those of epilogue.other, which may be C
  size_t ldc = 0, c_line = 0;
  EpilogueF32 epilogue = {};
};

// Whether the CPU has vectors of 16 floats and enough registers.
bool HasPixelGemm();

// C overlaps neither A nor B. Precondition: HasPixelGemm().
void PixelGemm(const PixelGemmArgs& args);

// Copies `k` of 16 channels of `count` pixels, which are `step` floats apart, to pixels of A. Further
// channels of A become zeros.
void CopyPixels(const float* from, size_t step, size_t count, size_t k, float* to);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_PIXEL_GEMM_H_
