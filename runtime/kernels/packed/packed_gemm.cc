#include "runtime/kernels/packed/packed_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/packed_gemm.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/packed/few_columns.h"
#include "runtime/kernels/packed/packed_gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

void Multiply(const PackedGemmArgs& g, size_t first_row, size_t last_row, size_t first_column,
              size_t last_column) {
  MultiplyRange(g, first_row, last_row, first_column, last_column);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(Multiply);
void PackedGemmRange(const PackedGemmArgs& args, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column) {
  if (HasFewColumns(args) && first_column < last_column) {
    return FewColumnsRange(args, first_row, last_row);
  }
  HWY_DYNAMIC_DISPATCH(Multiply)(args, first_row, last_row, first_column, last_column);
}

}  // namespace belay
#endif  // HWY_ONCE
