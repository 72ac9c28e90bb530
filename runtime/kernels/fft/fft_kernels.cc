#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/promotion_rules.h"
#include "runtime/kernel_interface/shape_rules/fft.h"
#include "runtime/kernel_interface/shape_rules/pointwise.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/fft/complex_loops.h"
#include "runtime/kernels/fft/fft.h"
#include "runtime/kernels/operands/fft_parameters.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/pointwise/broadcast_run.h"
#include "runtime/kernels/pointwise/loops.h"

namespace belay {
namespace {

// The lines of a tensor along one dimension, in row-major order of the other dimensions.
class Lines {
 public:
  Lines(const TensorView& tensor, int dim) : tensor_(tensor), step_(tensor.strides[dim]) {
    for (int d = 0; d < tensor.rank(); ++d) {
      if (d == dim) continue;
      sizes_.push_back(tensor.sizes[d]);
      strides_.push_back(tensor.strides[d]);
    }
    if (sizes_.empty()) {
      sizes_.push_back(1);
      strides_.push_back(0);
    }
    for (int64_t size : sizes_) count_ *= size;
  }
  int64_t count() const { return count_; }
  int64_t step() const { return step_; }  // between elements of a line

  // The first element of line `first`, if `lines` lines from it on are adjacent; else null.
  void* Adjacent(int64_t first, int64_t lines) const {
    const int64_t inner = sizes_.back();
    if (lines > 1 && (strides_.back() != 1 || first % inner + lines > inner)) return nullptr;
    return ElementAddress(tensor_, OffsetAt(first, sizes_, strides_));
  }

  // columns(k, line) = element k of line `first` + line, for k < n, line < lines. Rows of columns
  // have `width` elements; Load sets those after `lines` to 0.
  void Load(int64_t first, int64_t lines, int64_t width, int64_t n, void* columns) const {
    if (lines < width) {
      std::memset(columns, 0, static_cast<size_t>(n * width) * DTypeSize(tensor_.dtype));
    }
    ForRuns(first, lines, width, n, columns, [](const TensorView& mine, const TensorView& theirs) {
      CopyConvertible(mine, theirs);
    });
  }
  void Store(int64_t first, int64_t lines, int64_t width, int64_t n, void* columns) const {
    ForRuns(first, lines, width, n, columns, [](const TensorView& mine, const TensorView& theirs) {
      CopyConvertible(theirs, mine);
    });
  }

 private:
  // Calls fn with views of equidistant lines and of their columns.
  template <class Fn>
  void ForRuns(int64_t first, int64_t lines, int64_t width, int64_t n, void* columns,
               Fn&& fn) const {
    const int64_t inner = sizes_.back();
    for (int64_t line = first; line < first + lines;) {
      const int64_t run = std::min(inner - line % inner, first + lines - line);
      TensorView mine = tensor_, theirs;
      mine.sizes = {n, run};
      mine.strides = {step_, strides_.back()};
      mine.data = ElementAddress(tensor_, OffsetAt(line, sizes_, strides_));
      theirs.dtype = tensor_.dtype;
      theirs.sizes = mine.sizes;
      theirs.strides = {width, 1};
      theirs.data = static_cast<std::byte*>(columns) +
                    (line - first) * static_cast<int64_t>(DTypeSize(tensor_.dtype));
      fn(mine, theirs);
      line += run;
    }
  }

  TensorView tensor_;
  int64_t step_, count_ = 1;
  Sizes sizes_;
  Strides strides_;
};

// Scratch memory: the tables of one plan, then four planes per thread.
CheckedInt Padded(CheckedInt bytes) { return FloorDiv(bytes + 63, CheckedInt(64)) * 64; }
CheckedInt WorkBytes(const KernelContext& context, int64_t longest, size_t element_bytes) {
  return Padded(FftTableBytes(longest, element_bytes)) +
         FftBlockElements(longest) * static_cast<int64_t>(element_bytes) * context.num_threads();
}

template <class T>
struct Work {
  std::byte* tables = nullptr;
  T* planes = nullptr;
  int64_t elements = 0;  // of the planes of a thread
};
// `more` bytes follow at `rest`.
template <class T>
absl::StatusOr<Work<T>> WorkOf(const KernelContext& context, int64_t longest, CheckedInt more,
                               std::byte** rest) {
  const CheckedInt tables = Padded(FftTableBytes(longest, sizeof(T)));
  const CheckedInt bytes = WorkBytes(context, longest, sizeof(T));
  if (!bytes.ok() || !more.ok())
    return absl::InvalidArgumentError("fft: the transform is too long");
  Work<T> work;
  ABSL_ASSIGN_OR_RETURN(work.tables, ScratchArray<std::byte>(context, bytes + more));
  work.planes = reinterpret_cast<T*>(work.tables + tables.value());
  work.elements = FftBlockElements(longest).value();
  if (rest != nullptr) *rest = work.tables + bytes.value();
  return work;
}

// Calls fn(planes, first, count, lines) for blocks of `count` lines, on several threads. `lines` is
// the width of the planes: blocks are padded to whole vectors, except for a single line.
template <class T, class Fn>
void ForBlocks(const KernelContext& context, const Work<T>& work, const FftPlan<T>& plan,
               int64_t count, Fn&& fn) {
  const int64_t lines = std::min(FftBlockLines(plan.rows()),
                                 static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count))));
  const double steps = 3 * std::log2(static_cast<double>(plan.rows())) + 3 * kElementWork;
  const int64_t units = plan.rows() * static_cast<int64_t>(steps);
  RunRanges(context, (count + lines - 1) / lines, 1,
            static_cast<double>(count) * static_cast<double>(units) / 4,
            [&](int part, int64_t first, int64_t last) {
              Budget::Pace pace;
              for (int64_t b = first; b < last && !pace.Stop(lines * units); ++b) {
                fn(work.planes + part * work.elements, b * lines,
                   std::min(lines, count - b * lines), lines);
              }
            });
}

template <class T>
void CopyRow(const T* from, int64_t lines, T* to) {
  std::memcpy(to, from, static_cast<size_t>(lines) * sizeof(T));
}

// Loads n elements of complex lines to planes of `width` columns; those after `count` are 0.
// `columns` has room for n * width complex numbers.
template <class T>
void LoadPlanes(const FftLoops<T>& loops, const Lines& from, int64_t first, int64_t count,
                int64_t width, int64_t n, T* columns, T* re, T* im) {
  if (const void* rows = from.Adjacent(first, count); rows != nullptr && count == width) {
    return loops.deinterleave(static_cast<const T*>(rows), from.step(), n, width, re, im, width);
  }
  from.Load(first, count, width, n, columns);
  loops.deinterleave(columns, width, n, width, re, im, width);
}

// Stores planes to complex lines. `columns` is as for LoadPlanes.
template <class T>
void StorePlanes(const FftLoops<T>& loops, const Lines& to, int64_t first, int64_t count,
                 int64_t width, int64_t n, const T* re, const T* im, T* columns) {
  if (void* rows = to.Adjacent(first, count); rows != nullptr) {
    return loops.interleave(re, im, width, n, count, static_cast<T*>(rows), to.step());
  }
  loops.interleave(re, im, width, n, width, columns, width);
  to.Store(first, count, width, n, columns);
}

// Transforms a complex tensor along `dim`. `in` may be `out`.
template <class T>
void TransformDim(const KernelContext& context, const Work<T>& work, const TensorView& in,
                  const TensorView& out, int dim, bool forward, double scale) {
  const Lines from(in, dim), to(out, dim);
  const int64_t n = in.sizes[dim];
  const FftPlan<T> plan(n, false, work.tables);
  const FftLoops<T>& loops = plan.loops();
  ForBlocks(
      context, work, plan, to.count(), [&](T* planes, int64_t first, int64_t count, int64_t lines) {
        const int64_t plane = plan.rows() * lines;
        T* const second = planes + 2 * plane;
        LoadPlanes(loops, from, first, count, lines, n, second, planes, planes + plane);
        T* const z = plan.Transform(planes, lines, !forward);
        if (scale != 1) {
          loops.multiply(z, z + plane, nullptr, static_cast<T>(scale), n, lines, z, z + plane);
        }
        StorePlanes(loops, to, first, count, lines, n, z, z + plane, z == planes ? second : planes);
      });
}

// Transforms real lines along `dim` to out->sizes[dim] = n or n / 2 + 1 elements.
template <class T>
void RealDim(const KernelContext& context, const Work<T>& work, const TensorView& in,
             const TensorView& out, int dim, double scale) {
  const Lines from(in, dim), to(out, dim);
  const int64_t n = in.sizes[dim], kept = out.sizes[dim], half = n / 2;
  const FftPlan<T> plan(n, true, work.tables);
  const FftLoops<T>& loops = plan.loops();
  ForBlocks(context, work, plan, from.count(),
            [&](T* planes, int64_t first, int64_t count, int64_t lines) {
              const int64_t plane = plan.rows() * lines;
              T* const second = planes + 2 * plane;
              T* interleaved;
              if (plan.packed()) {
                from.Load(first, count, lines, n, second);
                const T* const z = plan.TransformInterleaved(planes, lines);
                interleaved = z == planes ? second : planes;
                loops.real_spectrum(z, z + plane, plan.real_roots(), static_cast<T>(scale), half,
                                    lines, interleaved);
              } else {
                from.Load(first, count, lines, n, planes);
                std::fill_n(planes + plane, n * lines, T{0});
                T* const z = plan.Transform(planes, lines, false);
                loops.multiply(z, z + plane, nullptr, static_cast<T>(scale), half + 1, lines, z,
                               z + plane);
                // Elements that are their own mirror images are real, finite or not.
                std::fill_n(z + plane, lines, T{0});
                if (n % 2 == 0) std::fill_n(z + plane + half * lines, lines, T{0});
                interleaved = z == planes ? second : planes;
                loops.interleave(z, z + plane, lines, half + 1, lines, interleaved, lines);
              }
              for (int64_t k = half + 1; k < kept; ++k) {
                const T* const mirrored = interleaved + 2 * (n - k) * lines;
                T* const row = interleaved + 2 * k * lines;
                for (int64_t i = 0; i < lines; ++i) {
                  row[2 * i] = mirrored[2 * i];
                  row[2 * i + 1] = -mirrored[2 * i + 1];
                }
              }
              to.Store(first, count, lines, kept, interleaved);
            });
}

// The inverse: transforms n / 2 + 1 complex elements to n = out->sizes[dim] real ones.
template <class T>
void InverseRealDim(const KernelContext& context, const Work<T>& work, const TensorView& in,
                    const TensorView& out, int dim, double scale) {
  const Lines from(in, dim), to(out, dim);
  const int64_t n = out.sizes[dim], half = n / 2;
  const FftPlan<T> plan(n, true, work.tables);
  const FftLoops<T>& loops = plan.loops();
  ForBlocks(
      context, work, plan, to.count(), [&](T* planes, int64_t first, int64_t count, int64_t lines) {
        const int64_t plane = plan.rows() * lines;
        T* const second = planes + 2 * plane;
        if (plan.packed()) {
          LoadPlanes(loops, from, first, count, lines, half + 1, planes, second, second + plane);
          loops.packed_spectrum(second, second + plane, plan.real_roots(), static_cast<T>(scale),
                                half, lines, planes, planes + plane);
          const T* const z = plan.Transform(planes, lines, true);
          T* const interleaved = z == planes ? second : planes;
          for (int64_t k = 0; k < half; ++k) {
            CopyRow(z + k * lines, lines, interleaved + 2 * k * lines);
            CopyRow(z + plane + k * lines, lines, interleaved + (2 * k + 1) * lines);
          }
          to.Store(first, count, lines, n, interleaved);
        } else {
          LoadPlanes(loops, from, first, count, lines, half + 1, second, planes, planes + plane);
          // Elements that are their own mirror images are treated as real.
          std::fill_n(planes + plane, lines, T{0});
          if (n % 2 == 0) std::fill_n(planes + plane + half * lines, lines, T{0});
          for (int64_t k = half + 1; k < n; ++k) {
            CopyRow(planes + (n - k) * lines, lines, planes + k * lines);
            for (int64_t i = 0; i < lines; ++i) {
              planes[plane + k * lines + i] = -planes[plane + (n - k) * lines + i];
            }
          }
          T* const z = plan.Transform(planes, lines, true);
          loops.multiply(z, z + plane, nullptr, static_cast<T>(scale), n, lines, z, z + plane);
          to.Store(first, count, lines, n, z);
        }
      });
}

template <class T>
absl::Status RealFftOf(KernelContext& context, const RealFftCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, call.TransformedDims());
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape(dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.result_dtype(), shape));
  if (out->numel() == 0) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const Work<T> work,
                        WorkOf<T>(context, LongestDim(self->sizes), 0, nullptr));
  RealDim(context, work, *self, *out, static_cast<int>(dims.back()),
          FftScale(call.params, self->sizes, dims));
  for (int k = 0; k + 1 < dims.size(); ++k) {
    TransformDim(context, work, *out, *out, static_cast<int>(dims[k]), true, 1);
  }
  return absl::OkStatus();
}

absl::Status RealFft(KernelContext& context, const RealFftCall<KernelArguments>& call) {
  return call.self->dtype == DType::kFloat32 ? RealFftOf<float>(context, call)
                                             : RealFftOf<double>(context, call);
}

template <class T>
absl::Status ComplexFftOf(KernelContext& context, const ComplexFftCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, call.TransformedDims());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, *self));
  if (out->numel() == 0) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const Work<T> work,
                        WorkOf<T>(context, LongestDim(self->sizes), 0, nullptr));
  if (dims.empty()) return CopyStrided(*self, *out);
  const double scale = FftScale(call.params, self->sizes, dims);
  for (int k = 0; k < dims.size(); ++k) {
    TransformDim(context, work, k == 0 ? *self : *out, *out, static_cast<int>(dims[k]),
                 call.forward, k == 0 ? scale : 1);
  }
  return absl::OkStatus();
}

absl::Status ComplexFft(KernelContext& context, const ComplexFftCall<KernelArguments>& call) {
  return call.self->dtype == DType::kComplex64 ? ComplexFftOf<float>(context, call)
                                               : ComplexFftOf<double>(context, call);
}

template <class T>
absl::Status InverseRealFftOf(KernelContext& context,
                              const InverseRealFftCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  const int64_t n = call.last_dim_size.value();
  ABSL_ASSIGN_OR_RETURN(const Sizes dims, call.TransformedDims());
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape(dims));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, RealPart(self->dtype), shape));
  if (out->numel() == 0) return absl::OkStatus();
  TensorView from = *self;
  std::byte* copy = nullptr;
  const int64_t copied = dims.size() > 1 ? self->numel() : 0;
  ABSL_ASSIGN_OR_RETURN(const Work<T> work,
                        WorkOf<T>(context, LongestDim(self->sizes, n),
                                  CheckedInt(copied) * static_cast<int64_t>(2 * sizeof(T)), &copy));
  if (dims.size() > 1) {
    from = TensorView::Contiguous(self->dtype, self->sizes, copy);
    ABSL_RETURN_IF_ERROR(CopyStrided(*self, from));
  }
  for (int k = 0; k + 1 < dims.size(); ++k) {
    TransformDim(context, work, from, from, static_cast<int>(dims[k]), false, 1);
  }
  InverseRealDim(context, work, from, *out, static_cast<int>(dims.back()),
                 FftScale(call.params, out->sizes, dims));
  return absl::OkStatus();
}

absl::Status InverseRealFft(KernelContext& context,
                            const InverseRealFftCall<KernelArguments>& call) {
  return call.self->dtype == DType::kComplex64 ? InverseRealFftOf<float>(context, call)
                                               : InverseRealFftOf<double>(context, call);
}

constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat64, DType::kComplex64,
                             DType::kComplex128};
size_t RealBytes(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kComplex64 ? sizeof(float) : sizeof(double);
}

template <class Call>
bool Accepts(const KernelContext& context, const Call& call) {
  return kTypes.contains(call.self->dtype);
}

template <class Call>
uint64_t Scratch(const KernelContext& context, const Call& call) {
  return ScratchBytesOf<std::byte>(
      WorkBytes(context, LongestDim(call.self->sizes), RealBytes(call.self->dtype)));
}

uint64_t InverseScratch(const KernelContext& context,
                        const InverseRealFftCall<KernelArguments>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok()) return 0;
  const size_t bytes = RealBytes(call.self->dtype);
  const int64_t copied = call.params.dims.size() > 1 ? call.self->numel() : 0;
  const int64_t longest = LongestInverseDim(*call.self, **out);
  return ScratchBytesOf<std::byte>(WorkBytes(context, longest, bytes) +
                                   CheckedInt(copied) * static_cast<int64_t>(2 * bytes));
}

// ---- Products and magnitudes of complex64 tensors

using ProductCall = PlainCall<KernelArguments, 2, kAnyRule>;
using MagnitudeCall = PlainCall<KernelArguments, 1, kMagnitudeRule>;
using AngleCall = PlainCall<KernelArguments, 1, kToFloatRule>;
using ConjugateCall = PlainCall<KernelArguments, 1, kAnyRule>;

// Whether all tensors have the same sizes and the same dense strides, so that they are one run.
bool AreOneRun(absl::Span<const TensorView* const> tensors) {
  for (const TensorView* t : tensors) {
    if (!(t->sizes == tensors[0]->sizes) || !(t->strides == tensors[0]->strides)) return false;
  }
  return IsDense(tensors[0]->sizes, tensors[0]->strides);
}

absl::Status ComplexProduct(KernelContext& context, const ProductCall& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kComplex64, shape));
  if (out->numel() == 0) return absl::OkStatus();
  const TensorView &first = *call.operands[0].tensor, &second = *call.operands[1].tensor;
  BroadcastRun run;
  run.Add(first, out->sizes);
  run.Add(second, out->sizes);
  if (run.Plan(*out)) {
    run.Run(context, 2 * kElementWork, /*most=*/out->numel(),
            [](int, const void* const* operands, void* result, size_t n) {
              MultiplyComplex(static_cast<const float*>(operands[0]),
                              static_cast<const float*>(operands[1]), n,
                              static_cast<float*>(result));
            });
    return absl::OkStatus();
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView a, ExpandTo(first, out->sizes));
  ABSL_ASSIGN_OR_RETURN(const TensorView b, ExpandTo(second, out->sizes));
  Budget::Pace pace;
  for (StridedIterator<3> it(out->sizes, {a.strides, b.strides, out->strides});
       !it.done() && !pace.Stop(16); it.Next()) {
    MultiplyComplex(a.as<const float>() + 2 * it.offset(0), b.as<const float>() + 2 * it.offset(1),
                    1, out->as<float>() + 2 * it.offset(2));
  }
  return absl::OkStatus();
}

// The angles of n complex numbers.
void ComplexAngles(const float* a, size_t n, float* out) {
  constexpr size_t kBlock = 256;
  float re[kBlock], im[kBlock];
  const VectorLoop atan2 = FindLoop(PointwiseOp::kAtan2, DType::kFloat32);
  for (size_t at = 0; at < n; at += kBlock) {
    const size_t count = std::min(kBlock, n - at);
    for (size_t i = 0; i < count; ++i) {
      re[i] = a[2 * (at + i)];
      im[i] = a[2 * (at + i) + 1];
    }
    const void* const operands[] = {im, re};
    atan2(operands, out + at, count, PointwiseParams());
  }
}
void Conjugates(const float* a, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) {
    const float re = a[2 * i], im = a[2 * i + 1];
    out[2 * i] = re;
    out[2 * i + 1] = -im;
  }
}

// out[i] = kApply(self[i]), for results of type kResult.
template <void (*kApply)(const float*, size_t, float*), DType kResult, class Call>
absl::Status ComplexFunction(KernelContext& context, const Call& call) {
  constexpr int64_t kParts = kResult == DType::kComplex64 ? 2 : 1;
  const TensorView& a = *call.operands[0].tensor;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, kResult, a));
  const float* const x = a.as<const float>();
  float* const to = out->as<float>();
  if (AreOneRun({&a, out})) {
    const double work = kElementWork * 2 * static_cast<double>(out->numel());
    RunRanges(context, out->numel(), 256, work, [&](int, int64_t first, int64_t last) {
      kApply(x + 2 * first, static_cast<size_t>(last - first), to + kParts * first);
    });
    return absl::OkStatus();
  }
  Budget::Pace pace;
  for (StridedIterator<2> it(out->sizes, {a.strides, out->strides}); !it.done() && !pace.Stop(16);
       it.Next()) {
    kApply(x + 2 * it.offset(0), 1, to + kParts * it.offset(1));
  }
  return absl::OkStatus();
}

template <class Call>
bool AcceptsComplex(const KernelContext& context, const Call& call) {
  for (int k = 0; k < call.count; ++k) {
    const TensorView* const tensor = call.operands[k].tensor;
    if (tensor == nullptr || tensor->dtype != DType::kComplex64) return false;
  }
  return true;
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;

constexpr Kernel kKernels[] = {
    KernelRow<&ComplexFunction<&ComplexMagnitudes, DType::kFloat32, MagnitudeCall>,
              &AcceptsComplex<MagnitudeCall>>("aten.abs.default", "self", "AbsComplexSimd",
                                              kHighway),
    KernelRow<&ComplexFunction<&ComplexAngles, DType::kFloat32, AngleCall>,
              &AcceptsComplex<AngleCall>>("aten.angle.default", "self", "AngleSimd", kHighway),
    KernelRow<&ComplexFunction<&Conjugates, DType::kComplex64, ConjugateCall>,
              &AcceptsComplex<ConjugateCall>>("aten._conj_physical.default", "self",
                                              "ConjPhysicalSimd", kHighway),
    KernelRow<&ComplexProduct, &AcceptsComplex<ProductCall>>("aten.mul.Tensor", "self other",
                                                             "MulComplexSimd", kHighway),
    KernelRow<&RealFft, &Accepts<RealFftCall<KernelArguments>>,
              &Scratch<RealFftCall<KernelArguments>>>(
        "aten._fft_r2c.default", "self dim normalization onesided", "RealFftSimd", kHighway),
    KernelRow<&InverseRealFft, &Accepts<InverseRealFftCall<KernelArguments>>, &InverseScratch>(
        "aten._fft_c2r.default", "self dim normalization last_dim_size", "InverseRealFftSimd",
        kHighway),
    KernelRow<&ComplexFft, &Accepts<ComplexFftCall<KernelArguments>>,
              &Scratch<ComplexFftCall<KernelArguments>>>(
        "aten._fft_c2c.default", "self dim normalization forward", "ComplexFftSimd", kHighway),
};

}  // namespace

absl::Span<const Kernel> FftHighwayKernels() { return kKernels; }

}  // namespace belay
