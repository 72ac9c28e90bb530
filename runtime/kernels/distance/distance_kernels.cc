#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/kernel_arguments.h"
#include "runtime/kernel/shape_rules/matmul.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/ranges.h"
#include "runtime/kernels/call/strided_view.h"
#include "runtime/kernels/distance/distance.h"
#include "runtime/kernels/elements/copy_strided.h"

namespace belay {
namespace {

std::optional<DistanceOrder> OrderOf(double p) {
  if (p == 0) return DistanceOrder::kZero;
  if (p == 1) return DistanceOrder::kOne;
  if (p == 2) return DistanceOrder::kTwo;
  if (std::isinf(p) && p > 0) return DistanceOrder::kInfinity;
  return std::nullopt;
}

absl::StatusOr<DistanceOrder> KnownOrder(double p) {
  const std::optional<DistanceOrder> order = OrderOf(p);
  if (order.has_value()) return *order;
  return absl::InternalError("the call changed after the kernel was chosen");
}

CheckedInt PanelLength(const TensorView& x) {
  return CheckedInt(x.sizes.back()) * kMostDistanceColumns;
}
template <class Call>
const TensorView& FirstOf(const Call& call) {
  if constexpr (requires { call.x1; }) {
    return *call.x1;
  } else {
    return *call.self;
  }
}

template <class Call>
bool Accepts(const KernelContext&, const Call& call) {
  return FirstOf(call).dtype == DType::kFloat32 && FirstOf(call).rank() >= 2 &&
         OrderOf(call.p).has_value();
}
template <class Call>
uint64_t Scratch(const KernelContext& context, const Call& call) {
  return ScratchBytesOf<float>(PanelLength(FirstOf(call)) * context.num_threads());
}

// Rows of a matrix.
struct Matrix {
  const float* data = nullptr;
  int64_t rows = 0, row_step = 0, column_step = 0;
};

// Packs rows [first, first + count) of `b` as columns of a panel.
void Pack(const Matrix& b, int64_t first, int64_t count, int64_t k, int64_t columns, float* panel) {
  if (k == 0) return;
  TensorView from, to;
  from.sizes = to.sizes = {k, count};
  from.strides = {b.column_step, b.row_step};
  from.data = const_cast<float*>(b.data + first * b.row_step);
  to.strides = {columns, 1};
  to.data = panel;
  if (count < columns) std::fill_n(panel, k * columns, 0.0f);
  CopyConvertible(from, to);
}

// Calls write(row, j, distances, count) with the distances of a row of `a` to rows [j, j + count) of
// `b`, for rows [first, last) of `a`.
template <class Write>
void Distances(DistanceOrder order, const Matrix& a, int64_t first, int64_t last, int64_t k,
               const float* panel, int64_t j, int64_t count, Budget::Pace& pace, Write&& write) {
  const int64_t columns = DistanceColumns();
  alignas(64) float tile[kDistanceRows * kMostDistanceColumns];
  for (int64_t i = first; i < last; i += kDistanceRows) {
    if (pace.Stop((k + 1) * kDistanceRows * columns / 8)) return;
    const float* rows[kDistanceRows];
    for (int r = 0; r < kDistanceRows; ++r) {
      rows[r] = a.data + std::min(i + r, last - 1) * a.row_step;
    }
    DistanceTile(order, rows, a.column_step, panel, k, tile);
    for (int64_t r = 0; r < std::min<int64_t>(kDistanceRows, last - i); ++r) {
      write(i + r, j, tile + r * columns, count);
    }
  }
}

void StoreRow(const float* from, int64_t count, float* to, int64_t step) {
  if (step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  } else {
    for (int64_t c = 0; c < count; ++c) to[c * step] = from[c];
  }
}

constexpr int64_t kRowBlock = 256;

absl::Status Cdist(KernelContext& context, const CdistCall<KernelArguments>& call) {
  const TensorView &x1 = *call.x1, &x2 = *call.x2;
  ABSL_ASSIGN_OR_RETURN(const DistanceOrder order, KnownOrder(call.p));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, x1.dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  const CheckedInt length = PanelLength(x1);
  ABSL_ASSIGN_OR_RETURN(float* const panels,
                        ScratchArray<float>(context, length * context.num_threads()));
  const int rank = out->rank();
  // Strides over the batch dimensions of the result; dimensions of size 1 are repeated.
  Sizes batch = out->sizes;
  batch.erase(rank - 1);
  batch.erase(rank - 2);
  const auto batch_strides = [&](const TensorView& x) {
    Strides strides(rank - 2, 0);
    for (int d = 0; d < x.rank() - 2; ++d) {
      if (x.sizes[d] != 1) strides[d + rank - x.rank()] = x.strides[d];
    }
    return strides;
  };
  const Strides a_steps = batch_strides(x1), b_steps = batch_strides(x2),
                out_steps = batch_strides(*out);
  const auto matrix = [](const TensorView& x, int64_t offset) {
    const int last = x.rank() - 1;
    return Matrix{x.as<const float>() + offset, x.sizes[last - 1], x.strides[last - 1],
                  x.strides[last]};
  };
  const int64_t m = out->sizes[rank - 2], n = out->sizes[rank - 1], k = x1.sizes.back();
  const int64_t columns = DistanceColumns();
  const int64_t blocks = (m + kRowBlock - 1) / kRowBlock, panels_of_b = (n + columns - 1) / columns;
  const int64_t batches = out->numel() / m / n;
  RunRanges(context, batches * panels_of_b * blocks, 1,
            static_cast<double>(out->numel()) * static_cast<double>(k + 1),
            [&](int part, int64_t first, int64_t last) {
              float* const panel = panels + part * length.value();
              Budget::Pace pace;
              int64_t packed = -1;
              for (int64_t unit = first; unit < last && !pace.stopped(); ++unit) {
                const int64_t block = unit % blocks, of_b = unit / blocks;
                const int64_t index = of_b / panels_of_b, j = of_b % panels_of_b * columns;
                const int64_t count = std::min(columns, n - j);
                if (packed != of_b) {
                  Pack(matrix(x2, OffsetAt(index, batch, b_steps)), j, count, k, columns, panel);
                  packed = of_b;
                }
                float* const to = out->as<float>() + OffsetAt(index, batch, out_steps);
                const int64_t row_step = out->strides[rank - 2], step = out->strides[rank - 1];
                Distances(order, matrix(x1, OffsetAt(index, batch, a_steps)), block * kRowBlock,
                          std::min(m, (block + 1) * kRowBlock), k, panel, j, count, pace,
                          [&](int64_t row, int64_t at, const float* from, int64_t length_of_row) {
                            StoreRow(from, length_of_row, to + row * row_step + at * step, step);
                          });
              }
            });
  return absl::OkStatus();
}

// The result has the pairs (i, j), i < j, in row-major order.
absl::Status Pdist(KernelContext& context, const PdistCall<KernelArguments>& call) {
  const TensorView& x = *call.self;
  ABSL_ASSIGN_OR_RETURN(const DistanceOrder order, KnownOrder(call.p));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, x.dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  const CheckedInt length = PanelLength(x);
  ABSL_ASSIGN_OR_RETURN(float* const panels,
                        ScratchArray<float>(context, length * context.num_threads()));
  const int64_t n = x.sizes[0], k = x.sizes[1], columns = DistanceColumns();
  const Matrix rows = {x.as<const float>(), n, x.strides[0], x.strides[1]};
  const int64_t step = out->strides[0];
  RunRanges(context, (n + columns - 1) / columns, 1,
            static_cast<double>(out->numel()) * static_cast<double>(k + 1),
            [&](int part, int64_t first, int64_t last) {
              float* const panel = panels + part * length.value();
              Budget::Pace pace;
              for (int64_t p = first; p < last && !pace.stopped(); ++p) {
                const int64_t j = p * columns, count = std::min(columns, n - j);
                Pack(rows, j, count, k, columns, panel);
                Distances(order, rows, 0, std::min(n, j + count), k, panel, j, count, pace,
                          [&](int64_t i, int64_t at, const float* from, int64_t length_of_row) {
                            const int64_t begin = std::max(at, i + 1), end = at + length_of_row;
                            if (begin >= end) return;
                            // Pairs of the rows before i, then those of i.
                            const int64_t before = i * n - i * (i + 1) / 2 + begin - i - 1;
                            StoreRow(from + (begin - at), end - begin,
                                     out->as<float>() + before * step, step);
                          });
              }
            });
  return absl::OkStatus();
}

constexpr Kernel kKernels[] = {
    KernelRow<&Cdist, &Accepts<CdistCall<KernelArguments>>, &Scratch<CdistCall<KernelArguments>>>(
        "aten._cdist_forward.default", "x1 x2 p compute_mode", "CdistSimd", KernelEngine::kHighway),
    KernelRow<&Pdist, &Accepts<PdistCall<KernelArguments>>, &Scratch<PdistCall<KernelArguments>>>(
        "aten._pdist_forward.default", "self p", "PdistSimd", KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> DistanceHighwayKernels() { return kKernels; }

}  // namespace belay
