// The backends that lowering cases name (FORMAT.md).
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_BACKENDS_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_BACKENDS_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "exir/backend/backend.h"

namespace belay::conformance {

// Results say in PreprocessResult::delegate_info as which they were made.
class CaseBackends {
 public:
  CaseBackends();
  ~CaseBackends();
  const exir::BackendSet& set() const { return set_; }

  std::set<std::string> fqns;  // the tensors that the exported programs name

 private:
  mutable int64_t made_ = 0;
  std::vector<std::unique_ptr<exir::Backend>> backends_;
  exir::BackendSet set_;
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_BACKENDS_H_
