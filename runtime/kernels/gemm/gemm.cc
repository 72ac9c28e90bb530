#include "runtime/kernels/gemm/gemm.h"

#include "runtime/kernels/operands/gemm_ranges.h"

namespace belay {

void Gemm(const KernelContext& context, const PackedGemmArgs& args) {
  GemmSize size = GemmSizeOf(args, kTileRows, kPanelColumns);
  size.packs = true;
  RunGemm(context, size,
          [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
            PackedGemmArgs mine = args;
            mine.panels += static_cast<size_t>(part) * PanelsSize(args.k, args.n);
            PackedGemmRange(mine, row, end_row, column, end_column);
          });
}

}  // namespace belay
