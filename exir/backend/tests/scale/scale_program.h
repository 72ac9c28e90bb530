// Large programs for measuring lowering.
#ifndef BELAY_EXIR_BACKEND_TESTS_SCALE_SCALE_PROGRAM_H_
#define BELAY_EXIR_BACKEND_TESTS_SCALE_SCALE_PROGRAM_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// A program of `nodes` operators on f32[256,1024] in a long chain with skip connections. Every
// hundredth takes a parameter of 1 MiB, whose bytes are address space only: who touches them is
// seen in the process's memory. The nodes carry tags "t0", "t1", … in runs of nodes / `partitions`;
// the first node of each run has none when the runs are longer than one.
//   kInvalidArgument    more partitions than nodes, or none
//   kResourceExhausted  no address space
absl::StatusOr<ExportedProgram> CreateScaleProgram(const OpRegistry& ops, size_t nodes,
                                                   size_t partitions);

// The most memory that the process has had so far, in bytes.
size_t PeakMemory();

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TESTS_SCALE_SCALE_PROGRAM_H_
