// Which nodes the CPU backend takes.
#ifndef BELAY_BACKENDS_CPU_AOT_CPU_PARTITIONER_H_
#define BELAY_BACKENDS_CPU_AOT_CPU_PARTITIONER_H_

#include <memory>
#include <string>
#include <vector>

#include "exir/backend/partitioner.h"

namespace belay::cpu {

// "" when the backend computes the node; else why it doesn't: the operator is not in taken_ops.inc,
// or a tensor is not a dense one of float32, int64, int32, int8, uint8 or bool (or an input of
// bfloat16 that the node converts), or a product is not of float32, or a number is symbolic and no
// integer.
std::string WhyNotCpu(const exir::Graph& graph, exir::NodeId node);

// Takes what the backend computes in the top graph in few large partitions, with its constants, and
// of these the ones in which there is a product or a convolution: without, nothing would be gained.
// Mutated buffers stay the program's. Says for each other node why not.
std::unique_ptr<exir::Partitioner> CreateCpuPartitioner(
    std::vector<exir::CompileSpec> compile_specs);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_CPU_PARTITIONER_H_
