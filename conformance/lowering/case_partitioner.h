// The partitioners that lowering cases describe.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_PARTITIONER_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_PARTITIONER_H_

#include <memory>
#include <string>
#include <vector>

#include "conformance/lowering/json_value.h"
#include "exir/backend/partitioner.h"

namespace belay::conformance {

// What a partitioner proposed, as `partitions` of expected.json.
using Proposals = std::vector<Json>;

// kUnimplemented for rounds that describe something that can't be said in Belay (an output node
// with a tag, a partitioner that edits the graph), with the reason; kInvalidArgument for fields
// that the format does not have.
absl::StatusOr<std::unique_ptr<exir::Partitioner>> CreateCasePartitioner(const Json& round,
                                                                         const std::string& method,
                                                                         Proposals* proposals);
absl::StatusOr<std::vector<exir::CompileSpec>> ReadCompileSpecs(const Json& list);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_PARTITIONER_H_
