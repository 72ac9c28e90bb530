// Creates the backends that --backend and --compile-spec select.
#ifndef BELAY_TOOLS_BELAY_CHOSEN_BACKENDS_H_
#define BELAY_TOOLS_BELAY_CHOSEN_BACKENDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/backend/partitioner.h"
#include "exir/pipeline.h"

namespace belay::tools {

// Partitioners in order of priority, for all methods or for single ones.
struct Partitioners {
  std::vector<std::unique_ptr<exir::Partitioner>> owned;
  exir::PerMethod<const exir::Partitioner*> chosen;  // pointers into `owned`
};

// `backends` are comma-separated names or "none", for all methods or, with the prefix "METHOD:",
// for one. `compile_specs` are BACKEND:KEY=VALUE. All errors are bad usage: unknown backends,
// "none" combined with others, malformed compile specs or those of an unselected backend, and the
// backend's own errors.
absl::StatusOr<Partitioners> ChooseBackends(const std::vector<std::string>& backends,
                                            const std::vector<std::string>& compile_specs);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CHOSEN_BACKENDS_H_
