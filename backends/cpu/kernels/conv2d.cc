// belay_cpu::conv2d and belay_cpu::depthwise_conv2d.
#include <algorithm>

#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "backends/cpu/kernels/patches.h"
#include "backends/cpu/kernels/product.h"
#include "backends/cpu/kernels/rows.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/packed/depthwise.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

template <bool kDepthwise>
using Call = Conv2dCall<KernelArguments, kDepthwise>;

absl::Status Conv2d(KernelContext& context, const Call<false>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  PackedGemmArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  const TensorView& in = *call.input;
  const int64_t channels = in.sizes[1];
  g.n = static_cast<size_t>(call.out_channels);
  g.m = static_cast<size_t>(out->numel()) / g.n;
  g.b = call.weight->as<const float>();
  g.c = out->as<float>();
  g.ldc = g.n;
  const PatchWay way = PatchWayOf(in, call.window);
  const TapSizes taps = TapsOf(way, channels, call.window);
  g.taps = static_cast<size_t>(taps.count);
  g.k = static_cast<size_t>(taps.size);
  if (way == PatchWay::kRows) {
    g.a = in.as<const float>();
    g.lda = g.k;
    return RunRowProduct(context, g);
  }
  const auto scratch = PatchScratch<float>::For(way, kGroupRows, in.sizes, call.window);
  ABSL_ASSIGN_OR_RETURN(std::byte * memory,
                        ScratchArray<std::byte>(context, scratch.bytes(context.num_threads())));
  const Patches<float> patches(context, way, in, *out, call.window, 0, scratch, memory);
  RunProduct(context, SizeOf(g, kTileRows, kPanelColumns),
             [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
               const Patches<float>::Reader reader(patches, part);
               PackedGemmArgs mine = g;
               mine.row_pointers = &Patches<float>::Reader::RowPointers;
               mine.source = &reader;
               mine.pointers = reader.pointers();
               PackedGemmRange(mine, row, end_row, column, end_column);
             });
  return absl::OkStatus();
}

absl::Status DepthwiseConv2d(KernelContext& context, const Call<true>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_RETURN_IF_ERROR(ExpectContiguous("weight", *call.weight));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("input", *call.input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, shape));
  ABSL_RETURN_IF_ERROR(ExpectChannelsLast("result", *out));
  DepthwiseArgs g;
  ABSL_ASSIGN_OR_RETURN(g.epilogue, EpilogueOf(call.epilogue, *out));
  if (out->numel() == 0) return absl::OkStatus();
  static_cast<DepthwiseGeometry&>(g) = GeometryOf(call.input->sizes, out->sizes, call.window);
  g.in = call.input->as<const float>();
  g.weight = call.weight->as<const float>();
  g.out = out->as<float>();
  const double work = static_cast<double>(out->numel()) * static_cast<double>(call.window.taps());
  RunRows(context, g.batch * g.out_height, work,
          [&](int64_t first, int64_t last) { DepthwiseRows(g, first, last); });
  return absl::OkStatus();
}

template <bool kDepthwise>
bool Accepts(const KernelContext& context, const Call<kDepthwise>& call) {
  return call.Shape().ok();
}

// Of the way that takes most: which one it is depends on sizes, in layouts that look alike.
uint64_t Conv2dScratch(const KernelContext& context, const Call<false>& call) {
  const Sizes& images = call.input->sizes;
  uint64_t most = RowProductScratch(context, images[1]);
  for (PatchWay way : {PatchWay::kTaps, PatchWay::kPadded}) {
    const auto scratch = PatchScratch<float>::For(way, kGroupRows, images, call.window);
    most = std::max(most, ScratchBytesOf<std::byte>(scratch.bytes(context.num_threads())));
  }
  return most;
}

constexpr Kernel kKernels[] = {
    KernelRow<&Conv2d, &Accepts<false>, &Conv2dScratch>(
        "belay_cpu.conv2d.default",
        "input weight bias other out_channels kernel_size stride padding dilation activation "
        "combine low high",
        "Conv2dPacked", KernelEngine::kHighway),
    KernelRow<&DepthwiseConv2d, &Accepts<true>>(
        "belay_cpu.depthwise_conv2d.default",
        "input weight bias other kernel_size stride padding dilation activation combine low high",
        "DepthwiseConv2dPacked", KernelEngine::kHighway),
};

}  // namespace

absl::Span<const Kernel> Conv2dKernels() { return kKernels; }

}  // namespace belay::cpu
