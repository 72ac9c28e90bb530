// Which nodes the demo backend takes.
#ifndef BELAY_BACKENDS_DEMO_DEMO_PARTITIONER_H_
#define BELAY_BACKENDS_DEMO_DEMO_PARTITIONER_H_

#include <memory>
#include <string>
#include <vector>

#include "exir/backend/partitioner.h"

namespace belay::demo {

// "" when the backend compiles the node; else why it doesn't.
std::string WhyNotDemo(const exir::Graph& graph, exir::NodeId node);

// Takes every node that the backend compiles, in few large partitions, with its constants. Says for
// each other node why not.
std::unique_ptr<exir::Partitioner> CreateDemoPartitioner(
    std::vector<exir::CompileSpec> compile_specs);

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_DEMO_PARTITIONER_H_
