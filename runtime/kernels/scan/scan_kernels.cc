#include <algorithm>

#include "runtime/core/status_macros.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/strided_view.h"
#include "runtime/kernels/elements/run_source.h"
#include "runtime/kernels/scan/scan.h"

namespace belay {
namespace {

constexpr DTypeSet kFloats = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
constexpr DTypeSet kIntegers = {DType::kInt64, DType::kInt32, DType::kInt16,
                                DType::kInt8,  DType::kUint8, DType::kBool};

// The rows along `dim`, one after the other.
template <class T, class Acc>
void ScanRows(const TensorView& in, const TensorView& out, int dim, DType type,
              void (*sum)(const T*, size_t, Acc&, T*)) {
  Sizes rows = in.sizes;
  const int64_t count = in.rank() == 0 ? 1 : in.sizes[dim];
  if (in.rank() > 0) rows[dim] = 1;
  const int64_t in_step = in.rank() == 0 ? 1 : in.strides[dim],
                out_step = in.rank() == 0 ? 1 : out.strides[dim];
  for (StridedIterator<2> it(rows, {in.strides, out.strides}); !it.done(); it.Next()) {
    RunSource source(ElementAddress(in, it.offset(0)), in.dtype, {count}, {in_step}, type);
    RunSink sink(ElementAddress(out, it.offset(1)), out.dtype, {count}, {out_step}, type);
    RunStorage read, written;
    Acc total = 0;
    for (int64_t left = count; left > 0;) {
      const int64_t n = std::min(left, kRunBufferLength);
      const T* x = static_cast<const T*>(source.Next(n, read));
      sum(x, static_cast<size_t>(n), total, static_cast<T*>(sink.Place(n, written)));
      sink.Commit(n, written);
      left -= n;
    }
  }
}

// The rows along `dim` of a row-major tensor of T: all rows that lie beside each other at once.
template <class T, class Acc>
void ScanBeside(const TensorView& in, const TensorView& out, int dim,
                void (*step)(const T*, size_t, Acc*, T*)) {
  int64_t beside = 1;
  for (int d = dim + 1; d < in.rank(); ++d) beside *= in.sizes[d];
  const int64_t count = in.sizes[dim], block = count * beside;
  constexpr int64_t kWidth = 512;
  Acc totals[kWidth];
  for (int64_t start = 0; start < in.numel(); start += block) {
    for (int64_t at = 0; at < beside; at += kWidth) {
      const int64_t width = std::min(kWidth, beside - at);
      std::fill_n(totals, width, Acc{0});
      for (int64_t i = 0; i < count; ++i) {
        const int64_t place = start + i * beside + at;
        step(in.as<const T>() + place, static_cast<size_t>(width), totals, out.as<T>() + place);
      }
    }
  }
}

template <class T, class Acc>
void Scan(const TensorView& in, const TensorView& out, int dim, DType type,
          void (*sum)(const T*, size_t, Acc&, T*), void (*step)(const T*, size_t, Acc*, T*)) {
  if (in.numel() == 0) return;
  const bool beside = in.dtype == type && out.dtype == type && in.is_contiguous() &&
                      out.is_contiguous() && in.rank() > 0 && dim < in.rank() - 1;
  if (beside) {
    ScanBeside<T, Acc>(in, out, dim, step);
  } else {
    ScanRows<T, Acc>(in, out, dim, type, sum);
  }
}

// (self, dim, dtype?)
absl::Status Cumsum(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, TensorOf(context, 0, "self", kFloats | kIntegers));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim_argument, context.Int(1));
  ABSL_ASSIGN_OR_RETURN(const int dim, NormalizeDim(dim_argument, self->rank()));
  const bool integral = kIntegers.contains(self->dtype);
  const DType natural = integral ? DType::kInt64 : self->dtype;
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(2, natural));
  if (dtype != natural) return absl::InternalError("the call changed after the kernel was chosen");
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, dtype, *self));
  if (integral) {
    Scan<int64_t, int64_t>(*self, *out, dim, DType::kInt64, &RunningSumI64, &RunningStepI64);
  } else {
    Scan<float, double>(*self, *out, dim, DType::kFloat32, &RunningSumF32, &RunningStepF32);
  }
  return absl::OkStatus();
}

// Into the dtype that sums have by themselves.
bool Accepts(const KernelContext& context) {
  if (context.num_arguments() != 3) return false;
  const TensorView* self = context.argument(0).get_if<TensorView>();
  if (self == nullptr || !(kFloats | kIntegers).contains(self->dtype)) return false;
  const DType natural = kIntegers.contains(self->dtype) ? DType::kInt64 : self->dtype;
  const absl::StatusOr<DType> dtype = context.DtypeOr(2, natural);
  return dtype.ok() && *dtype == natural;
}

constexpr Kernel kKernels[] = {
    {"aten.cumsum.default", "CumsumSimd", KernelEngine::kHighway, &Cumsum, &Accepts},
};

}  // namespace

absl::Span<const Kernel> ScanHighwayKernels() { return kKernels; }

}  // namespace belay
