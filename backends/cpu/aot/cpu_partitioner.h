// Decides which nodes the CPU backend supports.
#ifndef BELAY_BACKENDS_CPU_AOT_CPU_PARTITIONER_H_
#define BELAY_BACKENDS_CPU_AOT_CPU_PARTITIONER_H_

#include <memory>
#include <string>
#include <vector>

#include "exir/backend/partitioner.h"

namespace belay::cpu {

// Returns "" if the backend supports the node, else the reason:
// - the operator is not in supported_ops.inc
// - an operand or result is neither a tensor nor an integer
// - a tensor is not dense, or exceeds the maximum rank
// - a dtype is not supported: anchor operators support float32, bfloat16 and float16, others also
//   int64, int32, int8, uint8 and bool, and quantization operators also float64
std::string CpuRejection(const exir::Graph& graph, exir::NodeId node);

// Groups supported nodes of the top graph into few large partitions, with their constants.
// Partitions without a matmul or convolution are dropped, since delegation would gain nothing.
// Mutated buffers stay in the program. Reports a reason for every other node.
std::unique_ptr<exir::Partitioner> CreateCpuPartitioner(
    std::vector<exir::CompileSpec> compile_specs);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_CPU_PARTITIONER_H_
