// Fourier transforms in double precision. Radix-2 for powers of two, Bluestein's chirp convolution
// for other lengths, so that every length takes n log n steps.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/fft.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/fft_parameters.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

using Complex = std::complex<double>;

bool IsPowerOfTwo(int64_t n) { return (n & (n - 1)) == 0; }

// Smallest power of two for a convolution of n elements with itself. Precondition: n < 2^61.
int64_t ConvolutionLength(int64_t n) {
  int64_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  return length;
}

// e^(2 pi i k / n), or with -k if `forward`; exact at multiples of a quarter turn. Precondition: 0
// <= k < n.
Complex Root(int64_t k, int64_t n, bool forward) {
  if (4 * k % n == 0) {
    constexpr double kCosine[] = {1, 0, -1, 0}, kSine[] = {0, 1, 0, -1};
    const int64_t quarter = 4 * k / n;
    return {kCosine[quarter], forward ? -kSine[quarter] : kSine[quarter]};
  }
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), forward ? -std::sin(angle) : std::sin(angle)};
}

// In-place transform; n is a power of two.
void TransformPowerOfTwo(Complex* x, int64_t n, bool forward) {
  for (int64_t i = 1, j = 0; i < n; ++i) {
    int64_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (int64_t half = 1; half < n; half *= 2) {
    for (int64_t k = 0; k < half; ++k) {
      const Complex root = Root(k, 2 * half, forward);
      for (int64_t i = k; i < n; i += 2 * half) {
        const Complex odd = x[i + half] * root;
        x[i + half] = x[i] - odd;
        x[i] += odd;
      }
    }
  }
}

// Scratch elements for transforms of up to n elements: the line, the chirp and two operands of a
// convolution.
CheckedInt WorkLength(int64_t n) {
  if (n >= int64_t{1} << 40) return FloorDiv(CheckedInt(0), CheckedInt(0));
  return CheckedInt(2) * n + CheckedInt(2) * ConvolutionLength(std::max<int64_t>(n, 1));
}

// In-place transform, not normalized. `work` has space for WorkLength(n) - n elements.
void Transform(Complex* x, int64_t n, bool forward, Complex* work) {
  if (IsPowerOfTwo(n)) return TransformPowerOfTwo(x, n, forward);
  // x_k c_k convolved with conj(c), times c again, where c_k = e^(-+ pi i k^2 / n).
  const int64_t length = ConvolutionLength(n);
  Complex* const chirp = work;
  Complex* const a = chirp + n;
  Complex* const b = a + length;
  for (int64_t k = 0; k < n; ++k) {
    const __int128 square = static_cast<__int128>(k) * k % (2 * n);
    chirp[k] = Root(static_cast<int64_t>(square), 2 * n, forward);
  }
  std::fill_n(a, length, Complex());
  std::fill_n(b, length, Complex());
  for (int64_t k = 0; k < n; ++k) {
    a[k] = x[k] * chirp[k];
    b[k] = std::conj(chirp[k]);
    if (k > 0) b[length - k] = b[k];
  }
  TransformPowerOfTwo(a, length, true);
  TransformPowerOfTwo(b, length, true);
  for (int64_t k = 0; k < length; ++k) a[k] *= b[k];
  TransformPowerOfTwo(a, length, false);
  for (int64_t k = 0; k < n; ++k) x[k] = a[k] / static_cast<double>(length) * chirp[k];
}

// Calls fn(offset in `one`, offset in `other`) for each line along `dim`. `sizes` are those of
// `one`; `other` may have another size along `dim`.
template <class Fn>
void ForEachLine(const Sizes& sizes, int dim, const Strides& one, const Strides& other, Fn&& fn) {
  Sizes lines = sizes;
  lines[dim] = 1;
  for (StridedIterator<2> it(lines, {one, other}); !it.done(); it.Next()) {
    fn(it.offset(0), it.offset(1));
  }
}

// Transforms a complex tensor in place along `dim`.
void TransformDim(const Sizes& sizes, const Strides& strides, const Reader<Complex>& read,
                  const Writer<Complex>& write, int dim, bool forward, double scale,
                  Complex* work) {
  const int64_t n = sizes[dim], step = strides[dim];
  ForEachLine(sizes, dim, strides, strides, [&](int64_t offset, int64_t) {
    for (int64_t i = 0; i < n; ++i) work[i] = read(offset + i * step);
    Transform(work, n, forward, work + n);
    for (int64_t i = 0; i < n; ++i) write(offset + i * step, work[i] * scale);
  });
}

int64_t LongestLine(const Sizes& sizes, const Sizes& dims, int64_t least) {
  for (int64_t d : dims) least = std::max(least, sizes[static_cast<int>(d)]);
  return least;
}

absl::StatusOr<Complex*> WorkOf(const KernelContext& context, int64_t longest, int64_t besides) {
  const CheckedInt length = WorkLength(longest) + besides;
  if (!length.ok()) return absl::InvalidArgumentError("fft: the transform is too long");
  return ScratchArray<Complex>(context, length);
}

absl::Status RealFft(KernelContext& context, const RealFftCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, call.TransformedDims());
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape(dims));
  const double scale = FftScale(call.params, self->sizes, dims);
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.result_dtype(), shape));
  ABSL_ASSIGN_OR_RETURN(Complex* const work, WorkOf(context, LongestLine(self->sizes, dims, 1), 0));
  const int last = static_cast<int>(dims.back());
  const int64_t n = self->sizes[last], kept = out->sizes[last];
  const Reader<double> in(*self);
  const Reader<Complex> read(*out);
  const Writer<Complex> write(*out);
  ForEachLine(self->sizes, last, self->strides, out->strides, [&](int64_t from, int64_t to) {
    for (int64_t i = 0; i < n; ++i) work[i] = in(from + i * self->strides[last]);
    Transform(work, n, true, work + n);
    // Elements that are their own mirror images are real, finite or not.
    work[0] = work[0].real();
    if (n % 2 == 0) work[n / 2] = work[n / 2].real();
    for (int64_t i = 0; i < kept; ++i) write(to + i * out->strides[last], work[i] * scale);
  });
  for (int k = 0; k + 1 < dims.size(); ++k) {
    TransformDim(out->sizes, out->strides, read, write, static_cast<int>(dims[k]), true, 1, work);
  }
  return absl::OkStatus();
}

absl::Status ComplexFft(KernelContext& context, const ComplexFftCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, call.TransformedDims());
  const double scale = FftScale(call.params, self->sizes, dims);
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, *self));
  ABSL_ASSIGN_OR_RETURN(Complex* const work, WorkOf(context, LongestLine(self->sizes, dims, 1), 0));
  ABSL_RETURN_IF_ERROR(CopyElements(*self, *out));
  const Reader<Complex> read(*out);
  const Writer<Complex> write(*out);
  for (int k = 0; k < dims.size(); ++k) {
    TransformDim(out->sizes, out->strides, read, write, static_cast<int>(dims[k]), call.forward,
                 k == 0 ? scale : 1, work);
  }
  return absl::OkStatus();
}

absl::Status InverseRealFft(KernelContext& context,
                            const InverseRealFftCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  const int64_t n = call.last_dim_size.value();
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, call.TransformedDims());
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape(dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, RealPart(self->dtype), shape));
  const double scale = FftScale(call.params, out->sizes, dims);
  // Scratch layout: the dense intermediate result, then the work elements of lines.
  ABSL_ASSIGN_OR_RETURN(Complex* const halfway,
                        WorkOf(context, LongestLine(self->sizes, dims, n), self->numel()));
  Complex* const work = halfway + self->numel();
  const TensorView dense = TensorView::Contiguous(DType::kComplex128, self->sizes, halfway);
  ABSL_RETURN_IF_ERROR(CopyElements(*self, dense));
  const Reader<Complex> read(dense);
  const Writer<Complex> write(dense);
  for (int k = 0; k + 1 < dims.size(); ++k) {
    TransformDim(dense.sizes, dense.strides, read, write, static_cast<int>(dims[k]), false, 1,
                 work);
  }
  const int last = static_cast<int>(dims.back());
  const int64_t half = n / 2 + 1;
  const Writer<double> write_real(*out);
  ForEachLine(out->sizes, last, out->strides, dense.strides, [&](int64_t to, int64_t from) {
    for (int64_t i = 0; i < half; ++i) work[i] = read(from + i * dense.strides[last]);
    // Elements that are their own mirror images are treated as real.
    work[0] = work[0].real();
    if (n % 2 == 0) work[half - 1] = work[half - 1].real();
    for (int64_t i = half; i < n; ++i) work[i] = std::conj(work[n - i]);
    Transform(work, n, false, work + n);
    for (int64_t i = 0; i < n; ++i) write_real(to + i * out->strides[last], work[i].real() * scale);
  });
  return absl::OkStatus();
}

// Scratch bytes of a line along any dimension.
template <class Call>
uint64_t LineScratchBytes(const KernelContext& context, const Call& call) {
  return ScratchBytesOf<Complex>(WorkLength(LongestDim(call.self->sizes)));
}

// Scratch bytes of a line of the input or output, and of the whole input.
uint64_t InverseScratchBytes(const KernelContext& context,
                             const InverseRealFftCall<KernelArguments>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok()) return 0;
  const int64_t longest = LongestInverseDim(*call.self, **out);
  return ScratchBytesOf<Complex>(WorkLength(longest) + call.self->numel());
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&RealFft, nullptr, &LineScratchBytes<RealFftCall<KernelArguments>>>(
        "aten._fft_r2c.default", "self dim normalization onesided", "RealFft", kReference),
    KernelRow<&InverseRealFft, nullptr, &InverseScratchBytes>(
        "aten._fft_c2r.default", "self dim normalization last_dim_size", "InverseRealFft",
        kReference),
    KernelRow<&ComplexFft, nullptr, &LineScratchBytes<ComplexFftCall<KernelArguments>>>(
        "aten._fft_c2c.default", "self dim normalization forward", "ComplexFft", kReference),
};

}  // namespace

absl::Span<const Kernel> FftKernels() { return kKernels; }

}  // namespace belay
