// Fourier transforms of many lines at once, in the precision of the operands.
//
// A plan belongs to one length and one call. Lengths whose prime factors are at most 7 use
// Stockham's mixed-radix algorithm; other lengths use Bluestein's chirp convolution. Lines are
// stored as columns of two planes, re[k * lines + line] and im[k * lines + line], so that every
// stage loads and stores whole vectors. A line's result does not depend on the other lines or on
// their number.
//
// Error of a transform X of n elements x, with u = 2^-24 (float) or 2^-53 (double):
//   |X'[k] - X[k]| <= 6 (L + 2) u sum_i |x[i]|,  L = log2(n), or 3 log2(4 n) for Bluestein's
// algorithm. Each stage of radix r <= 5 multiplies by one rounded root and sums r terms, which adds
// at most 6 log2(r) u relative to the sum of magnitudes; radix 7 sums by halves and adds less than
// 6 log2(7) u. (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, §24.1.)
#ifndef BELAY_RUNTIME_KERNELS_FFT_FFT_H_
#define BELAY_RUNTIME_KERNELS_FFT_FFT_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/core/checked_math.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// y[(radix * p + j) * width + q] = roots[p][j] * sum_i e^(-2 pi i i j / radix) x[(p + groups * i) *
// width + q] for p < groups, q < width.
template <class T>
struct FftStage {
  int radix = 2;
  int64_t groups = 1, width = 1;  // the width of one line
  const T* roots = nullptr;       // re, im of [groups][radix - 1]; j = 0 is omitted
};

// Vectorized loops. Rows have `lines` elements.
template <class T>
struct FftLoops {
  // Rows of x are `pitch` apart; those of y are dense.
  void (*stage)(const FftStage<T>& stage, const T* re, const T* im, int64_t pitch, int64_t lines,
                T* out_re, T* out_im);
  // (re, im)[k] = (in_re, in_im)[k] * factors[k] * scale, or without factors if null, for `rows`
  // rows. In place or disjoint.
  void (*multiply)(const T* in_re, const T* in_im, const T* factors, T scale, int64_t rows,
                   int64_t lines, T* re, T* im);
  // Interleaves planes to complex numbers, and back: `count` elements of each of `rows` rows. Rows
  // of planes are `width` apart, those of complex numbers `pitch` complex numbers.
  void (*interleave)(const T* re, const T* im, int64_t width, int64_t rows, int64_t count, T* out,
                     int64_t pitch);
  void (*deinterleave)(const T* in, int64_t pitch, int64_t rows, int64_t count, T* re, T* im,
                       int64_t width);
  // Spectrum of 2 h real elements, from the transform Z of z[k] = x[2 k] + i x[2 k + 1]: X[k] =
  // (Z[k] + Z*[h - k]) / 2 - i roots[k] (Z[k] - Z*[h - k]) / 2 for 0 <= k <= h, times scale, as
  // complex numbers out[k * lines + line].
  void (*real_spectrum)(const T* re, const T* im, const T* roots, T scale, int64_t h, int64_t lines,
                        T* out);
  // The inverse, times 2 scale: Z[k] = (X[k] + X*[h - k]) + i conj(roots[k]) (X[k] - X*[h - k]) for
  // 0 <= k < h. Ignores the imaginary parts of X[0] and X[h].
  void (*packed_spectrum)(const T* re, const T* im, const T* roots, T scale, int64_t h,
                          int64_t lines, T* out_re, T* out_im);
};
template <class T>
FftLoops<T> GetFftLoops();
template <>
FftLoops<float> GetFftLoops<float>();
template <>
FftLoops<double> GetFftLoops<double>();

// Lines per block for planes of this many rows, a power of two.
int64_t FftBlockLines(int64_t rows);

// Upper bounds, monotonic in n: bytes of the tables of a plan for n elements, and elements of the
// four planes of a block. Overflow for n >= 2^40.
CheckedInt FftTableBytes(int64_t n, size_t element_bytes);
CheckedInt FftBlockElements(int64_t n);

// The tables of transforms of n elements. `real` adds the roots for real elements; for even n the
// complex transform then has n / 2 elements.
template <class T>
class FftPlan {
 public:
  // Precondition: `memory` has FftTableBytes(n, sizeof(T)) bytes, aligned to 64, and outlives the
  // plan; 1 <= n < 2^40.
  FftPlan(int64_t n, bool real, std::byte* memory);

  int64_t n() const { return n_; }
  bool packed() const { return packed_; }  // two real elements per complex one
  int64_t rows() const { return rows_; }   // of a plane; more than n
  const T* real_roots() const { return real_roots_; }

  // Transforms the columns of the first two planes, re and im, of four planes of rows() * lines
  // elements. Returns the first or the third plane: it has the real parts of the result, and the
  // next plane has the imaginary parts. Not scaled. The contents of the other two planes are
  // undefined.
  T* Transform(T* planes, int64_t lines, bool inverse) const;
  // The same for columns whose rows re, im, re, … alternate in the last two planes.
  T* TransformInterleaved(T* planes, int64_t lines) const;

  const FftLoops<T>& loops() const { return loops_; }

 private:
  static constexpr int kMostStages = 64;
  // Runs stages from `first` on with working planes out_re, out_im; returns whether the results are
  // in the working planes.
  bool RunStages(T* re, T* im, T* out_re, T* out_im, int64_t lines, int first = 0) const;

  FftLoops<T> loops_;
  int64_t n_ = 1, length_ = 1, stage_length_ = 1, rows_ = 1;
  bool packed_ = false, chirped_ = false;
  int num_stages_ = 0;
  FftStage<T> stages_[kMostStages];
  const T* real_roots_ = nullptr;  // [n / 2 + 1]
  const T* chirp_ = nullptr;       // [length]
  const T* filter_ = nullptr;      // [stage_length], transform of the conjugate chirp, scaled
};

absl::Span<const Kernel> FftHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_FFT_FFT_H_
