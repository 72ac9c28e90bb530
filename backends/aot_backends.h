// The compile-time parts of all backends in backends.bzl.
#ifndef BELAY_BACKENDS_AOT_BACKENDS_H_
#define BELAY_BACKENDS_AOT_BACKENDS_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/aot_backend.h"
#include "exir/backend/backend.h"
#include "exir/backend/partitioner.h"

namespace belay {

// Lives as long as the process; immutable.
const exir::BackendSet& AotBackends();

// Creates the default partitioner of a backend, by its folder name. kNotFound, with the known
// names.
absl::StatusOr<std::unique_ptr<exir::Partitioner>> CreatePartitioner(
    std::string_view backend, absl::Span<const exir::CompileSpec> compile_specs);

// Returns the ids of a folder's backends; empty for an unknown name.
std::vector<std::string_view> AotBackendIds(std::string_view backend);

// Folder names, sorted.
std::vector<std::string_view> AotBackendNames();

}  // namespace belay

#endif  // BELAY_BACKENDS_AOT_BACKENDS_H_
