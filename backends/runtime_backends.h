// The runtimes of all backends in backends.bzl.
#ifndef BELAY_BACKENDS_RUNTIME_BACKENDS_H_
#define BELAY_BACKENDS_RUNTIME_BACKENDS_H_

#include <vector>

#include "runtime/backend/backend_registry.h"

namespace belay {

// Lives as long as the process; immutable. Applications that need only some backends link those and
// build a BackendRegistry of their own.
const BackendRegistry& RuntimeBackends();

// Additional runtimes beyond backends.bzl. Empty, except in binaries with a `belay_backend_set`
// (bazel/defs.bzl), which defines it.
std::vector<const BackendRuntime*> MoreRuntimes();

}  // namespace belay

#endif  // BELAY_BACKENDS_RUNTIME_BACKENDS_H_
