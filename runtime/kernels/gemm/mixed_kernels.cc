// mixed_mm and mixed_linear of float32. Panels of the weight are read in place if its columns are
// contiguous, else copied as bytes.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/gemm/panel_gemm.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/quantized_weights.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {
namespace {

constexpr int64_t kColumns = kPanelColumns;
constexpr int64_t kRowStep = 6;  // rows of a register tile on the widest instruction set

bool HasFloatRows(const TensorView& t) { return t.strides[1] == 1 || t.sizes[1] <= 1; }

// Sizes of the parts of the scratch memory, in floats: scales, zero points and a panel per thread, and
// a copy of the input. Parameters of depths are those of the first thread.
struct Scratch {
  uint64_t panel = 0, parameters = 0, a = 0;
  uint64_t threads = 1;
  uint64_t of_thread() const { return panel + 2 * parameters; }
  uint64_t total() const { return of_thread() * threads + a; }
};

// `groups`: maximal number of parameters per column.
Scratch ScratchFor(const KernelContext& context, const TensorView& input, int64_t groups,
                   bool linear) {
  const uint64_t k = static_cast<uint64_t>(input.sizes[1]);
  Scratch s;
  s.threads = static_cast<uint64_t>(context.num_threads());
  s.panel = k * kPanelColumns / sizeof(float);
  s.parameters = linear ? static_cast<uint64_t>(groups) * kPanelColumns : k;
  if (!HasFloatRows(input)) s.a = static_cast<uint64_t>(input.numel());
  return s;
}

// Loads the scales (or zero points; null for none) of all depths.
void LoadDepthParameters(const TensorView* t, int64_t depth, float* out) {
  for (int64_t k = 0; k < depth; ++k) {
    out[k] = t == nullptr ? 0 : t->as<const float>()[k * t->strides[0]];
  }
}

// Loads the scales or zero points of a panel's columns, group by group.
void LoadColumnParameters(const MixedProductOperands& operands, const TensorView* t, int64_t first,
                          int64_t count, float* out) {
  const int64_t depth = operands.input->sizes[1];
  for (int64_t k = 0; k < depth; k += operands.group, out += kColumns) {
    for (int64_t j = 0; j < kColumns; ++j) {
      out[j] = t == nullptr || j >= count
                   ? 0
                   : t->as<const float>()[operands.ParameterAt(*t, first + j, k)];
    }
  }
}

// Packs columns [first, first + count) of the weight, padded with zeros to kColumns.
void PackColumns(const MixedProductOperands& operands, int64_t first, int64_t count,
                 int8_t* panel) {
  const int64_t depth = operands.input->sizes[1];
  if (count < kColumns) std::memset(panel, 0, static_cast<size_t>(depth * kColumns));
  TensorView from = *operands.weight, to;
  from.data = PartAddress(from, first * operands.column_stride());
  from.sizes = {depth, count};
  from.strides = {operands.depth_stride(), operands.column_stride()};
  to.dtype = DType::kInt8;
  to.sizes = from.sizes;
  to.strides = {kColumns, 1};
  to.data = panel;
  CopyConvertible(from, to);
}

template <bool kLinear>
absl::Status MixedProduct(KernelContext& context,
                          const MixedProductCall<KernelArguments, kLinear>& call) {
  ABSL_ASSIGN_OR_RETURN(const MixedProductOperands operands, OperandsOf(context, call));
  const TensorView &input = *operands.input, &out = *operands.out;
  if (out.numel() == 0) return FinishMixedProduct(context, call, out);
  const int64_t depth = input.sizes[1], columns = out.sizes[1];
  if (input.dtype != DType::kFloat32 || out.dtype != DType::kFloat32 || !HasFloatRows(out))
    return absl::InternalError("the call changed after the kernel was chosen");
  const int64_t groups = depth == 0 ? 0 : (depth + operands.group - 1) / operands.group;
  const Scratch parts = ScratchFor(context, input, groups, kLinear);
  ABSL_ASSIGN_OR_RETURN(float* scratch,
                        ScratchArray<float>(context, static_cast<int64_t>(parts.total())));
  PanelArgs<float, int8_t> g;
  g.k = static_cast<size_t>(depth);
  g.a = input.as<const float>();
  g.lda = static_cast<size_t>(input.strides[0]);
  g.ldc = static_cast<size_t>(out.strides[0]);
  g.group = kLinear ? static_cast<size_t>(operands.group) : 0;
  if (parts.a != 0) {
    float* const rows = scratch + parts.of_thread() * parts.threads;
    CopyConvertible(input, TensorView::Contiguous(DType::kFloat32, input.sizes, rows));
    g.a = rows;
    g.lda = g.k;
  }
  if constexpr (!kLinear) {
    LoadDepthParameters(operands.scales, depth, scratch);
    LoadDepthParameters(operands.zero_points, depth, scratch + parts.parameters);
  }
  const GemmSize size = {out.sizes[0],
                         kRowStep,
                         columns,
                         kColumns,
                         static_cast<double>(out.numel()) * static_cast<double>(depth),
                         /*packs=*/true};
  RunPanels(context, size, [&](int part, size_t row, size_t end_row, size_t column, size_t end) {
    float* const own = scratch + parts.of_thread() * static_cast<uint64_t>(part);
    int8_t* const packed = reinterpret_cast<int8_t*>(own + 2 * parts.parameters);
    const auto first = static_cast<int64_t>(column), count = static_cast<int64_t>(end - column);
    PanelArgs<float, int8_t> panel = g;
    panel.scale = kLinear ? own : scratch;
    panel.zero = panel.scale + parts.parameters;
    if constexpr (kLinear) {
      LoadColumnParameters(operands, operands.scales, first, count, own);
      LoadColumnParameters(operands, operands.zero_points, first, count, own + parts.parameters);
    }
    if (depth > 0 && operands.column_stride() == 1 && count == kColumns) {
      panel.b = operands.weight->as<const int8_t>() + first;
      panel.ldb = static_cast<size_t>(operands.depth_stride());
    } else if (depth > 0) {
      PackColumns(operands, first, count, packed);
      panel.b = packed;
      panel.ldb = kPanelColumns;
    }
    panel.m = end_row - row;
    panel.n = end - column;
    if (depth > 0) panel.a += row * g.lda;
    panel.c = out.as<float>() + row * g.ldc + column;
    MultiplyPanel(panel);
  });
  return FinishMixedProduct(context, call, out);
}

template <bool kLinear>
bool Accepts(const KernelContext& context, const MixedProductCall<KernelArguments, kLinear>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return call.input->dtype == DType::kFloat32 && call.input->rank() == 2 && out.ok() &&
         (*out)->dtype == DType::kFloat32 && (*out)->rank() == 2 && HasFloatRows(**out);
}

// A column of depth k has at most as many groups as scales.
template <bool kLinear>
uint64_t ScratchBytes(const KernelContext& context,
                      const MixedProductCall<KernelArguments, kLinear>& call) {
  const int64_t groups = call.scales->rank() == 2 ? call.scales->sizes[1] : 1;
  return ScratchFor(context, *call.input, groups, kLinear).total() * sizeof(float);
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;
constexpr std::string_view kMmNames = "input weight weight_scales weight_zero_points";
constexpr std::string_view kMmOutNames = "input weight weight_scales weight_zero_points out";
constexpr std::string_view kLinearNames = "input weight weight_scales weight_zero_points dtype";
constexpr std::string_view kLinearOutNames =
    "input weight weight_scales weight_zero_points dtype out";

constexpr Kernel kKernels[] = {
    KernelRow<&MixedProduct<false>, &Accepts<false>, &ScratchBytes<false>>(
        "quantized_decomposed.mixed_mm.default", kMmNames, "MixedMmSimd", kHighway),
    KernelRow<&MixedProduct<false>, &Accepts<false>, &ScratchBytes<false>>(
        "quantized_decomposed.mixed_mm.out", kMmOutNames, "MixedMmOutSimd", kHighway),
    KernelRow<&MixedProduct<true>, &Accepts<true>, &ScratchBytes<true>>(
        "quantized_decomposed.mixed_linear.default", kLinearNames, "MixedLinearSimd", kHighway),
    KernelRow<&MixedProduct<true>, &Accepts<true>, &ScratchBytes<true>>(
        "quantized_decomposed.mixed_linear.out", kLinearOutNames, "MixedLinearOutSimd", kHighway),
};

}  // namespace

absl::Span<const Kernel> MixedGemmKernels() { return kKernels; }

}  // namespace belay
