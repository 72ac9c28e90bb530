// Decides which nodes the demo backend supports.
#ifndef BELAY_BACKENDS_DEMO_DEMO_PARTITIONER_H_
#define BELAY_BACKENDS_DEMO_DEMO_PARTITIONER_H_

#include <memory>
#include <string>
#include <vector>

#include "exir/backend/partitioner.h"

namespace belay::demo {

// Returns "" if the backend supports the node, else the reason.
std::string UnsupportedByDemoReason(const exir::Graph& graph, exir::NodeId node);

// Groups all supported nodes into few large partitions, with their constants. Reports a reason for
// every other node.
std::unique_ptr<exir::Partitioner> CreateDemoPartitioner(
    std::vector<exir::CompileSpec> compile_specs);

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_DEMO_PARTITIONER_H_
