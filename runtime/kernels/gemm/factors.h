// The matrices that mm, bmm and addmm multiply, whatever their dtype.
#ifndef BELAY_RUNTIME_KERNELS_GEMM_FACTORS_H_
#define BELAY_RUNTIME_KERNELS_GEMM_FACTORS_H_

#include <cstdint>

#include "runtime/core/dtype.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// One matrix of a batch; a matrix is itself.
TensorView MatrixOf(const TensorView& t, int64_t batch);

// Whether two factors of one dtype are matrices (rank 2) or batches of them (rank 3) of one of
// these dtypes, and the planned result is like them.
bool AcceptsFactors(const KernelContext& context, const TensorView& a, const TensorView& b,
                    int rank, DTypeSet dtypes);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_GEMM_FACTORS_H_
