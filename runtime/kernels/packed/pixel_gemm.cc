#include "runtime/kernels/packed/pixel_gemm.h"

#include <cstdint>

#include "runtime/core/budget.h"
#include "runtime/kernels/packed/packed_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/pixel_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/core/flush_subnormals.h"
#include "runtime/kernels/packed/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void CopyAll(const float* from, size_t step, size_t count, size_t k, float* to) {
  const hn::CappedTag<float, kPixelFloats> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t j = 0; j < kPixelFloats; j += lanes) {
    const size_t some = HWY_MIN(lanes, k - HWY_MIN(j, k));
    const float* source = from + j;
    for (size_t i = 0; i < count; ++i, source += step) {
      hn::StoreU(LoadSome(d, source, some), d, to + i * kPixelFloats + j);
    }
  }
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

using Tag = hn::FixedTag<float, kPixelFloats>;
using V = hn::Vec<Tag>;

// Pixels of two lines. Indexed only by constants, so that the sums stay in registers.
constexpr size_t kLines = 2;
template <size_t kPixels>
struct Sums {
  V at[kLines][kPixels];
};

// sums[l][i] += from[l][i * kPixelFloats] * b[0 .. 16)
template <size_t kPixels>
HWY_INLINE void AddTerm(const float* const (&from)[kLines], size_t p, const float* b,
                        Sums<kPixels>& sums) {
  const Tag d;
  const V bv = hn::LoadU(d, b);
  HWY_UNROLL(kLines)
  for (size_t l = 0; l < kLines; ++l) {
    HWY_UNROLL(kPixels)
    for (size_t i = 0; i < kPixels; ++i) {
      V& sum = sums.at[l][i];
      sum = hn::MulAdd(hn::Set(d, from[l][i * kPixelFloats + p]), bv, sum);
    }
  }
}

// Computes pixels [pixel + skip, pixel + kPixels) of `line` and the next one; without `both`, stores
// only the second line.
template <size_t kPixels>
HWY_NOINLINE void PixelTile(const PixelGemmArgs& g, size_t line, bool both, size_t pixel,
                            size_t skip) {
  constexpr size_t kSteps = 4;
  const Tag d;
  Sums<kPixels> sums;
  HWY_UNROLL(kLines)
  for (size_t l = 0; l < kLines; ++l) {
    HWY_UNROLL(kPixels)
    for (size_t i = 0; i < kPixels; ++i) sums.at[l][i] = hn::Zero(d);
  }
  const size_t at = line * g.a_line + pixel * kPixelFloats;
  const float* HWY_RESTRICT b = g.b;
  for (const PixelTap *tap = g.taps, *end = tap + g.num_taps; tap != end; ++tap) {
    const float* from[kLines] = {tap->a + at, tap->a + at + g.a_line};
    size_t k = tap->k;
    for (; k >= kSteps; k -= kSteps, b += kSteps * kPanelColumns) {
      HWY_UNROLL(kSteps)
      for (size_t p = 0; p < kSteps; ++p) AddTerm<kPixels>(from, p, b + p * kPanelColumns, sums);
      from[0] += kSteps;
      from[1] += kSteps;
    }
    for (; k != 0; --k, b += kPanelColumns, ++from[0], ++from[1])
      AddTerm<kPixels>(from, 0, b, sums);
  }
  const EpilogueF32& e = g.epilogue;
  const bool linear = IsLinear(e), whole = g.columns == kPixelFloats;
  const V bias = e.bias == nullptr ? hn::Zero(d) : LoadSome(d, e.bias, g.columns);
  const V low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  HWY_UNROLL(kLines)
  for (size_t l = 0; l < kLines; ++l) {
    if (l == 0 && !both) continue;
    const size_t first = (line + l) * g.c_line + pixel * g.ldc;
    float* c = g.c + first;
    const float* other = e.other == nullptr ? nullptr : e.other + first;
    HWY_UNROLL(kPixels)
    for (size_t i = 0; i < kPixels; ++i) {
      if (i < skip) continue;
      const size_t to = i * g.ldc;
      V y = hn::Add(sums.at[l][i], bias);
      if (other != nullptr && !e.multiply) y = hn::Add(y, LoadSome(d, other + to, g.columns));
      if (linear) y = ClampKeepingNaN(d, y, low, high);
      if (whole) {
        hn::StoreU(y, d, c + to);
      } else {
        hn::StoreN(y, d, c + to, g.columns);
      }
    }
    if (linear) continue;
    FinishTile(e, other == nullptr ? nullptr : other + skip * g.ldc, c + skip * g.ldc, g.ldc,
               kPixels - skip, g.columns);
  }
}

// Computes `line` and the next one in tiles of kPixels pixels of each.
template <size_t kPixels>
void TwoLines(const PixelGemmArgs& g, size_t line, bool both) {
  for (size_t next = 0; next < g.pixels; next += kPixels) {
    // The last pixels, with some before them that are computed again.
    const size_t pixel = HWY_MIN(next, g.pixels - kPixels);
    PixelTile<kPixels>(g, line, both, pixel, next - pixel);
  }
}

// Pixels that tiles of kPixels compute of a line; more than any other if it has fewer.
template <size_t kPixels>
size_t Computed(size_t pixels) {
  return pixels < kPixels ? ~size_t{0} : (pixels + kPixels - 1) / kPixels * kPixels;
}

void MultiplyPixels(const PixelGemmArgs& g) {
  // Images of multiples of 7 and 8 are the most common.
  constexpr size_t kLarge = 14, kSmall = kLeastLinePixels;
  int64_t terms = 1;
  for (size_t t = 0; t < g.num_taps; ++t) terms += static_cast<int64_t>(g.taps[t].k);
  Budget::Pace pace;
  for (size_t line = 0; line < g.lines; line += kLines) {
    if (pace.Stop(static_cast<int64_t>(kLines * kPixelFloats * g.pixels) * terms)) return;
    const bool both = line + 1 < g.lines;
    const size_t first = both ? line : line - 1;
    if (Computed<kLarge>(g.pixels) <= Computed<kSmall>(g.pixels)) {
      TwoLines<kLarge>(g, first, both);
    } else {
      TwoLines<kSmall>(g, first, both);
    }
  }
}
bool MultipliesPixels() { return true; }

#else

void MultiplyPixels(const PixelGemmArgs&) {}
bool MultipliesPixels() { return false; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(MultipliesPixels);
bool HasPixelGemm() { return HWY_DYNAMIC_DISPATCH(MultipliesPixels)(); }

HWY_EXPORT(CopyAll);
void CopyPixels(const float* from, size_t step, size_t count, size_t k, float* to) {
  HWY_DYNAMIC_DISPATCH(CopyAll)(from, step, count, k, to);
}

HWY_EXPORT(MultiplyPixels);
void PixelGemm(const PixelGemmArgs& args) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(MultiplyPixels)(args);
}

}  // namespace belay
#endif  // HWY_ONCE
