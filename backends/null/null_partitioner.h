// Decides which nodes the backend supports.
#ifndef BELAY_BACKENDS_NULL_NULL_PARTITIONER_H_
#define BELAY_BACKENDS_NULL_NULL_PARTITIONER_H_

#include <memory>
#include <vector>

#include "exir/backend/partitioner.h"

namespace belay::null {

// Delegates nothing, and reports a reason for each node.
std::unique_ptr<exir::Partitioner> CreateNullPartitioner(
    std::vector<exir::CompileSpec> compile_specs);

}  // namespace belay::null

#endif  // BELAY_BACKENDS_NULL_NULL_PARTITIONER_H_
