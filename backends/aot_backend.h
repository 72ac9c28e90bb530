// Interface of a backend's compile-time part to the list of backends.
#ifndef BELAY_BACKENDS_AOT_BACKEND_H_
#define BELAY_BACKENDS_AOT_BACKEND_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace belay {

struct AotBackend {
  std::string_view name;  // the folder name
  // All backends of the folder, which may have several ids. They live as long as the process.
  std::vector<const exir::Backend*> backends;
  // Creates the partitioner that `--backend name` selects.
  std::unique_ptr<exir::Partitioner> (*create_partitioner)(
      absl::Span<const exir::CompileSpec> compile_specs);
};

// Additional backends beyond backends.bzl. Empty, except in binaries with a `belay_backend_set`
// (bazel/defs.bzl), which defines it.
std::vector<AotBackend> MoreAotBackends();

}  // namespace belay

#endif  // BELAY_BACKENDS_AOT_BACKEND_H_
