// The partitioners that rounds of lowering cases describe, and the backends that they name (FORMAT.md).
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

// Results say in PreprocessResult::delegate_info as which they were made.
class CaseBackends {
 public:
  CaseBackends();
  const exir::BackendSet& set() const { return set_; }

  std::set<std::string> fqns;  // the tensors that the exported programs name
  mutable int64_t made = 0;    // results so far

 private:
  std::vector<std::unique_ptr<exir::Backend>> backends_;
  exir::BackendSet set_;
};

// What the round (of case.json, which its schema describes) says of the method. Partitions that it
// proposes are appended to `partitions`, as expected.json has them. A partitioner that edits the
// graph (`tamper`) edits a copy of its own, which is all that it can; a tagged output is a tag on a
// node that does not exist.
//   kNotFound  a demo partitioner that does not exist. Partition() gives it when the round names a
//              node, a constant or an input that the program does not have: IsErrorOfCase().
absl::StatusOr<std::unique_ptr<exir::Partitioner>> CreateCasePartitioner(const Json& round,
                                                                         const std::string& method,
                                                                         Json& partitions);
// Whether lowering failed because the case does not fit its program.
bool IsErrorOfCase(const absl::Status& status);
// `backend_id` and `compile_specs`; kInvalidArgument when a value is not base64.
absl::StatusOr<exir::DelegationSpec> ReadDelegation(const Json& json);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_ROUNDS_H_
