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

// kInvalidArgument for fields and words that the format does not have, kNotFound for a demo
// partitioner that does not exist. Partition() gives kNotFound when the round names a node, a
// constant or an input that the program does not have: IsErrorOfCase(). A partitioner that edits
// the graph (`tamper`) edits a copy of its own, which is all that it can; a tagged output is a tag
// on a node that does not exist.
absl::StatusOr<std::unique_ptr<exir::Partitioner>> CreateCasePartitioner(const Json& round,
                                                                         const std::string& method,
                                                                         Proposals* proposals);
// Whether lowering failed because the case does not fit its program.
bool IsErrorOfCase(const absl::Status& status);
absl::StatusOr<std::vector<exir::CompileSpec>> ReadCompileSpecs(const Json& list);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_PARTITIONER_H_
