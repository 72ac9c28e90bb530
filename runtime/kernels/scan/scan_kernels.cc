#include <algorithm>
#include <limits>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/scan.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/scan/log_scan.h"
#include "runtime/kernels/scan/running_extremes.h"
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
  } else if (self->dtype == DType::kFloat64) {
    Scan(*self, *out, call.dim, DType::kFloat64, DoubleScanLoops(kOp));
  } else {
    Scan(*self, *out, call.dim, DType::kFloat32, FloatScanLoops(kOp));
  }
  return absl::OkStatus();
}

// Accepts the result dtype that sums have by default.
bool Accepts(const KernelContext& context, const CumulateCall<KernelArguments>& call) {
  const DType dtype = call.self->dtype;
  return (kFloats | kIntegers | DTypeSet{DType::kFloat64}).contains(dtype) &&
         call.dtype == SumDType(dtype);
}

// ---- cummax, cummin

// The cost of an element, in multiply-adds.
constexpr double kExtremeWork = 4, kLogWork = 32;

// The offsets of the rows along `dim` in a tensor and its results: three per row.
struct RowWalk {
  RowWalk(const TensorView& in, int dim, const TensorView& first, const TensorView& second)
      : rows(in.sizes), strides{in.strides, first.strides, second.strides} {
    if (in.rank() == 0) return;
    count = in.sizes[dim];
    rows[dim] = 1;
    for (int k = 0; k < 3; ++k) steps[k] = strides[k][dim];
  }
  int64_t Start(int64_t row, int operand) const { return OffsetAt(row, rows, strides[operand]); }

  Sizes rows;
  Strides strides[3];
  int64_t count = 1;
  int64_t steps[3] = {1, 1, 1};
};

// Scans the rows one by one.
template <class T>
void ScanExtremeRows(const KernelContext& context, const RowWalk& walk, const TensorView& in,
                     const TensorView& values, const TensorView& indices, DType type,
                     const RunningExtremeLoops<T>& loops) {
  const int64_t rows = in.numel() / walk.count;
  const double work = kExtremeWork * static_cast<double>(in.numel());
  RunRanges(context, rows, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      if (in.dtype == type && walk.steps[0] == 1 && walk.steps[1] == 1 && walk.steps[2] == 1) {
        RunningExtreme<T> state = {loops.start, 0};
        loops.row(in.as<const T>() + walk.Start(row, 0), walk.count,
                  values.as<T>() + walk.Start(row, 1), indices.as<int64_t>() + walk.Start(row, 2),
                  0, state);
        continue;
      }
      const Sizes length = {walk.count};
      RunSource source(ElementAddress(in, walk.Start(row, 0)), in.dtype, length, {walk.steps[0]},
                       type);
      RunSink value_sink(ElementAddress(values, walk.Start(row, 1)), values.dtype, length,
                         {walk.steps[1]}, type);
      RunSink index_sink(ElementAddress(indices, walk.Start(row, 2)), DType::kInt64, length,
                         {walk.steps[2]}, DType::kInt64);
      RunStorage read, best, index;
      RunningExtreme<T> state = {loops.start, 0};
      for (int64_t at = 0, n; at < walk.count; at += n) {
        n = std::min(kRunBufferLength, walk.count - at);
        loops.row(static_cast<const T*>(source.Next(n, read)), n,
                  static_cast<T*>(value_sink.Place(n, best)),
                  static_cast<int64_t*>(index_sink.Place(n, index)), at, state);
        value_sink.Commit(n, best);
        index_sink.Commit(n, index);
      }
    }
  });
}

// Scans the rows along `dim`, which is not the last dimension, of row-major tensors of T; adjacent rows
// are scanned together.
template <class T>
void ScanAdjacentExtremes(const KernelContext& context, int dim, const TensorView& in,
                          const TensorView& values, const TensorView& indices,
                          const RunningExtremeLoops<T>& loops) {
  constexpr int64_t kWidth = 256;
  int64_t beside = 1;
  for (int d = dim + 1; d < in.rank(); ++d) beside *= in.sizes[d];
  const int64_t count = in.sizes[dim], blocks = (beside + kWidth - 1) / kWidth;
  const double work = kExtremeWork * static_cast<double>(in.numel());
  RunRanges(context, in.numel() / (count * beside) * blocks, /*step=*/1, work,
            [&](int, int64_t first, int64_t last) {
              T best[kWidth];
              int64_t index[kWidth];
              for (int64_t block = first; block < last; ++block) {
                const int64_t at = block % blocks * kWidth, width = std::min(kWidth, beside - at);
                std::fill_n(best, width, loops.start);
                std::fill_n(index, width, int64_t{0});
                int64_t place = block / blocks * count * beside + at;
                for (int64_t i = 0; i < count; ++i, place += beside) {
                  loops.step(in.as<const T>() + place, static_cast<size_t>(width), i, best, index,
                             values.as<T>() + place, indices.as<int64_t>() + place);
                }
              }
            });
}

template <bool kLargest>
absl::Status RunningExtremes(KernelContext& context,
                             const RunningExtremeCall<KernelArguments>& call) {
  const TensorView& self = *call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, self.dtype, self));
  ABSL_ASSIGN_OR_RETURN(const TensorView* indices, OutputOf(context, 1, DType::kInt64, self));
  if (self.numel() == 0) return absl::OkStatus();
  const auto scan = [&](DType type, const auto& loops) {
    const bool dense = self.dtype == type && self.is_contiguous() && values->is_contiguous() &&
                       indices->is_contiguous();
    if (dense && call.dim + 1 < self.rank()) {
      ScanAdjacentExtremes(context, call.dim, self, *values, *indices, loops);
    } else {
      ScanExtremeRows(context, RowWalk(self, call.dim, *values, *indices), self, *values, *indices,
                      type, loops);
    }
  };
  if (self.dtype == DType::kFloat64) {
    scan(DType::kFloat64, DoubleExtremeLoops(kLargest));
  } else if (IsFloatingPoint(self.dtype)) {
    scan(DType::kFloat32, FloatExtremeLoops(kLargest));
  } else {
    scan(DType::kInt64, IntegerExtremeLoops(kLargest));
  }
  return absl::OkStatus();
}

bool AcceptsExtremes(const KernelContext& context,
                     const RunningExtremeCall<KernelArguments>& call) {
  return kRunTypes.contains(call.self->dtype);
}

// ---- logcumsumexp

// Scans up to kTogether rows at once, an element of each per step.
absl::Status LogCumulate(KernelContext& context, const LogCumulateCall<KernelArguments>& call) {
  constexpr int64_t kTogether = 64;
  const TensorView& self = *call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self.dtype, self));
  if (self.numel() == 0) return absl::OkStatus();
  const RowWalk walk(self, call.dim, *out, *out);
  const Reader<double> read(self);
  const Writer<double> write(*out);
  const int64_t rows = self.numel() / walk.count;
  const double work = kLogWork * static_cast<double>(self.numel());
  RunRanges(context, rows, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row += kTogether) {
      const int64_t together = std::min(kTogether, last - row);
      int64_t from[kTogether], to[kTogether];
      double x[kTogether], y[kTogether], most[kTogether], sum[kTogether];
      for (int64_t r = 0; r < together; ++r) {
        from[r] = walk.Start(row + r, 0);
        to[r] = walk.Start(row + r, 1);
        most[r] = -std::numeric_limits<double>::infinity();
        sum[r] = 0;
      }
      for (int64_t i = 0; i < walk.count; ++i) {
        for (int64_t r = 0; r < together; ++r) x[r] = read(from[r] + i * walk.steps[0]);
        LogScanStep(x, static_cast<size_t>(together), most, sum, y);
        for (int64_t r = 0; r < together; ++r) write(to[r] + i * walk.steps[1], y[r]);
      }
    }
  });
  return absl::OkStatus();
}

bool AcceptsLog(const KernelContext& context, const LogCumulateCall<KernelArguments>& call) {
  return kFloats.contains(call.self->dtype);
}

constexpr Kernel kKernels[] = {
    KernelRow<&Cumulate<ScanOp::kSum>, &Accepts>("aten.cumsum.default", "self dim dtype",
                                                 "CumsumSimd", KernelEngine::kHighway),
    KernelRow<&Cumulate<ScanOp::kProduct>, &Accepts>("aten.cumprod.default", "self dim dtype",
                                                     "CumprodSimd", KernelEngine::kHighway),
    KernelRow<&RunningExtremes<true>, &AcceptsExtremes>("aten.cummax.default", "self dim -> 2",
                                                        "CummaxSimd", KernelEngine::kHighway),
    KernelRow<&RunningExtremes<false>, &AcceptsExtremes>("aten.cummin.default", "self dim -> 2",
                                                         "CumminSimd", KernelEngine::kHighway),
    KernelRow<&LogCumulate, &AcceptsLog>("aten.logcumsumexp.default", "self dim",
                                         "LogCumsumExpSimd", KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> ScanHighwayKernels() { return kKernels; }

}  // namespace belay
