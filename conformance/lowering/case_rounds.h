// Partitioners described by the rounds of lowering cases, and the backends that they name
// (FORMAT.md).
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_ROUNDS_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_ROUNDS_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conformance/json/json.h"
#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace belay::conformance {

// Numbers its results in creation order, in PreprocessResult::delegate_info.
class CaseBackends {
 public:
  CaseBackends();
  const exir::BackendSet& set() const { return set_; }

  std::set<std::string> fqns;  // tensors named by the exported programs
  mutable int64_t made = 0;    // number of results created

 private:
  std::vector<std::unique_ptr<exir::Backend>> backends_;
  exir::BackendSet set_;
};

// Creates the partitioner of `method` in the round (an element of case.json, see its schema).
// Appends the partitions that it proposes to `partitions`, in the form of expected.json. A
// partitioner that edits the graph (`tamper`) can only edit its own copy. A tagged output is a tag
// on a node that does not exist.
//   kNotFound  unknown demo partitioner. Partition() returns it if the round names an unknown node,
//              constant or input: IsErrorOfCase().
absl::StatusOr<std::unique_ptr<exir::Partitioner>> CreateCasePartitioner(const Json& round,
                                                                         const std::string& method,
                                                                         Json& partitions);
// Returns whether lowering failed because the case does not fit its program.
bool IsErrorOfCase(const absl::Status& status);
// Reads `backend_id` and `compile_specs`. kInvalidArgument: a value is not base64.
absl::StatusOr<exir::DelegationSpec> ReadDelegation(const Json& json);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_ROUNDS_H_
