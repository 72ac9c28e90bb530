#include "runtime/kernels/gemm/gemm.h"

#include "runtime/kernels/gemm/small_gemm.h"
#include "runtime/kernels/operands/gemm_ranges.h"

namespace belay {

void Gemm(const KernelContext& context, const PackedGemmArgs& args) {
  const bool small = IsSmallGemm(args);
  GemmSize size = GemmSizeOf(args, kTileRows, kPanelColumns);
  size.packs = !small;
  if (small) size.columns = 1;  // all columns of a row are computed together
  RunGemm(context, size,
          [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
            if (small) return SmallGemmRows(args, row, end_row);
            PackedGemmArgs mine = args;
            mine.panels += static_cast<size_t>(part) * PanelsSize(args.k, args.n);
            PackedGemmRange(mine, row, end_row, column, end_column);
          });
}

void GemmOnThread(const PackedGemmArgs& args) {
  if (IsSmallGemm(args)) return SmallGemmRows(args, 0, args.m);
  PackedGemm(args);
}

}  // namespace belay
