// Passes that rewrite a program to operators of ExecuTorch's runtime, as far as possible.
#ifndef BELAY_EXECUTORCH_WRITER_PORTABLE_PASSES_H_
#define BELAY_EXECUTORCH_WRITER_PORTABLE_PASSES_H_

#include <vector>

#include "exir/pass_manager/pass.h"

namespace belay::pte {

// For PipelineOptions::transform_passes. Converts tensors to row-major, because ExecuTorch's
// kernels require one order for all operands; a channels-last input is copied first. Runs before
// partitioning, since delegates keep the memory order of their inputs and outputs.
exir::Pass RowMajorTensors();

// For PipelineOptions::passes. Removes assertions and the nodes that only they use, as ExecuTorch's
// lowering does, and decomposes the rest (portable_decompositions.h). Writing the program refuses
// remaining operators without a counterpart.
std::vector<exir::Pass> PortablePasses();

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_WRITER_PORTABLE_PASSES_H_
