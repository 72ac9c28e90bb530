// GEMM of float matrices that are not constant, divided among threads.
//
// packed_gemm.h computes it, or small_gemm.h; they have the error bounds. B is read in place, or packed a few
// panels at a time. The result does not depend on the number of threads.
#ifndef BELAY_RUNTIME_KERNELS_GEMM_GEMM_H_
#define BELAY_RUNTIME_KERNELS_GEMM_GEMM_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/packed/packed_gemm.h"

namespace belay {

// Computes all of C on the threads of the context. args.panels has PanelsSize(args.k, args.n) floats
// for each of them. Divides the columns of C if each thread gets several panels, else its rows.
void Gemm(const KernelContext& context, const PackedGemmArgs& args);

// Computes all of C on this thread: the same bits.
void GemmOnThread(const PackedGemmArgs& args);

absl::Span<const Kernel> GemmKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_GEMM_GEMM_H_
