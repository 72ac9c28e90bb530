// A valid program that contains every kind of element, for tests that corrupt or traverse it.
#ifndef BELAY_RUNTIME_EXECUTOR_TESTING_SAMPLE_PROGRAM_H_
#define BELAY_RUNTIME_EXECUTOR_TESTING_SAMPLE_PROGRAM_H_

#include "runtime/executor/testing/program_builder.h"

namespace belay {

// Indices of values and instructions in the sample's method "forward", which is methods(0).
struct SampleIndices {
  // Inputs 0 to 5: two f32[1..4,3] with one symbol; an int in [0, 10]; a mutated f32[2,3]; the
  // float 0.5; None.
  uint32_t x, y, n, m, half, none;
  uint32_t weight;                               // constant 0, f32[2,3]
  uint32_t state;                                // state 0 "counter", f32[2], initially constant 1
  uint32_t other_state;                          // state 1 "cache", f32[4], zeros
  uint32_t sum, copy;                            // arena, f32[1..4,3]
  uint32_t total;                                // arena, f32[2,3]
  uint32_t list;                                 // of sum and copy
  uint32_t flag;                                 // a bool slot
  uint32_t three;                                // the int 3
  uint32_t bool_tensor;                          // arena, b8[1]
  uint32_t text, dtype, memory_format, complex;  // literals
  uint32_t add, less, branch, move, delegate, in_place, jump;  // instructions, in this order
};

// Segments 0 and 1 are constants, 2 the blob of delegate 0 of backend "fake", 3 the named data
// "lookup", 4 debug information. Method "other" is empty. The sample computes, with `fake` adding
// 1:
//   sum = x + y; if n < 3: copy = sum; total = weight + 1; m += weight; return sum, total, n
TestProgram SampleProgram(SampleIndices* indices = nullptr);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_TESTING_SAMPLE_PROGRAM_H_
