// Kernels for those of ExecuTorch's own operators (docs/pte-format.md §13) that Belay has none for.
#ifndef BELAY_EXECUTORCH_READER_PRIM_KERNELS_H_
#define BELAY_EXECUTORCH_READER_PRIM_KERNELS_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay::pte {

// What a program that OpenProgram gives may use besides the standard kernels:
//
//   executorch_prim.floordiv.int(a, b), executorch_prim.mod.int(a, b)
//       of ints, as in C: towards 0, the remainder with the sign of a. kInvalidArgument: b is 0;
//       kOutOfRange: no 64-bit integer
//   executorch_prim.round.Scalar(a)
//       a float to the nearest int, halves to the even one. kOutOfRange: none of 64 bits
//   executorch_prim.et_copy_index_.tensor(to, from, index) -> to
//       gives `to` index + 1 rows, of which the last is `from`; the others keep their content. Both
//       contiguous and of one dtype. kInvalidArgument, kOutOfRange: dtypes, sizes, or an index that
//       is negative or too large
//
// They live as long as the process.
absl::Span<const Kernel> PrimKernels();

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_READER_PRIM_KERNELS_H_
