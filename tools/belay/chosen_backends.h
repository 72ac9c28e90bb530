// The backends that --backend and --compile-spec ask for.
#ifndef BELAY_TOOLS_BELAY_CHOSEN_BACKENDS_H_
#define BELAY_TOOLS_BELAY_CHOSEN_BACKENDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/backend/partitioner.h"
#include "exir/pipeline.h"

namespace belay::tools {

// In order of priority, for all methods or for some.
struct Partitioners {
  std::vector<std::unique_ptr<exir::Partitioner>> owned;
  exir::PerMethod<const exir::Partitioner*> chosen;  // of those
};

// `backends` are names, comma separated, or "none", each for all methods or, after "METHOD:", for
// one; `compile_specs` are BACKEND:KEY=VALUE. Any error is bad usage: a backend that there is not,
// "none" beside others, a specification that is malformed or of a backend that is not chosen, and
// what the backend says of its own.
absl::StatusOr<Partitioners> ChooseBackends(const std::vector<std::string>& backends,
                                            const std::vector<std::string>& compile_specs);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_CHOSEN_BACKENDS_H_
