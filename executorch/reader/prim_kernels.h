// Kernels for ExecuTorch's own operators (docs/pte-format.md §13) that Belay does not have.
#ifndef BELAY_EXECUTORCH_READER_PRIM_KERNELS_H_
#define BELAY_EXECUTORCH_READER_PRIM_KERNELS_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay::pte {

// Kernels that programs of OpenProgram may need in addition to the standard kernels:
//
//   executorch_prim.floordiv.int(a, b), executorch_prim.mod.int(a, b)
//       of ints, as in C: the quotient rounds towards 0, the remainder has the sign of a.
//       kInvalidArgument: b is 0; kOutOfRange: the result does not fit in 64 bits
//   executorch_prim.round.Scalar(a)
//       rounds a float to the nearest int, halves to even. kOutOfRange: does not fit in 64 bits
//   executorch_prim.et_copy_index_.tensor(to, from, index) -> to
//       resizes `to` to index + 1 rows and copies `from` to the last one; other rows keep their
//       content. Both are contiguous and of one dtype. kInvalidArgument, kOutOfRange: dtypes,
//       sizes, or an index that is negative or too large
//
// Static storage duration.
absl::Span<const Kernel> PrimKernels();

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_PRIM_KERNELS_H_
