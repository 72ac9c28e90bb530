// belay_cpu::quantized_conv2d, quantized_grouped_conv2d and quantized_depthwise_conv2d.
#include <algorithm>
#include <array>
#include <optional>

#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/kernels/convolution.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/kernel_tables.h"
#include "backends/cpu/kernels/patches.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/kernels/window_rows.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/quantized_depthwise.h"
#include "runtime/kernels/packed/quantized_gemm.h"

namespace belay::cpu {

static_assert(ConvolutionMemory<uint8_t>::kRows == kQuantizedGroupRows);

template <>
CheckedInt RowCopySize<uint8_t>(PatchWay, const TapSizes& taps) {
  return QuantizedCopySize(taps.size, taps.count);
}
namespace {

template <bool kDepthwise>
using Call = QuantizedConv2dCall<KernelArguments, kDepthwise>;
using GroupedCall = QuantizedGroupedConv2dCall<KernelArguments>;
using Memory = ConvolutionMemory<uint8_t>;

// Computes `matrices` products, each of an equal part of the input's channels with a packed matrix of
// an equal part of the filters, for `joined` groups.
absl::Status RunQuantizedConv2d(KernelContext& context, const Call<false>& call,
                                const TensorView& out, int64_t matrices, int64_t joined) {
  const TensorView& in = *call.input;
  QuantizedGemmArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue));
  if (out.numel() == 0) return absl::OkStatus();
  g.matrices = static_cast<size_t>(matrices);
  g.joined = static_cast<size_t>(joined);
  g.ldc = static_cast<size_t>(call.out_channels);
  g.n = g.ldc / g.matrices;
  g.m = static_cast<size_t>(out.numel()) / g.ldc;
  g.b = call.weight->as<const int8_t>();
  g.c = out.data;
  const VolumeWindow window = VolumeWindowOf(call.window);
  const PatchWay way = PatchWayOf<uint8_t>(in, window, /*groups=*/1);
  const Memory memory(context, way, in.sizes, window);
  g.taps = static_cast<size_t>(memory.taps.count);
  g.k = static_cast<size_t>(memory.taps.size) / g.matrices;
  ABSL_ASSIGN_OR_RETURN(std::byte * scratch, ScratchArray<std::byte>(context, memory.bytes));
  const auto zero = static_cast<uint8_t>(call.epilogue.input_zero_point);
  const Patches<uint8_t> patches(context, way, in, window, zero, memory.patches, scratch);
  const std::array<WindowSteps, 3> axes =
      AxesOf(patches.StepsOf(VolumeSizes(out.sizes), {0, 0, 0}));
  if (way == PatchWay::kPadded) g.k = (g.k + 3) / 4 * 4;
  if (way == PatchWay::kRows) {
    g.a = in.as<const uint8_t>();
    g.lda = static_cast<size_t>(in.sizes[1]);
  }
  GemmSize size = GemmSizeOf(g, kQuantizedTileRows,
                             matrices == 1 ? 2 * kQuantizedPanelColumns : g.n, kQuantizedWork);
  size.columns = call.out_channels;
  size.work *= static_cast<double>(matrices);
  RunGemm(context, size,
          [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
            QuantizedGemmArgs mine = g;
            std::optional<WindowRows<uint8_t>> rows;
            if (way != PatchWay::kRows) {
              rows = patches.RowsOf(part, axes);
              mine.row_pointers = &WindowRows<uint8_t>::RowPointers;
              mine.source = &*rows;
              mine.pointers = rows->pointers();
            }
            mine.copy = memory.CopyOf(part, scratch);
            QuantizedGemmRange(mine, row, end_row, column, end_column);
          });
  return absl::OkStatus();
}

int64_t MatricesOf(const Call<false>&) { return 1; }
int64_t MatricesOf(const GroupedCall& call) { return call.matrices(); }
int64_t JoinedOf(const Call<false>&) { return 1; }
int64_t JoinedOf(const GroupedCall& call) { return call.groups / call.matrices(); }

template <class Call>
absl::Status QuantizedConv2d(KernelContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  if (call.input->sizes[1] >= kFewChannels) {
    ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView* out,
                        OutputOf(context, 0, call.epilogue.ResultType(), shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  return RunQuantizedConv2d(context, call, *out, MatricesOf(call), JoinedOf(call));
}

absl::Status QuantizedDepthwiseConv2d(KernelContext& context, const Call<true>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out,
                        OutputOf(context, 0, call.epilogue.ResultType(), shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  QuantizedDepthwiseArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue));
  if (out->numel() == 0) return absl::OkStatus();
  static_cast<DepthwiseGeometry&>(g) = GeometryOf(call.input->sizes, out->sizes, call.window);
  g.in = call.input->as<const uint8_t>();
  g.weight = call.weight->as<const int8_t>();
  g.out = out->data;
  const double work =
      kQuantizedWork * static_cast<double>(out->numel()) * static_cast<double>(call.window.taps());
  RunRows(context, g.batch * g.out_height, work,
          [&](int64_t first, int64_t last) { QuantizedDepthwiseRows(g, first, last); });
  return absl::OkStatus();
}

template <class Call>
bool Accepts(const KernelContext& context, const Call& call) {
  return call.Shape().ok();
}

// Bytes for the most demanding way. The way depends on sizes, and layouts do not always distinguish
// them.
template <class Call>
uint64_t ScratchBytes(const KernelContext& context, const Call& call) {
  uint64_t most = 0;
  for (PatchWay way : {PatchWay::kTaps, PatchWay::kPadded}) {
    most = std::max(
        most, ScratchBytesOf<std::byte>(
                  Memory(context, way, call.input->sizes, VolumeWindowOf(call.window)).bytes));
  }
  return most;
}

constexpr OperatorFacts kConv2dFacts = {.work = {WorkRule::Kind::kConvolution},
                                        .flops = {FlopRule::Kind::kWindow, "input"}};
constexpr OperatorFacts kDepthwiseFacts = {.work = {WorkRule::Kind::kConvolution},
                                           .flops = {FlopRule::Kind::kDepthwise, "input"}};
constexpr Kernel kKernels[] = {
    KernelRow<&QuantizedConv2d<Call<false>>, &Accepts<Call<false>>, &ScratchBytes<Call<false>>>(
        "belay_cpu.quantized_conv2d.default",
        "input weight scales weight_sums bias out_channels kernel_size stride padding dilation "
        "input_zero_point activation low high inner_scale inner_range output_scale output_range",
        "QuantizedConv2dPacked", KernelEngine::kHighway, &kConv2dFacts),
    KernelRow<&QuantizedConv2d<GroupedCall>, &Accepts<GroupedCall>, &ScratchBytes<GroupedCall>>(
        "belay_cpu.quantized_grouped_conv2d.default",
        "input weight scales weight_sums bias out_channels groups kernel_size stride padding "
        "dilation input_zero_point activation low high inner_scale inner_range output_scale "
        "output_range",
        "QuantizedGroupedConv2dPacked", KernelEngine::kHighway, &kConv2dFacts),
    KernelRow<&QuantizedDepthwiseConv2d, &Accepts<Call<true>>>(
        "belay_cpu.quantized_depthwise_conv2d.default",
        "input weight scales weight_sums bias kernel_size stride padding dilation "
        "input_zero_point activation low high inner_scale inner_range output_scale output_range",
        "QuantizedDepthwiseConv2dPacked", KernelEngine::kHighway, &kDepthwiseFacts),
};

}  // namespace

absl::Span<const Kernel> QuantizedConv2dKernels() { return kKernels; }

}  // namespace belay::cpu
