// What a program must be before it becomes one of ExecuTorch's: made of operators that its runtime
// has, as far as they can be.
#ifndef BELAY_EXECUTORCH_WRITER_PORTABLE_PASSES_H_
#define BELAY_EXECUTORCH_WRITER_PORTABLE_PASSES_H_

#include <vector>

#include "exir/pass/pass.h"

namespace belay::pte {

// For PipelineOptions::transform_passes. Tensors become row-major, because kernels want all of theirs
// in one order: a caller's that is channels last is copied first. Before the program is partitioned,
// since delegates keep the order of what they take and give.
exir::Pass RowMajorTensors();

// For PipelineOptions::passes. Assertions go, as they do when ExecuTorch lowers a program, with
// what was computed for them alone; the rest is decomposed (portable_decompositions.h). Operators that are
// left and have no counterpart are refused when the program is written.
std::vector<exir::Pass> PortablePasses();

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_PORTABLE_PASSES_H_
