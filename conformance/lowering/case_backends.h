// The backends that lowering cases name.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_BACKENDS_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_BACKENDS_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "exir/backend/backend.h"

namespace belay::conformance {

// A backend whose results carry the order in which they were made
// (PreprocessResult::delegate_info).
class CaseBackends {
 public:
  CaseBackends();
  ~CaseBackends();
  const exir::BackendSet& set() const { return set_; }

  // What backends may know of the case.
  std::set<std::string> fqns;  // of the exported programs' tensors
  mutable int64_t made = 0;

 private:
  std::vector<std::unique_ptr<exir::Backend>> backends_;
  exir::BackendSet set_;
};

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_BACKENDS_H_
