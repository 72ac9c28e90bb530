// Large programs for measuring lowering.
#ifndef BELAY_EXIR_BACKEND_TESTS_SCALE_SCALE_PROGRAM_H_
#define BELAY_EXIR_BACKEND_TESTS_SCALE_SCALE_PROGRAM_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Creates a chain of `nodes` operators on f32[256,1024] with skip connections. Every hundredth node
// uses a parameter of 1 MiB. The bytes of parameters are only address space, so code that touches
// them shows in the memory use of the process. The nodes have tags "t0", "t1", … in runs of nodes /
// `partitions`; if runs are longer than one, the first node of each run is untagged.
//   kInvalidArgument    more partitions than nodes, or none
//   kResourceExhausted  no address space
absl::StatusOr<ExportedProgram> CreateScaleProgram(const OpRegistry& ops, size_t nodes,
                                                   size_t partitions);

// Returns the peak memory of the process in bytes.
size_t PeakMemory();

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TESTS_SCALE_SCALE_PROGRAM_H_
