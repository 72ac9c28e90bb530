#include "backends/cpu/kernels/planar_convolution.h"

#include <cstddef>

#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/conv/patch_row.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {
namespace {

// Elements of a window.
int64_t DepthOf(const TensorView& images, const Window& window) {
  return window.taps() * images.sizes[1];
}

// Working memory in floats: the filters as rows, then the panels of each thread.
struct Memory {
  Memory(const KernelContext& context, int64_t filters, int64_t depth, int64_t plane)
      : rows(CheckedInt(filters) * depth),
        panels(static_cast<int64_t>(
            PanelsSize(static_cast<size_t>(depth), static_cast<size_t>(plane)))),
        total(rows + panels * context.num_threads()) {}

  CheckedInt rows, panels, total;
};

}  // namespace

bool IsPlanarConvolution(const TensorView& images, const Window& window, const TensorView& out) {
  return images.sizes[1] < kFewChannels && images.is_contiguous() && out.is_contiguous() &&
         2 * DepthOf(images, window) <= out.sizes[1];
}

absl::Status RunPlanarConvolution(const KernelContext& context, const TensorView& images,
                                  const TensorView& filters, const Window& window,
                                  const EpilogueF32& epilogue, const TensorView& out) {
  ConvGeometry g;
  g.batch = images.sizes[0];
  g.channels = images.sizes[1];
  g.filters = out.sizes[1];
  for (int d = 0; d < 2; ++d) {
    g.size[1 + d] = images.sizes[2 + d];
    g.out[1 + d] = out.sizes[2 + d];
    g.kernel[1 + d] = window.kernel_size[static_cast<size_t>(d)];
    g.stride[1 + d] = window.stride[static_cast<size_t>(d)];
    g.padding[1 + d] = window.padding[static_cast<size_t>(d)];
    g.dilation[1 + d] = window.dilation[static_cast<size_t>(d)];
  }
  const int64_t depth = DepthOf(images, window);
  const Memory memory(context, g.filters, depth, g.out_plane());
  ABSL_ASSIGN_OR_RETURN(float* const rows, ScratchArray<float>(context, memory.total));
  const auto* const packed = filters.as<const float>();
  for (int64_t f = 0; f < g.filters; ++f) {
    const float* const panel =
        packed + f / kPanelColumns * depth * kPanelColumns + f % kPanelColumns;
    for (int64_t p = 0; p < depth; ++p) rows[f * depth + p] = panel[p * kPanelColumns];
  }
  PackedGemmArgs args;
  args.m = static_cast<size_t>(g.filters);
  args.n = args.ldc = static_cast<size_t>(g.out_plane());
  args.k = args.lda = static_cast<size_t>(depth);
  args.a = rows;
  args.panels = rows + memory.rows.value();
  args.pack = &PackPatches;
  args.epilogue = epilogue;
  args.epilogue.bias = nullptr;
  args.row_bias = epilogue.bias;
  for (int64_t n = 0; n < g.batch; ++n) {
    const PatchSource patches = {&g, images.as<const float>() + n * g.channels * g.plane(),
                                 /*channels_innermost=*/true};
    args.pack_source = &patches;
    args.c = out.as<float>() + n * g.filters * g.out_plane();
    Gemm(context, args);
  }
  return absl::OkStatus();
}

uint64_t PlanarConvolutionScratch(const KernelContext& context, const TensorView& images,
                                  const Window& window) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok() || (*out)->rank() != 4 || !IsPlanarConvolution(images, window, **out)) return 0;
  const CheckedInt plane = CheckedInt((*out)->sizes[2]) * (*out)->sizes[3];
  if (!plane.ok()) return 0;
  return ScratchBytesOf<float>(
      Memory(context, (*out)->sizes[1], DepthOf(images, window), plane.value()).total);
}

}  // namespace belay::cpu
