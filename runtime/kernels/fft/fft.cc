#include "runtime/kernels/fft/fft.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/fft/fft.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls fn(tag, q) for whole vectors of the row, then for vectors of four, then for elements.
template <class T, class Fn>
HWY_INLINE void ForLanes(int64_t width, Fn&& fn) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t q = 0;
  for (; q + lanes <= width; q += lanes) fn(d, q);
  if constexpr (HWY_MAX_LANES_D(hn::ScalableTag<T>) > 4) {
    for (; q + 4 <= width; q += 4) fn(hn::FixedTag<T, 4>(), q);
  }
  for (; q < width; ++q) fn(hn::CappedTag<T, 1>(), q);
}

// cos and sin of 2 pi k / radix, for k < radix.
template <int kRadix>
struct Turn;
template <>
struct Turn<3> {
  static constexpr double kCos[] = {1, -0.5, -0.5};
  static constexpr double kSin[] = {0, 0.86602540378443864676, -0.86602540378443864676};
};
template <>
struct Turn<5> {
  static constexpr double kCos[] = {1, 0.30901699437494742410, -0.80901699437494742410,
                                    -0.80901699437494742410, 0.30901699437494742410};
  static constexpr double kSin[] = {0, 0.95105651629515357212, 0.58778525229247312917,
                                    -0.58778525229247312917, -0.95105651629515357212};
};
template <>
struct Turn<7> {
  static constexpr double kCos[] = {1,
                                    0.62348980185873353053,
                                    -0.22252093395631440429,
                                    -0.90096886790241912624,
                                    -0.90096886790241912624,
                                    -0.22252093395631440429,
                                    0.62348980185873353053};
  static constexpr double kSin[] = {0,
                                    0.78183148246802980871,
                                    0.97492791218182360702,
                                    0.43388373911755812048,
                                    -0.43388373911755812048,
                                    -0.97492791218182360702,
                                    -0.78183148246802980871};
};

// The transform of kRadix elements, in place.
template <int kRadix, class D, class V = hn::Vec<D>>
HWY_INLINE void Butterfly(D d, V* re, V* im) {
  using T = hn::TFromD<D>;
  if constexpr (kRadix == 2) {
    const V r = hn::Sub(re[0], re[1]), i = hn::Sub(im[0], im[1]);
    re[0] = hn::Add(re[0], re[1]);
    im[0] = hn::Add(im[0], im[1]);
    re[1] = r;
    im[1] = i;
  } else if constexpr (kRadix == 4) {
    const V r0 = hn::Add(re[0], re[2]), i0 = hn::Add(im[0], im[2]);
    const V r1 = hn::Sub(re[0], re[2]), i1 = hn::Sub(im[0], im[2]);
    const V r2 = hn::Add(re[1], re[3]), i2 = hn::Add(im[1], im[3]);
    const V r3 = hn::Sub(re[1], re[3]), i3 = hn::Sub(im[1], im[3]);
    re[0] = hn::Add(r0, r2);
    im[0] = hn::Add(i0, i2);
    re[1] = hn::Add(r1, i3);
    im[1] = hn::Sub(i1, r3);
    re[2] = hn::Sub(r0, r2);
    im[2] = hn::Sub(i0, i2);
    re[3] = hn::Sub(r1, i3);
    im[3] = hn::Add(i1, r3);
  } else {
    // With t[k] = a[k] + a[r - k], u[k] = a[k] - a[r - k]:
    // A[j], A[r - j] = a[0] + sum_k cos(2 pi j k / r) t[k] -+ i sum_k sin(2 pi j k / r) u[k].
    constexpr int kHalf = kRadix / 2;
    V tr[kHalf], ti[kHalf], ur[kHalf], ui[kHalf];
    for (int k = 0; k < kHalf; ++k) {
      tr[k] = hn::Add(re[k + 1], re[kRadix - 1 - k]);
      ti[k] = hn::Add(im[k + 1], im[kRadix - 1 - k]);
      ur[k] = hn::Sub(re[k + 1], re[kRadix - 1 - k]);
      ui[k] = hn::Sub(im[k + 1], im[kRadix - 1 - k]);
    }
    const V r0 = re[0], i0 = im[0];
    for (int k = 0; k < kHalf; ++k) {
      re[0] = hn::Add(re[0], tr[k]);
      im[0] = hn::Add(im[0], ti[k]);
    }
    for (int j = 1; j <= kHalf; ++j) {
      V mr = r0, mi = i0, vr = hn::Zero(d), vi = hn::Zero(d);
      for (int k = 0; k < kHalf; ++k) {
        const V c = hn::Set(d, static_cast<T>(Turn<kRadix>::kCos[j * (k + 1) % kRadix]));
        const V s = hn::Set(d, static_cast<T>(Turn<kRadix>::kSin[j * (k + 1) % kRadix]));
        mr = hn::MulAdd(c, tr[k], mr);
        mi = hn::MulAdd(c, ti[k], mi);
        vr = hn::MulAdd(s, ur[k], vr);
        vi = hn::MulAdd(s, ui[k], vi);
      }
      re[j] = hn::Add(mr, vi);
      im[j] = hn::Sub(mi, vr);
      re[kRadix - j] = hn::Sub(mr, vi);
      im[kRadix - j] = hn::Add(mi, vr);
    }
  }
}

// The columns of one vector in a group of a stage: radix rows of x, `step` apart, to rows of y,
// `width` apart. Without roots, all are 1.
template <int kRadix, class D, class T = hn::TFromD<D>>
HWY_INLINE void TransformColumns(D d, const T* re, const T* im, int64_t step, const T* roots,
                                 T* out_re, T* out_im, int64_t width) {
  using V = hn::Vec<D>;
  V r[kRadix], i[kRadix];
  for (int k = 0; k < kRadix; ++k) {
    r[k] = hn::LoadU(d, re + k * step);
    i[k] = hn::LoadU(d, im + k * step);
  }
  Butterfly<kRadix>(d, r, i);
  if (roots != nullptr) {
    for (int k = 1; k < kRadix; ++k) {
      const V c = hn::Set(d, roots[2 * k - 2]), s = hn::Set(d, roots[2 * k - 1]);
      const V x = r[k], y = i[k];
      r[k] = hn::NegMulAdd(s, y, hn::Mul(c, x));
      i[k] = hn::MulAdd(s, x, hn::Mul(c, y));
    }
  }
  for (int k = 0; k < kRadix; ++k) {
    hn::StoreU(r[k], d, out_re + k * width);
    hn::StoreU(i[k], d, out_im + k * width);
  }
}

template <int kRadix, class T>
void StageOf(const FftStage<T>& stage, const T* HWY_RESTRICT re, const T* HWY_RESTRICT im,
             int64_t pitch, int64_t lines, T* HWY_RESTRICT out_re, T* HWY_RESTRICT out_im) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = stage.width * lines, in_width = stage.width * pitch;
  const int64_t step = stage.groups * in_width;
  for (int64_t p = 0; p < stage.groups; ++p) {
    const T* const roots = p == 0 ? nullptr : stage.roots + 2 * (kRadix - 1) * p;
    const T *const x = re + p * in_width, *const y = im + p * in_width;
    T *const to_x = out_re + kRadix * p * width, *const to_y = out_im + kRadix * p * width;
    int64_t q = 0;
    for (; q + lanes <= width; q += lanes) {
      TransformColumns<kRadix>(d, x + q, y + q, step, roots, to_x + q, to_y + q, width);
    }
    // Fewer lines: vectors of four, then single elements.
    if constexpr (HWY_MAX_LANES_D(hn::ScalableTag<T>) > 4) {
      const hn::FixedTag<T, 4> four;
      for (; q + 4 <= width; q += 4) {
        TransformColumns<kRadix>(four, x + q, y + q, step, roots, to_x + q, to_y + q, width);
      }
    }
    const hn::CappedTag<T, 1> one;
    for (; q < width; ++q) {
      TransformColumns<kRadix>(one, x + q, y + q, step, roots, to_x + q, to_y + q, width);
    }
  }
}

template <class T>
void Stage(const FftStage<T>& stage, const T* re, const T* im, int64_t pitch, int64_t lines,
           T* out_re, T* out_im) {
  switch (stage.radix) {
    case 2:
      return StageOf<2>(stage, re, im, pitch, lines, out_re, out_im);
    case 3:
      return StageOf<3>(stage, re, im, pitch, lines, out_re, out_im);
    case 4:
      return StageOf<4>(stage, re, im, pitch, lines, out_re, out_im);
    case 5:
      return StageOf<5>(stage, re, im, pitch, lines, out_re, out_im);
    default:
      return StageOf<7>(stage, re, im, pitch, lines, out_re, out_im);
  }
}

template <class T>
void Multiply(const T* in_re, const T* in_im, const T* factors, T scale, int64_t rows,
              int64_t lines, T* re, T* im) {
  if (factors == nullptr) {
    ForLanes<T>(rows * lines, [&](auto d, int64_t q) HWY_ATTR {
      const auto s = hn::Set(d, scale);
      hn::StoreU(hn::Mul(hn::LoadU(d, in_re + q), s), d, re + q);
      hn::StoreU(hn::Mul(hn::LoadU(d, in_im + q), s), d, im + q);
    });
    return;
  }
  for (int64_t k = 0; k < rows; ++k) {
    const T c = factors[2 * k] * scale, s = factors[2 * k + 1] * scale;
    const int64_t row = k * lines;
    ForLanes<T>(lines, [&](auto d, int64_t q) HWY_ATTR {
      const auto a = hn::LoadU(d, in_re + row + q), b = hn::LoadU(d, in_im + row + q);
      hn::StoreU(hn::NegMulAdd(hn::Set(d, s), b, hn::Mul(hn::Set(d, c), a)), d, re + row + q);
      hn::StoreU(hn::MulAdd(hn::Set(d, s), a, hn::Mul(hn::Set(d, c), b)), d, im + row + q);
    });
  }
}

template <class T>
void Interleave(const T* HWY_RESTRICT re, const T* HWY_RESTRICT im, int64_t width, int64_t rows,
                int64_t count, T* HWY_RESTRICT out, int64_t pitch) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count == width && count == pitch) {  // one run
    count *= rows;
    rows = 1;
  }
  for (int64_t r = 0; r < rows; ++r, re += width, im += width, out += 2 * pitch) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      hn::StoreInterleaved2(hn::LoadU(d, re + i), hn::LoadU(d, im + i), d, out + 2 * i);
    }
    for (; i < count; ++i) {
      out[2 * i] = re[i];
      out[2 * i + 1] = im[i];
    }
  }
}

template <class T>
void Deinterleave(const T* HWY_RESTRICT in, int64_t pitch, int64_t rows, int64_t count,
                  T* HWY_RESTRICT re, T* HWY_RESTRICT im, int64_t width) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count == width && count == pitch) {  // one run
    count *= rows;
    rows = 1;
  }
  for (int64_t r = 0; r < rows; ++r, re += width, im += width, in += 2 * pitch) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      hn::Vec<decltype(d)> a, b;
      hn::LoadInterleaved2(d, in + 2 * i, a, b);
      hn::StoreU(a, d, re + i);
      hn::StoreU(b, d, im + i);
    }
    for (; i < count; ++i) {
      re[i] = in[2 * i];
      im[i] = in[2 * i + 1];
    }
  }
}

template <class T>
void RealSpectrum(const T* HWY_RESTRICT re, const T* HWY_RESTRICT im, const T* roots, T scale,
                  int64_t h, int64_t lines, T* HWY_RESTRICT out) {
  for (int64_t k = 0; k <= h; ++k) {
    const int64_t low = (k == h ? 0 : k) * lines, high = (k == 0 ? 0 : h - k) * lines;
    const int64_t row = k * lines;
    // e^(-2 pi i k / 2 h) / i, halved like the sums.
    const T half = scale / 2, c = roots[2 * k] * half, s = roots[2 * k + 1] * half;
    ForLanes<T>(lines, [&](auto d, int64_t q) HWY_ATTR {
      const auto ar = hn::LoadU(d, re + low + q), ai = hn::LoadU(d, im + low + q);
      const auto br = hn::LoadU(d, re + high + q), bi = hn::LoadU(d, im + high + q);
      const auto er = hn::Add(ar, br), ei = hn::Sub(ai, bi);  // Z[k] + Z*[h - k]
      const auto fr = hn::Sub(ar, br), fi = hn::Add(ai, bi);  // Z[k] - Z*[h - k]
      // -i (c + i s)(fr + i fi) = (s fr + c fi) + i (s fi - c fr).
      const auto vc = hn::Set(d, c), vs = hn::Set(d, s), vh = hn::Set(d, half);
      const auto real = hn::MulAdd(vs, fr, hn::MulAdd(vc, fi, hn::Mul(vh, er)));
      auto imaginary = hn::MulAdd(vs, fi, hn::NegMulAdd(vc, fr, hn::Mul(vh, ei)));
      if (k == 0 || k == h) imaginary = hn::Zero(d);
      hn::StoreInterleaved2(real, imaginary, d, out + 2 * (row + q));
    });
  }
}

template <class T>
void PackedSpectrum(const T* HWY_RESTRICT re, const T* HWY_RESTRICT im, const T* roots, T scale,
                    int64_t h, int64_t lines, T* HWY_RESTRICT out_re, T* HWY_RESTRICT out_im) {
  for (int64_t k = 0; k < h; ++k) {
    const int64_t low = k * lines, high = (h - k) * lines;
    const T c = roots[2 * k] * scale, s = roots[2 * k + 1] * scale;
    ForLanes<T>(lines, [&](auto d, int64_t q) HWY_ATTR {
      const auto zero = hn::Zero(d);
      const auto ar = hn::LoadU(d, re + low + q), br = hn::LoadU(d, re + high + q);
      const auto ai = k == 0 ? zero : hn::LoadU(d, im + low + q);
      const auto bi = k == 0 ? zero : hn::LoadU(d, im + high + q);
      const auto er = hn::Add(ar, br), ei = hn::Sub(ai, bi);
      const auto fr = hn::Sub(ar, br), fi = hn::Add(ai, bi);
      // i (c - i s)(fr + i fi) = (s fr - c fi) + i (c fr + s fi).
      const auto vc = hn::Set(d, c), vs = hn::Set(d, s), v1 = hn::Set(d, scale);
      hn::StoreU(hn::MulAdd(vs, fr, hn::NegMulAdd(vc, fi, hn::Mul(v1, er))), d, out_re + low + q);
      hn::StoreU(hn::MulAdd(vs, fi, hn::MulAdd(vc, fr, hn::Mul(v1, ei))), d, out_im + low + q);
    });
  }
}

FftLoops<float> FloatLoops() {
  return {&Stage<float>,        &Multiply<float>,     &Interleave<float>,
          &Deinterleave<float>, &RealSpectrum<float>, &PackedSpectrum<float>};
}
FftLoops<double> DoubleLoops() {
  return {&Stage<double>,        &Multiply<double>,     &Interleave<double>,
          &Deinterleave<double>, &RealSpectrum<double>, &PackedSpectrum<double>};
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FloatLoops);
HWY_EXPORT(DoubleLoops);
template <>
FftLoops<float> GetFftLoops<float>() {
  return HWY_DYNAMIC_DISPATCH(FloatLoops)();
}
template <>
FftLoops<double> GetFftLoops<double>() {
  return HWY_DYNAMIC_DISPATCH(DoubleLoops)();
}

}  // namespace belay
#endif  // HWY_ONCE
