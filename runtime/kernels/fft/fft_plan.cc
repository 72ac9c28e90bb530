#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <type_traits>

#include "runtime/kernels/fft/fft.h"

namespace belay {
namespace {

using Complex = std::complex<double>;

constexpr int64_t kLongest = int64_t{1} << 40;
constexpr int64_t kMostLines = 16, kBlock = int64_t{1} << 16;

bool IsSmooth(int64_t n) {
  for (int p : {2, 3, 5, 7}) {
    while (n % p == 0) n /= p;
  }
  return n == 1;
}

// The least m = 2^k, 3 2^k or 5 2^k with m >= least; m < 2 least.
int64_t ConvolutionLength(int64_t least) {
  int64_t best = 1;
  while (best < least) best *= 2;
  for (int64_t odd : {3, 5}) {
    int64_t m = odd;
    while (m < least) m *= 2;
    best = std::min(best, m);
  }
  return best;
}

// Elements of the mixed-radix transform for n complex elements; at most 4 n.
int64_t StageLength(int64_t n) { return IsSmooth(n) ? n : ConvolutionLength(2 * n - 1); }

// e^(-2 pi i k / n). Reduces the angle to an eighth of the circle. Precondition: 0 <= 2 k <= n.
Complex RootOf(int64_t k, int64_t n) {
  constexpr double kTurn = 2 * std::numbers::pi;
  const auto size = static_cast<double>(n);
  if (8 * k <= n) {
    const double angle = kTurn * static_cast<double>(k) / size;
    return {std::cos(angle), -std::sin(angle)};
  }
  if (8 * k <= 3 * n) {
    const double rest = kTurn * static_cast<double>(n - 4 * k) / (4 * size);
    return {std::sin(rest), -std::cos(rest)};
  }
  const double rest = kTurn * static_cast<double>(n - 2 * k) / (2 * size);
  return {-std::cos(rest), -std::sin(rest)};
}

// roots[k] = e^(-2 pi i k / n) for k < n. Computes an eighth of the circle if 4 divides n, a
// quarter if 2 does, otherwise half, and mirrors the rest. Unless `exact`, most roots are products of
// two others, with a relative error below 2^-50, which vanishes in a float.
void FillRoots(int64_t n, bool exact, Complex* roots) {
  const int64_t computed = n % 4 == 0 ? n / 8 : n % 2 == 0 ? n / 4 : n / 2;
  int64_t step = 1;
  while (!exact && step * step < computed) step *= 2;
  for (int64_t k = 0; k < std::min(step, computed + 1); ++k) roots[k] = RootOf(k, n);
  for (int64_t k = step; k <= computed; k += step) {
    const Complex first = roots[k] = RootOf(k, n);
    for (int64_t i = 1; i < std::min(step, computed + 1 - k); ++i) {
      const Complex& root = roots[i];
      roots[k + i] = Complex(first.real() * root.real() - first.imag() * root.imag(),
                             first.real() * root.imag() + first.imag() * root.real());
    }
  }
  int64_t known = computed;
  if (n % 4 == 0) {
    for (int64_t k = known + 1; k <= n / 4; ++k) {
      roots[k] = Complex(-roots[n / 4 - k].imag(), -roots[n / 4 - k].real());
    }
    known = n / 4;
  }
  if (n % 2 == 0) {
    for (int64_t k = known + 1; k <= n / 2; ++k) {
      roots[k] = Complex(-roots[n / 2 - k].real(), roots[n / 2 - k].imag());
    }
  }
  for (int64_t k = n / 2 + 1; k < n; ++k) roots[k] = std::conj(roots[n - k]);
}

template <class T>
void Put(const Complex& value, int64_t at, T* to) {
  to[2 * at] = static_cast<T>(value.real());
  to[2 * at + 1] = static_cast<T>(value.imag());
}

}  // namespace

int64_t FftBlockLines(int64_t rows) {
  int64_t lines = kMostLines;
  while (lines > 1 && lines * rows > kBlock) lines /= 2;
  return lines;
}

CheckedInt FftTableBytes(int64_t n, size_t element_bytes) {
  if (n >= kLongest) return FloorDiv(CheckedInt(0), CheckedInt(0));
  // Roots in double: 4 n complex numbers. Tables of T: roots of the stages, 2 * 4 n; chirp, 2 n;
  // filter, 2 * 4 n, and planes to compute it, 4 * 4 n; roots for real elements, n + 2.
  return CheckedInt(8 * n) * static_cast<int64_t>(sizeof(double)) +
         CheckedInt(35 * n + 2) * static_cast<int64_t>(element_bytes);
}

CheckedInt FftBlockElements(int64_t n) {
  if (n >= kLongest) return FloorDiv(CheckedInt(0), CheckedInt(0));
  // Planes have at most 4 n + 1 rows; of more than one line, at most kBlock elements.
  const int64_t rows = 4 * n + 1;
  return CheckedInt(4) * std::min(kMostLines * rows, std::max(rows, kBlock));
}

template <class T>
FftPlan<T>::FftPlan(int64_t n, bool real, std::byte* memory) : loops_(GetFftLoops<T>()), n_(n) {
  // For n = 2, one complex number would combine both elements: infinite ones would give NaN.
  packed_ = real && n % 2 == 0 && n > 2;
  length_ = packed_ ? n / 2 : n;
  stage_length_ = StageLength(length_);
  chirped_ = stage_length_ != length_;
  rows_ = std::max(stage_length_, n) + 1;
  constexpr bool kExact = std::is_same_v<T, double>;
  Complex* const roots = reinterpret_cast<Complex*>(memory);
  int64_t root_step = 1;  // distance of the roots of the stages in `roots`
  T* at = reinterpret_cast<T*>(memory + static_cast<size_t>(8 * n) * sizeof(double));
  if (packed_) {
    FillRoots(n, kExact, roots);
    root_step = 2;
    real_roots_ = at;
    for (int64_t k = 0; k <= n / 2; ++k) Put(roots[k], k, at);
    at += n + 2;
  }
  if (chirped_) {
    FillRoots(2 * length_, kExact, roots);
    chirp_ = at;
    for (int64_t k = 0; k < length_; ++k) {
      const __int128 square = static_cast<__int128>(k) * k % (2 * length_);
      Put(roots[static_cast<int64_t>(square)], k, at);
    }
    at += 2 * length_;
  }
  if (chirped_ || !packed_) {
    FillRoots(stage_length_, kExact, roots);
    root_step = 1;
  }
  // Radix 4 first: it gives later stages long rows even for a single line.
  int64_t left = stage_length_, width = 1;
  while (left > 1) {
    FftStage<T>& stage = stages_[num_stages_++];
    for (int radix : {4, 2, 3, 5, 7}) {
      stage.radix = radix;
      if (left % radix == 0) break;
    }
    stage.groups = left / stage.radix;
    stage.width = width;
    stage.roots = at;
    for (int64_t p = 0; p < stage.groups; ++p) {
      for (int64_t j = 1; j < stage.radix; ++j)
        Put(roots[root_step * p * j * width], j - 1, at + 2 * (stage.radix - 1) * p);
    }
    at += 2 * (stage.radix - 1) * stage.groups;
    left = stage.groups;
    width *= stage.radix;
  }
  if (!chirped_) return;
  // The filter: c*[k] at k and at -k, transformed, and scaled for the unscaled inverse transform.
  T* const filter = at;
  filter_ = filter;
  at += 2 * stage_length_;
  T *const re = at, *const im = re + stage_length_, *const out_re = im + stage_length_,
           *const out_im = out_re + stage_length_;
  std::fill_n(re, 2 * stage_length_, T{0});
  for (int64_t k = 0; k < length_; ++k) {
    const int64_t mirrored = k == 0 ? 0 : stage_length_ - k;
    re[k] = re[mirrored] = chirp_[2 * k];
    im[k] = im[mirrored] = -chirp_[2 * k + 1];
  }
  const bool moved = RunStages(re, im, out_re, out_im, 1);
  const T* const from_re = moved ? out_re : re;
  const T* const from_im = moved ? out_im : im;
  for (int64_t k = 0; k < stage_length_; ++k) {
    filter[2 * k] = from_re[k] / static_cast<T>(stage_length_);
    filter[2 * k + 1] = from_im[k] / static_cast<T>(stage_length_);
  }
}

template <class T>
bool FftPlan<T>::RunStages(T* re, T* im, T* out_re, T* out_im, int64_t lines, int first) const {
  for (int i = first; i < num_stages_; ++i) {
    loops_.stage(stages_[i], re, im, lines, lines, out_re, out_im);
    std::swap(re, out_re);
    std::swap(im, out_im);
  }
  return (num_stages_ - first) % 2 != 0;
}

template <class T>
T* FftPlan<T>::TransformInterleaved(T* planes, int64_t lines) const {
  const int64_t plane = rows_ * lines;
  T *const re = planes, *const im = planes + plane, *const second = planes + 2 * plane;
  if (!chirped_ && num_stages_ > 0) {
    loops_.stage(stages_[0], second, second + lines, 2 * lines, lines, re, im);
    return RunStages(re, im, second, second + plane, lines, 1) ? second : planes;
  }
  for (int64_t k = 0; k < length_; ++k) {
    std::copy_n(second + 2 * k * lines, lines, re + k * lines);
    std::copy_n(second + (2 * k + 1) * lines, lines, im + k * lines);
  }
  return Transform(planes, lines, false);
}

template <class T>
T* FftPlan<T>::Transform(T* planes, int64_t lines, bool inverse) const {
  const int64_t plane = rows_ * lines;
  const int64_t first = inverse ? plane : 0, second = plane - first;
  T *const re = planes + first, *const im = planes + second, *const out_re = re + 2 * plane,
           *const out_im = im + 2 * plane;
  if (!chirped_) return RunStages(re, im, out_re, out_im, lines) ? planes + 2 * plane : planes;
  // X[k] = c[k] sum_i (x[i] c[i]) c*[k - i], with c[k] = e^(-pi i k^2 / n).
  loops_.multiply(re, im, chirp_, T{1}, length_, lines, re, im);
  std::fill(re + length_ * lines, re + stage_length_ * lines, T{0});
  std::fill(im + length_ * lines, im + stage_length_ * lines, T{0});
  const bool moved = RunStages(re, im, out_re, out_im, lines);
  T *const spectrum_re = moved ? out_re : re, *const spectrum_im = moved ? out_im : im;
  loops_.multiply(spectrum_re, spectrum_im, filter_, T{1}, stage_length_, lines, spectrum_re,
                  spectrum_im);
  // The inverse transform exchanges the planes.
  T *const back_re = moved ? re : out_re, *const back_im = moved ? im : out_im;
  const bool again = RunStages(spectrum_im, spectrum_re, back_im, back_re, lines);
  T *const result_re = again ? back_re : spectrum_re, *const result_im =
                                                          again ? back_im : spectrum_im;
  loops_.multiply(result_re, result_im, chirp_, T{1}, length_, lines, result_re, result_im);
  return std::min(result_re, result_im);
}

template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace belay
