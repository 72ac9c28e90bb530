// Operands of mm, bmm and addmm, for all dtypes.
#ifndef BELAY_RUNTIME_KERNELS_GEMM_FACTORS_H_
#define BELAY_RUNTIME_KERNELS_GEMM_FACTORS_H_

#include <cstdint>

#include "runtime/core/dtype.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// Returns one matrix of a batch. A tensor of rank 2 is returned unchanged.
TensorView MatrixOf(const TensorView& t, int64_t batch);

// Returns whether both operands have the same dtype, in `dtypes`, and rank `rank` (2: matrices, 3:
// batches), and the planned result has the same dtype and rank.
bool AcceptsFactors(const KernelContext& context, const TensorView& a, const TensorView& b,
                    int rank, DTypeSet dtypes);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_GEMM_FACTORS_H_
