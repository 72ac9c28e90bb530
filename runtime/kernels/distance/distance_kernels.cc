#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/matmul.h"
#include "runtime/kernels/distance/distance.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {
namespace {

// An order that is computed at run time is 0 when the kernel is chosen, so that 0 is left to the
// reference kernel.
std::optional<DistanceOrder> OrderOf(double p) {
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

// Panels that stay in the second-level cache while rows pass.
constexpr int64_t kGroupElements = 1 << 16;

// Scratch elements of a thread: a group of panels.
CheckedInt GroupLength(int64_t k) {
  const CheckedInt panel = CheckedInt(k) * kMostDistanceColumns;
  return panel < kGroupElements ? CheckedInt(kGroupElements) : panel;
}
int64_t PanelsOfGroup(int64_t k) {
  const int64_t panel = k * DistanceColumns();
  return panel == 0 ? 1 : std::max<int64_t>(kGroupElements / panel, 1);
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
  return ScratchBytesOf<float>(GroupLength(FirstOf(call).sizes.back()) * context.num_threads());
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

void StoreRow(const float* from, int64_t count, float* to, int64_t step) {
  if (step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  } else {
    for (int64_t c = 0; c < count; ++c) to[c * step] = from[c];
  }
}

// Rows of `a` against a panel. `tile` is for results that are not whole.
struct Rows {
  DistanceOrder order;
  const Matrix& a;
  int64_t k;
  int64_t columns = DistanceColumns();
  alignas(64) float tile[kDistanceRows * kMostDistanceColumns] = {};

  void Compute(int64_t first, int64_t last, const float* panel, float* out, int64_t out_step) {
    const float* rows[kDistanceRows];
    for (int r = 0; r < kDistanceRows; ++r) {
      rows[r] = a.data + std::min(first + r, last - 1) * a.row_step;
    }
    DistanceTile(order, rows, a.column_step, panel, k, out, out_step);
  }
};

// Rows of a result: out(i, j) = data[i * row_step + j * step].
struct Result {
  float* data;
  int64_t row_step, step;
};

// Distances of rows [first, last) of `a` to all rows of `b`. `panels` is the scratch memory of the
// thread.
void CdistRows(DistanceOrder order, const Matrix& a, const Matrix& b, int64_t first, int64_t last,
               int64_t k, const Result& out, float* panels, Budget::Pace& pace) {
  Rows rows = {order, a, k};
  const int64_t columns = rows.columns, group = PanelsOfGroup(k) * columns;
  for (int64_t j0 = 0; j0 < b.rows; j0 += group) {
    const int64_t j_end = std::min(b.rows, j0 + group);
    for (int64_t j = j0; j < j_end; j += columns) {
      Pack(b, j, std::min(columns, j_end - j), k, columns, panels + (j - j0) * k);
    }
    for (int64_t i = first; i < last; i += kDistanceRows) {
      const int64_t count = std::min<int64_t>(kDistanceRows, last - i);
      for (int64_t j = j0; j < j_end; j += columns) {
        if (pace.Stop((k + 1) * kDistanceRows * columns / 8)) return;
        const float* const panel = panels + (j - j0) * k;
        float* const to = out.data + i * out.row_step + j * out.step;
        const int64_t width = std::min(columns, j_end - j);
        if (count == kDistanceRows && width == columns && out.step == 1) {
          rows.Compute(i, last, panel, to, out.row_step);
          continue;
        }
        rows.Compute(i, last, panel, rows.tile, columns);
        for (int64_t r = 0; r < count; ++r) {
          StoreRow(rows.tile + r * columns, width, to + r * out.row_step, out.step);
        }
      }
    }
  }
}

constexpr int64_t kRowBlock = 128;

absl::Status Cdist(KernelContext& context, const CdistCall<KernelArguments>& call) {
  const TensorView &x1 = *call.x1, &x2 = *call.x2;
  ABSL_ASSIGN_OR_RETURN(const DistanceOrder order, KnownOrder(call.p));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, x1.dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  const int64_t k = x1.sizes.back();
  const CheckedInt length = GroupLength(k);
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
  const int64_t m = out->sizes[rank - 2], n = out->sizes[rank - 1];
  const int64_t blocks = (m + kRowBlock - 1) / kRowBlock, batches = out->numel() / m / n;
  RunRanges(context, batches * blocks, 1,
            static_cast<double>(out->numel()) * static_cast<double>(k + 1),
            [&](int part, int64_t first, int64_t last) {
              Budget::Pace pace;
              for (int64_t unit = first; unit < last && !pace.stopped();) {
                // Consecutive blocks of one batch element share the packed panels.
                const int64_t index = unit / blocks, end = std::min(last, (index + 1) * blocks);
                const Matrix a = matrix(x1, OffsetAt(index, batch, a_steps));
                const Matrix b = matrix(x2, OffsetAt(index, batch, b_steps));
                const Result result = {out->as<float>() + OffsetAt(index, batch, out_steps),
                                       out->strides[rank - 2], out->strides[rank - 1]};
                CdistRows(order, a, b, (unit - index * blocks) * kRowBlock,
                          std::min(m, (end - index * blocks) * kRowBlock), k, result,
                          panels + part * length.value(), pace);
                unit = end;
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
  const int64_t n = x.sizes[0], k = x.sizes[1], columns = DistanceColumns();
  const CheckedInt length = GroupLength(k);
  ABSL_ASSIGN_OR_RETURN(float* const panels,
                        ScratchArray<float>(context, length * context.num_threads()));
  const Matrix a = {x.as<const float>(), n, x.strides[0], x.strides[1]};
  const int64_t step = out->strides[0];
  RunRanges(context, (n + columns - 1) / columns, 1,
            static_cast<double>(out->numel()) * static_cast<double>(k + 1),
            [&](int part, int64_t first, int64_t last) {
              float* const panel = panels + part * length.value();
              Rows rows = {order, a, k};
              Budget::Pace pace;
              for (int64_t p = first; p < last; ++p) {
                const int64_t j = p * columns, end = std::min(n, j + columns);
                Pack(a, j, end - j, k, columns, panel);
                for (int64_t i = 0; i < end; i += kDistanceRows) {
                  if (pace.Stop((k + 1) * kDistanceRows * columns / 8)) return;
                  rows.Compute(i, end, panel, rows.tile, columns);
                  for (int64_t r = i; r < std::min(end, i + kDistanceRows); ++r) {
                    const int64_t begin = std::max(j, r + 1);
                    if (begin >= end) continue;
                    // Pairs of the rows before r, then those of r.
                    const int64_t before = r * n - r * (r + 1) / 2 + begin - r - 1;
                    StoreRow(rows.tile + (r - i) * columns + (begin - j), end - begin,
                             out->as<float>() + before * step, step);
                  }
                }
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
