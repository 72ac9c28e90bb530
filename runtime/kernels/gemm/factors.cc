#include "runtime/kernels/gemm/factors.h"

#include "runtime/kernels/operands/strided_view.h"

namespace belay {

TensorView MatrixOf(const TensorView& t, int64_t batch) {
  if (t.rank() == 2) return t;
  TensorView m = t;
  m.data = PartAddress(t, batch * t.strides[0]);
  m.sizes.erase(0);
  m.strides.erase(0);
  return m;
}

bool AcceptsFactors(const KernelContext& context, const TensorView& a, const TensorView& b,
                    int rank, DTypeSet dtypes) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return dtypes.contains(a.dtype) && a.rank() == rank && b.rank() == rank && out.ok() &&
         (*out)->dtype == a.dtype && (*out)->rank() == rank;
}

}  // namespace belay
