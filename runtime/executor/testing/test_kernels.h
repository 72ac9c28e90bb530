// Simple kernels for tests of the executor.
//
//   test.add.Tensor(a, b) -> out         f32 of equal sizes; out may have any dim order
//   test.add_.Tensor(a!, b) -> a         in place
//   test.write_argument.default(a!) -> () writes 1 to a, which is not an output
//   test.size.default(a, dim) -> int
//   test.add_int.default(x, y) -> int
//   test.less.default(x, y) -> bool      of ints
//   test.less_tensor.default(a, b) -> out of one-element f32 tensors; out is bool
//   test.split.default(a) -> list        along dimension 0, one slice per element of the list
//   test.scratch.default(a) -> out       a + 1, through a.nbytes() bytes of scratch
//   test.twice.default(a) -> out         2 a, f32; a fixed call of one element computes 2 a + 1
//   test.fail.default() -> ()            always kInternal "out of luck"
//   test.none.default(a) -> none         sets its output to an int
//   test.num_threads.default() -> int    threads of the call
//   test.wrong_kind.default() -> any     sets its output to a string
//   test.unset.default(fail) -> any…     sets its two or three outputs to none; kInternal if `fail`
#ifndef BELAY_RUNTIME_EXECUTOR_TESTING_TEST_KERNELS_H_
#define BELAY_RUNTIME_EXECUTOR_TESTING_TEST_KERNELS_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

absl::Span<const Kernel> TestKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_TESTING_TEST_KERNELS_H_
