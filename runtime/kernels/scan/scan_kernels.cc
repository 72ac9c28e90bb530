#include <algorithm>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/scan.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/scan/scan.h"

namespace belay {
namespace {

constexpr DTypeSet kFloats = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
constexpr DTypeSet kIntegers = {DType::kInt64, DType::kInt32, DType::kInt16,
                                DType::kInt8,  DType::kUint8, DType::kBool};

// Scans the rows along `dim` one by one.
template <class T, class Acc>
void ScanRows(const TensorView& in, const TensorView& out, int dim, DType type,
              const ScanLoops<T, Acc>& loops) {
  Sizes rows = in.sizes;
  const int64_t count = in.rank() == 0 ? 1 : in.sizes[dim];
  if (in.rank() > 0) rows[dim] = 1;
  const int64_t in_step = in.rank() == 0 ? 1 : in.strides[dim],
                out_step = in.rank() == 0 ? 1 : out.strides[dim];
  for (StridedIterator<2> it(rows, {in.strides, out.strides}); !it.done(); it.Next()) {
    RunSource source(ElementAddress(in, it.offset(0)), in.dtype, {count}, {in_step}, type);
    RunSink sink(ElementAddress(out, it.offset(1)), out.dtype, {count}, {out_step}, type);
    RunStorage read, written;
    Acc total = loops.start;
    for (int64_t left = count; left > 0;) {
      const int64_t n = std::min(left, kRunBufferLength);
      const T* x = static_cast<const T*>(source.Next(n, read));
      loops.row(x, static_cast<size_t>(n), total, static_cast<T*>(sink.Place(n, written)));
      sink.Commit(n, written);
      left -= n;
    }
  }
}

// Scans the rows along the last dimension of a row-major tensor of T, several at once.
template <class T, class Acc>
void ScanLastDim(const TensorView& in, const TensorView& out, const ScanLoops<T, Acc>& loops) {
  const int64_t count = in.sizes[in.rank() - 1], rows = in.numel() / count;
  const T* x = in.as<const T>();
  T* y = out.as<T>();
  int64_t row = 0;
  for (; row + kScanRows <= rows; row += kScanRows) {
    Acc totals[kScanRows];
    std::fill_n(totals, kScanRows, loops.start);
    loops.rows(x + row * count, count, static_cast<size_t>(count), totals, y + row * count, count);
  }
  for (; row < rows; ++row) {
    Acc total = loops.start;
    loops.row(x + row * count, static_cast<size_t>(count), total, y + row * count);
  }
}

// Scans the rows along `dim` of a row-major tensor of T; adjacent rows are scanned together.
template <class T, class Acc>
void ScanAdjacentRows(const TensorView& in, const TensorView& out, int dim,
                      const ScanLoops<T, Acc>& loops) {
  int64_t beside = 1;
  for (int d = dim + 1; d < in.rank(); ++d) beside *= in.sizes[d];
  const int64_t count = in.sizes[dim], block = count * beside;
  constexpr int64_t kWidth = 512;
  Acc totals[kWidth];
  for (int64_t start = 0; start < in.numel(); start += block) {
    for (int64_t at = 0; at < beside; at += kWidth) {
      const int64_t width = std::min(kWidth, beside - at);
      std::fill_n(totals, width, loops.start);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t place = start + i * beside + at;
        loops.step(in.as<const T>() + place, static_cast<size_t>(width), totals,
                   out.as<T>() + place);
      }
    }
  }
}

template <class T, class Acc>
void Scan(const TensorView& in, const TensorView& out, int dim, DType type,
          const ScanLoops<T, Acc>& loops) {
  if (in.numel() == 0) return;
  const bool dense = in.dtype == type && out.dtype == type && in.is_contiguous() &&
                     out.is_contiguous() && in.rank() > 0;
  if (dense && dim < in.rank() - 1) {
    ScanAdjacentRows(in, out, dim, loops);
  } else if (dense) {
    ScanLastDim(in, out, loops);
  } else {
    ScanRows(in, out, dim, type, loops);
  }
}

template <ScanOp kOp>
absl::Status Cumulate(KernelContext& context, const CumulateCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  if (call.dtype != SumDType(self->dtype))
    return absl::InternalError("the call changed after the kernel was chosen");
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, call.dtype, *self));
  if (kIntegers.contains(self->dtype)) {
    Scan(*self, *out, call.dim, DType::kInt64, IntegerScanLoops(kOp));
  } else {
    Scan(*self, *out, call.dim, DType::kFloat32, FloatScanLoops(kOp));
  }
  return absl::OkStatus();
}

// Accepts the result dtype that sums have by default.
bool Accepts(const KernelContext& context, const CumulateCall<KernelArguments>& call) {
  const DType dtype = call.self->dtype;
  return (kFloats | kIntegers).contains(dtype) && call.dtype == SumDType(dtype);
}

constexpr Kernel kKernels[] = {
    KernelRow<&Cumulate<ScanOp::kSum>, &Accepts>("aten.cumsum.default", "self dim dtype",
                                                 "CumsumSimd", KernelEngine::kHighway),
    KernelRow<&Cumulate<ScanOp::kProduct>, &Accepts>("aten.cumprod.default", "self dim dtype",
                                                     "CumprodSimd", KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> ScanHighwayKernels() { return kKernels; }

}  // namespace belay
