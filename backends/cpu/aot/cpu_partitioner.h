// Decides which nodes the CPU backend supports.
#ifndef BELAY_BACKENDS_CPU_AOT_CPU_PARTITIONER_H_
#define BELAY_BACKENDS_CPU_AOT_CPU_PARTITIONER_H_

#include <memory>
#include <string>
#include <vector>

#include "exir/backend/partitioner.h"

namespace belay::cpu {

// Returns "" if the backend supports the node, else the reason. Reasons: the operator is not in
// taken_ops.inc; a tensor is not dense with dtype float32, int64, int32, int8, uint8 or bool (or a
// bfloat16 input that the node converts); a matmul is not float32; a scalar is symbolic and not an
// integer.
std::string WhyNotCpu(const exir::Graph& graph, exir::NodeId node);

// Groups supported nodes of the top graph into few large partitions, with their constants.
// Partitions without a matmul or convolution are dropped, since delegation would gain nothing.
// Mutated buffers stay in the program. Reports a reason for every other node.
std::unique_ptr<exir::Partitioner> CreateCpuPartitioner(
    std::vector<exir::CompileSpec> compile_specs);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_CPU_PARTITIONER_H_
