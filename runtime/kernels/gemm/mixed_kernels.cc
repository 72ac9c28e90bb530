// mixed_mm and mixed_linear of float32. Panels of the weight are read in place if its columns are
// contiguous, else copied as bytes.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/gemm/mixed_gemm.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/quantized_weights.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {
namespace {

constexpr int64_t kColumns = kPanelColumns;

bool HasFloatRows(const TensorView& t) { return t.strides[1] == 1 || t.sizes[1] <= 1; }

// Offsets of the parts of the scratch memory, in floats.
struct Scratch {
  uint64_t panel = 0, scale = 0, zero = 0, a = 0;
  uint64_t total() const { return panel + scale + zero + a; }
};

// `groups`: maximal number of parameters per column.
Scratch ScratchFor(const TensorView& input, int64_t groups, bool linear) {
  const uint64_t k = static_cast<uint64_t>(input.sizes[1]);
  Scratch s;
  s.panel = k * kPanelColumns / sizeof(float);
  s.scale = s.zero = linear ? static_cast<uint64_t>(groups) * kPanelColumns : k;
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
  const Scratch parts = ScratchFor(input, groups, kLinear);
  ABSL_ASSIGN_OR_RETURN(float* scratch,
                        ScratchArray<float>(context, static_cast<int64_t>(parts.total())));
  int8_t* const packed = reinterpret_cast<int8_t*>(scratch);
  float* const scale = scratch + parts.panel;
  float* const zero = scale + parts.scale;
  MixedPanel panel;
  panel.m = static_cast<size_t>(out.sizes[0]);
  panel.k = static_cast<size_t>(depth);
  panel.a = input.as<const float>();
  panel.lda = static_cast<size_t>(input.strides[0]);
  panel.ldc = static_cast<size_t>(out.strides[0]);
  panel.group = kLinear ? static_cast<size_t>(operands.group) : 0;
  panel.scale = scale;
  panel.zero = zero;
  if (parts.a != 0) {
    float* const rows = zero + parts.zero;
    CopyConvertible(input, TensorView::Contiguous(DType::kFloat32, input.sizes, rows));
    panel.a = rows;
    panel.lda = panel.k;
  }
  if (!kLinear) {
    LoadDepthParameters(operands.scales, depth, scale);
    LoadDepthParameters(operands.zero_points, depth, zero);
  }
  for (int64_t first = 0; first < columns; first += kColumns) {
    const int64_t count = std::min(columns - first, kColumns);
    if (kLinear) {
      LoadColumnParameters(operands, operands.scales, first, count, scale);
      LoadColumnParameters(operands, operands.zero_points, first, count, zero);
    }
    if (depth > 0 && operands.column_stride() == 1 && count == kColumns) {
      panel.b = operands.weight->as<const int8_t>() + first;
      panel.ldb = static_cast<size_t>(operands.depth_stride());
    } else if (depth > 0) {
      PackColumns(operands, first, count, packed);
      panel.b = packed;
      panel.ldb = kPanelColumns;
    }
    panel.n = static_cast<size_t>(count);
    panel.c = out.as<float>() + first;
    MultiplyMixed(panel);
  }
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
  return ScratchFor(*call.input, groups, kLinear).total() * sizeof(float);
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
