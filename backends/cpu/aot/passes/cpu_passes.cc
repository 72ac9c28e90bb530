#include "backends/cpu/aot/passes/cpu_passes.h"

#include "backends/cpu/aot/passes/assign_layouts.h"
#include "backends/cpu/aot/passes/contiguous_results.h"
#include "backends/cpu/aot/passes/flush_subnormals.h"
#include "backends/cpu/aot/passes/fuse_attention.h"
#include "backends/cpu/aot/passes/fuse_conv2d_chains.h"
#include "backends/cpu/aot/passes/fuse_epilogues.h"
#include "backends/cpu/aot/passes/fuse_glu.h"
#include "backends/cpu/aot/passes/fuse_pixel_shuffle.h"
#include "backends/cpu/aot/passes/fuse_pointwise.h"
#include "backends/cpu/aot/passes/fuse_rms_norm.h"
#include "backends/cpu/aot/passes/fuse_rotary_embedding.h"
#include "backends/cpu/aot/passes/lift_to_images.h"
#include "backends/cpu/aot/passes/lower_batch_norm.h"
#include "backends/cpu/aot/passes/lower_conv2d.h"
#include "backends/cpu/aot/passes/lower_embedding.h"
#include "backends/cpu/aot/passes/lower_instance_norm.h"
#include "backends/cpu/aot/passes/lower_linear.h"
#include "backends/cpu/aot/passes/lower_lookup.h"
#include "backends/cpu/aot/passes/lower_max_pool2d.h"
#include "backends/cpu/aot/passes/lower_quantized_add.h"
#include "backends/cpu/aot/passes/merge_branches.h"
#include "backends/cpu/aot/passes/narrow_products.h"
#include "backends/cpu/aot/passes/quantize_rows.h"
#include "backends/cpu/aot/passes/remove_io_reshapes.h"
#include "backends/cpu/aot/passes/shuffle_transposed_conv2d.h"
#include "backends/cpu/aot/passes/simplify_copies.h"
#include "backends/cpu/aot/passes/simplify_quantization.h"
#include "backends/cpu/aot/passes/split_products.h"
#include "backends/cpu/aot/passes/swap_products.h"
#include "backends/cpu/aot/passes/widen_products.h"
#include "exir/passes/eliminate_common_subexpressions.h"
#include "exir/passes/fold_expands.h"
#include "exir/passes/merge_batch_norm.h"
#include "exir/passes/propagate_constants.h"

namespace belay::cpu {

namespace {

// Returns the pass, or one of its name that changes nothing: all precisions have the same passes.
exir::Pass If(bool enabled, exir::Pass pass) {
  if (!enabled) pass.run = [](exir::ExportedProgram&) { return false; };
  return pass;
}

}  // namespace

std::vector<exir::Pass> CpuPasses(Precision precision, FusedHandles& handles,
                                  PassDiagnostics& diagnostics, TiedTables& tables,
                                  bool has_dynamic_sizes) {
  const exir::Pass narrow_products = If(precision == Precision::kBFloat16, NarrowProducts());
  const exir::Pass shuffle_transposed_conv2d =
      If(precision != Precision::kDirect, ShuffleTransposedConv2d());
  const exir::Pass lower_linear = LowerLinear(handles, &diagnostics, &tables);
  const Winograd winograd = precision == Precision::kDirect     ? Winograd::kNever
                            : precision == Precision::kWinograd ? Winograd::kAny
                                                                : Winograd::kAccurate;
  const exir::Pass lower_conv2d = LowerConv2d(&diagnostics, winograd);
  return {
      exir::PropagateConstants({.only_products = true}),
      RemoveCopies(handles),
      exir::MergeBatchNorm(),
      MergeBranches(handles),
      // Batch norms and factors of merged branches, and sums of the results with their input.
      exir::MergeBatchNorm(),
      MergeBranches(handles),
      LowerInstanceNorm(),
      SimplifyQuantization(handles),
      LiftToImages(),
      shuffle_transposed_conv2d,
      narrow_products,
      // Float32, integers, and bfloat16 that has a kernel; WidenProducts converts the rest.
      lower_linear,
      lower_conv2d,
      WidenProducts(),
      // Lowers the widened operators. Weights are matched through their views, so that constant
      // propagation does not transpose them.
      lower_linear,
      lower_conv2d,
      LowerLookup(handles),
      exir::PropagateConstants(),
      // Lowers operators whose weights became constants.
      LiftToImages(),
      narrow_products,
      lower_linear,
      lower_conv2d,
      // After all matmuls, whose packed weights it shares.
      LowerEmbedding(tables, &diagnostics),
      exir::EliminateCommonSubexpressions(
          [&handles](exir::GraphEditor& editor, exir::NodeId kept, exir::NodeId erased) {
            handles.Fuse(editor, kept, erased);
          }),
      FuseRmsNorm(handles),
      If((precision == Precision::kAuto && has_dynamic_sizes) || precision == Precision::kInt8,
         QuantizeRows(precision == Precision::kInt8 ? RowQuantization::kInt8
                                                    : RowQuantization::kManyRows)),
      FuseRotaryEmbedding(handles),
      FuseAttention(handles, &diagnostics),
      // Folds sums of constant masks.
      exir::PropagateConstants(),
      FlushSubnormals(),
      exir::FoldExpands(),
      SwapProducts(handles),
      SimplifyCopies(handles),
      FusePixelShuffle(handles),
      SplitProducts(handles),
      FuseGlu(handles),
      LowerQuantizedAdd(handles),
      LowerMaxPool2d(),
      FuseEpilogues(handles),
      LowerBatchNorm(),
      FusePointwise(handles),
      AssignLayouts(&diagnostics),
      FuseConv2dChains(handles, &diagnostics),
      RemoveIoReshapes(handles),
      ContiguousResults(handles),
  };
}

}  // namespace belay::cpu
