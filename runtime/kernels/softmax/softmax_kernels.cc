#include <algorithm>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/softmax.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/softmax/softmax.h"

namespace belay {
namespace {

constexpr DTypeSet kTypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64};
// Number of noncontiguous rows that are copied to scratch memory together. Adjacent rows share
// cache lines.
constexpr int64_t kBlock = 16;
// Columns that are computed together: whole cache lines, four vectors of the widest instruction
// set.
constexpr int64_t kColumnBlock = 64;
// Rows of at most this length are computed as the columns of a transposed copy.
constexpr int64_t kShortRow = 24;
// The cost of an element's exponential, in multiply-adds.
constexpr double kExponentialWork = 24;

int64_t LengthOf(const TensorView& self, int dim) { return self.rank() == 0 ? 1 : self.sizes[dim]; }

// All dimensions except the reduced one, merged if contiguous in both tensors. The last one is the
// dimension with adjacent elements.
struct Rows {
  Sizes sizes;
  Strides in, out;
};

Rows RowsOf(const TensorView& in, const TensorView& out, int dim) {
  Rows rows;
  int beside = -1;
  for (int d = 0; d < in.rank(); ++d) {
    if (d == dim || in.sizes[d] == 1) continue;
    if (in.strides[d] == 1) beside = rows.sizes.size();
    rows.sizes.push_back(in.sizes[d]);
    rows.in.push_back(in.strides[d]);
    rows.out.push_back(out.strides[d]);
  }
  if (beside >= 0) {
    const auto move = [beside](auto& list) {
      const int64_t x = list[beside];
      list.erase(beside);
      list.push_back(x);
    };
    move(rows.sizes);
    move(rows.in);
    move(rows.out);
  }
  const int last = rows.sizes.size() - 1;
  if (last >= 1 && rows.in[last - 1] == rows.in[last] * rows.sizes[last] &&
      rows.out[last - 1] == rows.out[last] * rows.sizes[last]) {
    rows.sizes[last] *= rows.sizes[last - 1];
    rows.sizes.erase(last - 1);
    rows.in.erase(last - 1);
    rows.out.erase(last - 1);
  }
  return rows;
}

// Both compute the same function of elements of type T; `columns` is null if T has no such loop.
template <class T>
struct Loops {
  void (*row)(const T*, size_t, T*);
  void (*columns)(const T*, size_t, size_t, size_t, T*, size_t);
};

template <class T>
absl::Status RunLoops(KernelContext& context, const SoftmaxCall<KernelArguments>& call,
                      const Loops<T>& loops) {
  constexpr DType kType = sizeof(T) == sizeof(double) ? DType::kFloat64 : DType::kFloat32;
  const TensorView* const self = call.self;
  const int dim = call.dim;
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, *self));
  const int64_t n = LengthOf(*self, dim);
  if (self->numel() == 0) return absl::OkStatus();
  const Rows rows = RowsOf(*self, *out, dim);
  const int64_t in_step = self->rank() == 0 ? 1 : self->strides[dim],
                out_step = self->rank() == 0 ? 1 : out->strides[dim];
  const double work = kExponentialWork * static_cast<double>(self->numel());
  const bool direct = self->dtype == kType && (n == 1 || (in_step == 1 && out_step == 1));
  const int last = rows.sizes.size() - 1;
  const bool columns = last >= 0 && loops.columns != nullptr && self->dtype == kType &&
                       rows.sizes[last] >= kColumnBlock / 4;
  if (columns && n > 1 && n <= kShortRow && (rows.in[last] != 1 || rows.out[last] != 1)) {
    const int64_t beside = rows.sizes[last], in_row = rows.in[last], out_row = rows.out[last];
    Sizes outer = rows.sizes;
    outer.erase(last);
    const int64_t blocks = (beside + kColumnBlock - 1) / kColumnBlock;
    RunRanges(context, self->numel() / n / beside * blocks, /*step=*/1, work,
              [&](int, int64_t first, int64_t end) {
                T block[kShortRow * kColumnBlock];
                for (int64_t i = first; i < end; ++i) {
                  const int64_t row = i % blocks * kColumnBlock;
                  const int64_t count = std::min(kColumnBlock, beside - row);
                  const T* const from =
                      self->as<const T>() + OffsetAt(i / blocks, outer, rows.in) + row * in_row;
                  T* const to =
                      out->as<T>() + OffsetAt(i / blocks, outer, rows.out) + row * out_row;
                  for (int64_t j = 0; j < n; ++j) {
                    for (int64_t r = 0; r < count; ++r) {
                      block[j * kColumnBlock + r] = from[r * in_row + j * in_step];
                    }
                  }
                  loops.columns(block, static_cast<size_t>(n), size_t{kColumnBlock},
                                static_cast<size_t>(count), block, size_t{kColumnBlock});
                  for (int64_t j = 0; j < n; ++j) {
                    for (int64_t r = 0; r < count; ++r) {
                      to[r * out_row + j * out_step] = block[j * kColumnBlock + r];
                    }
                  }
                }
              });
    return absl::OkStatus();
  }
  if (direct) {
    RunRanges(context, self->numel() / n, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        loops.row(self->as<const T>() + OffsetAt(i, rows.sizes, rows.in), static_cast<size_t>(n),
                  out->as<T>() + OffsetAt(i, rows.sizes, rows.out));
      }
    });
    return absl::OkStatus();
  }
  ABSL_ASSIGN_OR_RETURN(T * scratch, ScratchArray<T>(context, n * kBlock));
  Sizes outer = rows.sizes;
  int64_t beside = 1, in_beside = 0, out_beside = 0;
  if (last >= 0) {
    beside = outer[last];
    in_beside = rows.in[last];
    out_beside = rows.out[last];
    outer.erase(last);
  }
  if (columns && in_beside == 1 && out_beside == 1) {
    const int64_t blocks = (beside + kColumnBlock - 1) / kColumnBlock;
    const int64_t count = self->numel() / n / beside * blocks;
    RunRanges(context, count, /*step=*/1, work, [&](int, int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t column = i % blocks * kColumnBlock;
        loops.columns(self->as<const T>() + OffsetAt(i / blocks, outer, rows.in) + column,
                      static_cast<size_t>(n), static_cast<size_t>(in_step),
                      static_cast<size_t>(std::min(kColumnBlock, beside - column)),
                      out->as<T>() + OffsetAt(i / blocks, outer, rows.out) + column,
                      static_cast<size_t>(out_step));
      }
    });
    return absl::OkStatus();
  }
  const int64_t bytes = static_cast<int64_t>(DTypeSize(self->dtype));
  for (StridedIterator<2> it(outer, {rows.in, rows.out}); !it.done(); it.Next()) {
    for (int64_t at = 0; at < beside; at += kBlock) {
      const int64_t count = std::min(kBlock, beside - at);
      TensorView from, to;
      from.dtype = to.dtype = self->dtype;
      from.sizes = to.sizes = {count, n};
      from.strides = {in_beside, in_step};
      to.strides = {out_beside, out_step};
      from.data = self->as<std::byte>() + (it.offset(0) + at * in_beside) * bytes;
      to.data = out->as<std::byte>() + (it.offset(1) + at * out_beside) * bytes;
      const TensorView block = TensorView::Contiguous(kType, from.sizes, scratch);
      CopyConvertible(from, block);
      for (int64_t r = 0; r < count; ++r)
        loops.row(scratch + r * n, static_cast<size_t>(n), scratch + r * n);
      CopyConvertible(block, to);
    }
  }
  return absl::OkStatus();
}

template <bool kLog>
absl::Status Run(KernelContext& context, const SoftmaxCall<KernelArguments>& call) {
  if (call.self->dtype == DType::kFloat64) {
    return RunLoops<double>(context, call,
                            {kLog ? &LogSoftmaxRowF64 : &SoftmaxRowF64, /*columns=*/nullptr});
  }
  return RunLoops<float>(context, call,
                         kLog ? Loops<float>{&LogSoftmaxRowF32, &LogSoftmaxColumnsF32}
                              : Loops<float>{&SoftmaxRowF32, &SoftmaxColumnsF32});
}

bool Accepts(const KernelContext& context, const SoftmaxCall<KernelArguments>& call) {
  return kTypes.contains(call.self->dtype);
}

uint64_t ScratchBytes(const KernelContext& context, const SoftmaxCall<KernelArguments>& call) {
  if (call.self->numel() == 0) return 0;
  const CheckedInt elements = CheckedInt(LengthOf(*call.self, call.dim)) * kBlock;
  return call.self->dtype == DType::kFloat64 ? ScratchBytesOf<double>(elements)
                                             : ScratchBytesOf<float>(elements);
}

constexpr Kernel kKernels[] = {
    KernelRow<&Run<false>, &Accepts, &ScratchBytes>(
        "aten._softmax.default", "self dim half_to_float", "SoftmaxSimd", KernelEngine::kHighway),
    KernelRow<&Run<true>, &Accepts, &ScratchBytes>("aten._log_softmax.default",
                                                   "self dim half_to_float", "LogSoftmaxSimd",
                                                   KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> SoftmaxHighwayKernels() { return kKernels; }

}  // namespace belay
